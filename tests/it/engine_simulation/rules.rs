//! What must hold in every world: at every step, at every launch, and when nothing happens any more.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use mxd::base::{EventId, Fault, MessageId, MicroUsd, TaskId};
use mxd::engine::command::{Actor, Command, CommandId, Outcome, StopScope};
use mxd::engine::machine::{Input, LaunchOrder};
use mxd::engine::snapshot::Wait;
use mxd::model::AskKind;
use mxd::model::ask::AnsweredBy;
use mxd::model::event::{AskAnswered, Body, Event, Exit, InterruptReason, Verdict};
use mxd::model::fold::SessionState;
use mxd::model::message::{Message, MessageSource};
use mxd::model::task::{Status, TaskNode};

use super::agents;
use super::world::World;

const STOPPED: Exit = Exit::Interrupted(InterruptReason::Stopped);

/// Takes note of what the machine is about to be told.
pub fn before(world: &mut World, input: &Input) {
    match input {
        Input::Observed { task, event } => observed(world, *task, event),
        Input::Command { actor: Actor::User, command: Command::Stop { scope }, .. } => stopped(world, *scope),
        Input::Command {
            command:
                Command::Stop { scope: StopScope::Subtree(task) } | Command::Delete { task } | Command::Reset { task },
            ..
        } => ended(world, *task),
        Input::Command { command: Command::Quit, .. } => world.quitting = true,
        Input::Command { id, command: Command::Send { task, .. } | Command::Resume { task }, .. } => {
            // How often it had been stopped when this was said.
            let stops = world.stops.get(task).copied().unwrap_or(0);
            world.said.insert(*id, stops);
        }
        _ => {}
    }
}

fn observed(world: &mut World, task: TaskId, event: &Event) {
    match &event.body {
        Body::Message(message) if message.from.wakes() => drop(world.halted.remove(&task)),
        Body::AskAnswered(_) => drop(world.halted.remove(&task)),
        Body::RunEnded(ended) if ended.exit != STOPPED => drop(world.halted.remove(&task)),
        // What was copied was paid where it was said; what follows it says so.
        Body::Usage(_) if event.run.is_some() => {
            *world.spent.entry(task).or_default() += agents::cost(event);
            world.spent_since_boot += agents::cost(event);
        }
        Body::ForkMarker(_) => drop(world.spent.remove(&task)),
        _ => {}
    }
}

/// Agents are stopped, so that what they work on can be put away, or because another agent wants it.
fn ended(world: &mut World, task: TaskId) {
    let tasks: Vec<TaskId> = world.machine.tree().walk(task).map(|node| node.id).collect();
    for task in tasks {
        *world.stops.entry(task).or_default() += 1;
    }
}

/// The user stops somebody: from now on it must not be started.
fn stopped(world: &mut World, scope: StopScope) {
    let tree = world.machine.tree();
    let tasks: Vec<TaskId> = match scope {
        StopScope::Task(task) => tree.get(task).map(|node| node.id).into_iter().collect(),
        StopScope::Subtree(task) => tree.walk(task).map(|node| node.id).collect(),
        StopScope::All => tree.all().map(|node| node.id).collect(),
    };
    for task in tasks {
        let Some(view) = world.machine.view(task) else { continue };
        let at_work = view.alive || matches!(view.waits, Some(Wait::Slot { .. }));
        let voice = world.machine.state(task).and_then(|state| state.turns.last_role);
        let talks = view.node.status == Status::InProgress && voice.is_some();
        // Whoever has said that it is done cannot be stopped any more.
        let queued = matches!(view.waits, Some(Wait::Slot { .. } | Wait::Setup { .. }));
        let done = !queued && has_just_ended(world.disk.log(task));
        if !done && (at_work || (talks && scope != StopScope::All)) {
            world.halted.insert(task);
        }
        // Also one that waits to be tried again: what was said to it before is not heeded.
        *world.stops.entry(task).or_default() += 1;
    }
}

/// Tells whether the last run said that the task is done.
fn has_just_ended(log: &[Event]) -> bool {
    let last = log.iter().rev().find(|event| matches!(event.body, Body::RunStarted(_) | Body::RunEnded(_)));
    last.is_some_and(|event| is_done(event).is_some())
}

/// Returns the verdict of a run that ended with one.
fn is_done(event: &Event) -> Option<Verdict> {
    match &event.body {
        Body::RunEnded(ended) if ended.exit == Exit::DonePassed => Some(Verdict::Passed),
        Body::RunEnded(ended) if ended.exit == Exit::DoneFailed => Some(Verdict::Failed),
        _ => None,
    }
}

/// Tells whether the user stopped a task and nothing was said to it since.
pub fn ends_with_a_stop(log: &[Event]) -> bool {
    let told = |event: &&Event| match &event.body {
        Body::Message(message) => message.from.wakes(),
        Body::AskAnswered(_) | Body::RunEnded(_) => true,
        _ => false,
    };
    let last = log.iter().rev().find(told);
    last.is_some_and(|event| matches!(&event.body, Body::RunEnded(ended) if ended.exit == STOPPED))
}

pub fn replied(world: &mut World, id: CommandId, result: &Result<Outcome, Fault>) {
    let command = world.commands.remove(&id);
    let Some(command) = command else { panic!("seed {}: {id:?} was answered twice", world.seed) };
    match result {
        Err(_) => world.tally.count("commands refused"),
        Ok(Outcome::Sent { message, .. }) => {
            let Command::Send { task, .. } = command else { panic!("seed {}: nothing was sent", world.seed) };
            assert!(world.disk.has_message(task, *message), "seed {}: sent, and not on the disk", world.seed);
            world.spoken.insert(*message, world.said[&id]);
        }
        Ok(_) => match command {
            Command::Close { .. } => world.tally.count("closed"),
            Command::Delete { .. } => world.tally.count("deleted"),
            Command::Reset { .. } => world.tally.count("reset"),
            Command::Move { .. } => world.tally.count("moved"),
            _ => {}
        },
    }
}

pub fn answered(world: &mut World, task: TaskId, answered: &AskAnswered) {
    world.tally.count(match answered.answer.by {
        AnsweredBy::User => "answers",
        AnsweredBy::Timeout => "defaults",
        AnsweredBy::Rule | AnsweredBy::Task => panic!("seed {}: no rule decides here", world.seed),
    });
    if ["Stop", "Leave it"].contains(&answered.answer.text.as_str()) {
        *world.stops.entry(task).or_default() += 1;
    }
}

/// Checked at every launch.
pub fn check_launch(world: &World, order: &LaunchOrder) {
    let (seed, task) = (world.seed, order.node.id);
    assert!(!world.is_launching(task), "seed {seed}: {task} is being launched already");
    assert!(!world.runs.contains_key(&task), "seed {seed}: {task} has a run already");
    let leaves = world.leaving.iter().any(|(leaving, _)| *leaving == task);
    assert!(!leaves, "seed {seed}: {task} has a run of whose end nobody has been told");
    assert!(!world.quitting, "seed {seed}: {task} is launched after the end");
    assert!(!world.halted.contains(&task), "seed {seed}: {task} was stopped\n{}", world.disk.tail(task));
    let durable = world.durable.get(task);
    let known = durable.is_some_and(|node| node.status == Status::InProgress && node.worktree == order.node.worktree);
    assert!(known, "seed {seed}: {task} is launched and the disk does not know: {durable:?}");
    let busy = world.at_work() + 1;
    let allowed = world.limits.max_running as usize + world.woken_in_place();
    assert!(busy <= allowed, "seed {seed}: {busy} at work, {allowed} allowed");
    let tree = world.machine.tree();
    assert_eq!(order.may_delegate, tree.depth(task) < 3, "seed {seed}: the depth of {task}");
    for account in &order.accounts {
        let spent: MicroUsd = match account.owner {
            Some(owner) => {
                let of = |node: &TaskNode| world.spent.get(&node.id).copied().unwrap_or_default() + node.deleted_cost;
                tree.walk(owner).map(of).sum()
            }
            None => world.spent_since_boot,
        };
        assert_eq!(account.spent, spent, "seed {seed}: what {:?} has spent", account.owner);
    }
    // A view shows the limit that applies, from the node or from the settings.
    let is_limited = |node: &&TaskNode| world.machine.view(node.id).is_some_and(|view| view.node.budget.is_some());
    let limited = std::iter::once(&order.node).chain(tree.ancestors(task)).filter(is_limited);
    let limits = limited.count() + usize::from(world.limits.project_budget.is_some());
    assert_eq!(order.accounts.len(), limits, "seed {seed}: every limit applies once");
}

/// Checked after every single step.
pub fn after(world: &mut World) {
    let seed = world.seed;
    let tree = world.machine.tree();
    let tasks: Vec<TaskId> = tree.all().map(|node| node.id).collect();
    assert_eq!(tasks.len(), tree.len(), "seed {seed}: somebody cannot be reached from the root");
    for &task in &tasks {
        assert!(tree.depth(task) <= 3, "seed {seed}: {task} is too deep");
    }
    if let Some(task) = world.dice.pick(&tasks) {
        let view = world.machine.view(task).unwrap();
        let real = world.runs.contains_key(&task) || world.is_launching(task);
        assert!(view.alive || !real, "seed {seed}: {task} has a run of which the machine knows nothing");
    }
}

/// Checked when nothing happens any more before somebody says something.
pub fn check_quiet(world: &mut World) {
    let seed = world.seed;
    let why = |what: &str| format!("seed {seed}: {what}");
    assert!(world.commands.is_empty(), "{}", why(&format!("never answered: {:?}", world.commands)));
    assert!(world.requests.is_empty(), "{}", why(&format!("never answered: {:?}", world.requests)));
    assert!(world.queries.is_empty(), "{}", why(&format!("never answered: {:?}", world.queries)));
    assert!(world.machine.is_quiet(), "{}", why("nothing happens, and the machine is not quiet"));
    assert_eq!(world.machine.tree(), &*world.durable, "{}", why("the tree is not what is on the disk"));
    assert!(world.runs.is_empty(), "{}", why("somebody is at work"));
    let sessions: BTreeMap<TaskId, SessionState> =
        world.durable.all().map(|node| (node.id, world.disk.state(node.id))).collect();
    let heard = completions(world);
    for (&task, state) in &sessions {
        let known = world.machine.state(task).cloned().unwrap_or_default();
        assert_eq!(&known, state, "{}", why(&format!("the folds of {task} drifted")));
        check_messages(world, task, state);
        check_start(world, task, state);
        check_completion(world, task, &heard);
        check_wait(world, task, &sessions);
        for ask in state.asks.iter() {
            assert!(!world.disk.was_answered(ask.id), "{}", why("an answered question is open again"));
            let late = ask.deadline.is_some_and(|deadline| deadline <= world.now()) && ask.default.is_some();
            assert!(!late, "{}", why("a question with a default is open after its time"));
        }
    }
    let stalls =
        world.machine.snapshot().tasks.iter().filter(|task| matches!(task.waits, Some(Wait::Stalled { .. }))).count();
    (0..stalls).for_each(|_| world.tally.count("stalls"));
}

/// Returns how many messages tell of each run's end, and of each task.
fn completions(world: &World) -> (BTreeMap<MessageId, usize>, BTreeMap<TaskId, usize>) {
    let (mut by_run, mut by_task) = (BTreeMap::new(), BTreeMap::new());
    for task in world.disk.logs.keys() {
        for event in world.disk.own(*task) {
            if let Body::Message(Message { id, from: MessageSource::TaskComplete { task, .. }, .. }) = &event.body {
                *by_run.entry(*id).or_default() += 1;
                *by_task.entry(*task).or_default() += 1;
            }
        }
    }
    (by_run, by_task)
}

/// Whatever was made to begin at once has a first message, or was stopped.
fn check_start(world: &World, task: TaskId, state: &SessionState) {
    let node = world.durable.get(task).unwrap();
    if node.starting && node.status == Status::Pending {
        assert!(
            state.replies.has_received() || state.is_ended(),
            "seed {}: {task} was made to begin, and never will",
            world.seed
        );
    }
}

/// Whatever was said is read, unless there is a reason that can be named.
fn check_messages(world: &World, task: TaskId, state: &SessionState) {
    let seed = world.seed;
    let stop = state.turns.last_exit.as_ref().filter(|last| last.exit == STOPPED).map(|last| last.event);
    let asks = state.asks.iter().any(|ask| ask.kind() != AskKind::Clarify);
    for event in world.disk.own(task) {
        let Body::Message(message) = &event.body else { continue };
        let waits = state.messages.get(message.id).is_some();
        assert!(waits || world.disk.is_settled(message.id), "seed {seed}: {:?} to {task} was lost", message.from);
        if !waits || !state.is_woken_by(message) || asks {
            continue;
        }
        let stops = world.stops.get(&task).copied().unwrap_or(0);
        let stopped = stop.is_some() && world.spoken.get(&message.id).is_none_or(|before| *before < stops);
        assert!(
            stopped,
            "seed {seed}: nobody will ever read {:?} ({}) to {task} {:?}\n{}",
            message.from,
            message.id,
            world.durable.get(task).map(|node| node.status),
            world.disk.tail(task)
        );
    }
}

/// Whoever said that it is done has told the task above, once, and the tree says so.
fn check_completion(
    world: &World,
    task: TaskId,
    (by_run, by_task): &(BTreeMap<MessageId, usize>, BTreeMap<TaskId, usize>),
) {
    let seed = world.seed;
    let node = world.durable.get(task).unwrap();
    let log = world.disk.own(task);
    let ends: Vec<EventId> = log.iter().filter(|event| is_done(event).is_some()).map(|event| event.id).collect();
    let marked = log.iter().filter(|event| matches!(event.body, Body::DoneNotified(_))).count();
    if node.parent.is_some() {
        for event in &ends {
            let told = by_run.get(&MessageId::from_ulid(event.ulid())).copied().unwrap_or(0);
            assert_eq!(told, 1, "seed {seed}: the end {event} of {task} was told\n{}", world.disk.tail(task));
        }
        let told = by_task.get(&task).copied().unwrap_or(0);
        assert!(node.results.len() <= told, "seed {seed}: {task} has results nobody was told of");
    }
    let rounds = ends.len()..=marked;
    assert!(
        rounds.contains(&node.results.len()),
        "seed {seed}: {task} ended {rounds:?} times, not {}",
        node.results.len()
    );
    let last = node.results.last().map(|round| round.verdict);
    match node.status {
        Status::Passed => assert_eq!(last, Some(Verdict::Passed), "seed {seed}: {task}"),
        Status::Failed => assert_eq!(last, Some(Verdict::Failed), "seed {seed}: {task}"),
        Status::Draft | Status::Pending | Status::InProgress | Status::Closed => {}
    }
}

/// Whoever is in progress and sleeps says what for; chains that lead nowhere are named from end to end.
fn check_wait(world: &World, task: TaskId, sessions: &BTreeMap<TaskId, SessionState>) {
    let seed = world.seed;
    let view = world.machine.view(task).unwrap();
    assert!(!view.alive, "seed {seed}: {task} is alive");
    if view.node.status != Status::InProgress || !view.asks.is_empty() {
        return assert_eq!(view.waits, None, "seed {seed}: {task} waits for two things");
    }
    let in_progress = |task: &TaskId| world.durable.get(*task).is_some_and(|node| node.status == Status::InProgress);
    let open: Vec<TaskId> = view.node.children.iter().copied().filter(in_progress).collect();
    let leads = |child: &TaskId| leads_somewhere(world, *child, sessions);
    match view.waits {
        None => {
            let is_alone = open.is_empty() && view.node.parent.is_none();
            let stopped = sessions[&task].turns.exit() == Some(&STOPPED);
            assert!(is_alone || stopped, "seed {seed}: {task} waits without a name");
        }
        Some(Wait::Idle) => {
            let parent = view.node.parent.unwrap();
            assert!(open.is_empty() && !is_blocked(world, parent, sessions), "seed {seed}: {parent} waits for {task}");
        }
        // It asked a task above for a reply.
        Some(Wait::Task { task: hope }) if world.durable.ancestors(task).any(|above| above.id == hope) => {
            assert!(!sessions[&hope].asks.is_empty(), "seed {seed}: {task} waits for {hope}, who does nothing");
        }
        Some(Wait::Stalled { chain, .. }) if chain.len() == 2 && view.node.parent.is_some() && open.is_empty() => {
            let above = world.durable.ancestors(task).any(|above| above.id == chain[1]);
            assert!(chain[0] == task && above, "seed {seed}: {task} waits for the reply of a stranger");
            assert!(sessions[&chain[1]].asks.is_empty(), "seed {seed}: {task} is called stalled, and the other asks");
        }
        Some(Wait::Task { task: hope }) => {
            // Either the user is asked below it, or somebody below it is called stalled.
            let goes_on = leads(&hope) || (!open.iter().any(leads) && is_told(world, hope));
            assert!(open.contains(&hope) && goes_on, "seed {seed}: {task} waits for {hope}, who does nothing");
        }
        Some(Wait::Stalled { chain, .. }) => {
            assert_eq!(chain.first(), Some(&task), "seed {seed}: a chain begins where it is seen");
            assert!(
                !open.iter().any(leads),
                "seed {seed}: {task} is called stalled, and a sub task waits for the user"
            );
            match chain.get(1) {
                Some(below) => {
                    let stopped = sessions[below].turns.exit() == Some(&STOPPED);
                    assert!(open.contains(below) && stopped, "seed {seed}: {task} waits for a stranger");
                }
                None => {
                    let parent = view.node.parent.unwrap();
                    assert!(
                        open.is_empty() && is_blocked(world, parent, sessions),
                        "seed {seed}: nobody waits for {task}"
                    );
                }
            }
        }
        Some(other) => panic!("seed {seed}: {task} waits for {other:?} and nothing happens"),
    }
}

/// Tells whether a task waits for its sub tasks and none of them leads anywhere.
fn is_blocked(world: &World, task: TaskId, sessions: &BTreeMap<TaskId, SessionState>) -> bool {
    let node = world.durable.get(task).unwrap();
    let idle = sessions[&task].asks.is_empty() && sessions[&task].turns.exit() != Some(&STOPPED);
    node.status == Status::InProgress
        && idle
        && !node.children.iter().any(|child| leads_somewhere(world, *child, sessions))
}

/// Tells whether a task, or one that it waits for, is called stalled.
fn is_told(world: &World, task: TaskId) -> bool {
    match world.machine.view(task).unwrap().waits {
        Some(Wait::Stalled { .. }) => true,
        Some(Wait::Task { task: hope }) => is_told(world, hope),
        _ => false,
    }
}

/// Tells whether the user was asked something, at or below a task.
fn leads_somewhere(world: &World, task: TaskId, sessions: &BTreeMap<TaskId, SessionState>) -> bool {
    let Some(node) = world.durable.get(task).filter(|node| node.status == Status::InProgress) else { return false };
    !sessions[&task].asks.is_empty() || node.children.iter().any(|child| leads_somewhere(world, *child, sessions))
}

/// Checked when the user has answered and woken everybody: there is nothing that can never be finished.
pub fn check_finished(world: &mut World) {
    check_quiet(world);
    let open = world.durable.all().filter(|node| node.status == Status::InProgress && node.parent.is_some());
    assert_eq!(open.count(), 0, "seed {}: not everything could be finished", world.seed);
}

pub fn describe(world: &World) -> String {
    let mut out = String::new();
    for view in world.machine.snapshot().tasks {
        let (id, status) = (view.node.id, view.node.status);
        let _ = writeln!(out, "{id} {status} alive {} {:?} asks {}", view.alive, view.waits, view.asks.len());
        let _ = writeln!(out, "{}", world.disk.tail(id));
    }
    out
}
