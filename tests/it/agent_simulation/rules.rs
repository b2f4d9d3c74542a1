//! What must hold in every world, at every step.

use std::collections::BTreeSet;

use mxd::agent::conversation::Conversation;
use mxd::agent::machine::Machine;
use mxd::base::MessageId;
use mxd::model::conversation::{Block, Role, RoleMessage};
use mxd::model::event::{Body, Event};
use mxd::model::fold::{LastActivity, PendingMessages, SessionState};
use mxd::model::message::MessageSource;
use mxd::model::resume;

use super::world::World;

/// Returns the active part of a log without rewinds: a second opinion on what the store does with a chain.
pub fn active(log: &[Event]) -> Vec<Event> {
    let Some(marker) = log.iter().rposition(|event| matches!(event.body, Body::CompactMarker(_))) else {
        return log.to_vec();
    };
    let started = log[..marker].iter().rposition(|event| matches!(event.body, Body::CompactStarted(_))).unwrap();
    let window = log[started..marker].iter().filter(|event| matches!(event.body, Body::Message(_)));
    window.chain(&log[marker..]).cloned().collect()
}

fn machine(world: &World) -> &Machine {
    world.machine.as_ref().unwrap()
}

/// Checked when an event reaches the disk.
pub fn check_event(world: &mut World, event: &Event) {
    let seed = world.seed;
    match &event.body {
        Body::MessagesConsumed(consumed) => {
            for id in &consumed.ids {
                assert!(world.consumed.insert(*id), "seed {seed}: message {id} was consumed twice");
                assert!(!world.withdrawn.contains(id), "seed {seed}: message {id} was consumed after it was withdrawn");
            }
        }
        Body::MessagesWithdrawn(withdrawn) => {
            for id in &withdrawn.ids {
                assert!(!world.consumed.contains(id), "seed {seed}: message {id} was withdrawn after it was consumed");
                world.withdrawn.insert(*id);
            }
        }
        Body::ToolResult(result) => {
            let first = world.answered.insert(result.call.clone());
            assert!(first, "seed {seed}: call {} was answered twice", result.call);
        }
        _ => {}
    }
}

/// Checked after every single step.
pub fn check(world: &World) {
    let seed = world.seed;
    if world.is_quiet() && !world.has_ended() {
        let waits_for = machine(world).waits_for();
        assert!(["message", "user"].contains(&waits_for), "seed {seed}: stuck, waiting for {waits_for}");
        check_live_is_replayed(world);
    }
}

/// Checked when nothing is under way: what grew step by step is what the log gives as a whole.
fn check_live_is_replayed(world: &World) {
    let (seed, active) = (world.seed, active(&world.log));
    let machine = machine(world);
    let (live, replayed) = (known(machine.state()), known(&SessionState::replay(&active)));
    assert_eq!(live, replayed, "seed {seed}: the folds drifted\n{}", tail(&world.log));
    let replayed = Conversation::replay(&active);
    assert_eq!(
        machine.conversation().role_messages(),
        replayed.role_messages(),
        "seed {seed}: the conversation drifted"
    );
    assert_eq!(machine.conversation().config(), replayed.config(), "seed {seed}: the configuration drifted");
}

/// Returns what must not depend on when the machine heard of what others wrote: everything but the order.
fn known(state: &SessionState) -> (SessionState, Vec<MessageId>) {
    let mut messages: Vec<_> = state.messages.iter().map(|message| message.id).collect();
    messages.sort_unstable();
    let unordered =
        SessionState { messages: PendingMessages::default(), activity: LastActivity::default(), ..state.clone() };
    (unordered, messages)
}

/// Checked before every request: would an API accept it, and does it continue what was sent before?
pub fn check_request(world: &mut World) {
    let seed = world.seed;
    let speeches = machine(world).conversation().role_messages().to_vec();
    assert!(machine(world).conversation().config().is_some(), "seed {seed}: a request without a configuration");
    assert_eq!(speeches.first().map(|speech| speech.role), Some(Role::User), "seed {seed}: the user speaks first");
    assert_eq!(speeches.last().map(|speech| speech.role), Some(Role::User), "seed {seed}: the user speaks last");
    for pair in speeches.windows(2) {
        assert_ne!(pair[0].role, pair[1].role, "seed {seed}: nobody speaks twice in a row");
        check_pairing(seed, &pair[0], &pair[1]);
    }
    for block in speeches.iter().flat_map(|speech| &speech.blocks) {
        assert!(!matches!(block, Block::Text(text) if text.trim().is_empty()), "seed {seed}: an empty text");
    }
    let before = std::mem::take(&mut world.last_request);
    for (number, (old, new)) in before.iter().zip(&speeches).enumerate() {
        // Only the last speech of a request may have grown since.
        let grown = number + 1 == before.len() && new.blocks.starts_with(&old.blocks);
        assert!(old == new || grown, "seed {seed}: speech {number} changed after it was sent:\n{old:?}\n{new:?}");
    }
    assert!(before.len() <= speeches.len(), "seed {seed}: the conversation became shorter");
    world.last_request = speeches;
}

fn check_pairing(seed: u64, said: &RoleMessage, heard: &RoleMessage) {
    if said.role != Role::Assistant {
        return;
    }
    let calls = said.blocks.iter().filter_map(|block| match block {
        Block::ToolUse(call) => Some(call.call.as_str()),
        _ => None,
    });
    let calls: Vec<_> = calls.collect();
    let results: Vec<_> = heard
        .blocks
        .iter()
        .map_while(|block| match block {
            Block::ToolResult(result) => Some(result.call.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(calls, results, "seed {seed}: results must answer the calls, in their order, before anything else");
}

/// Checked at the end, when everybody has had the time to finish.
pub fn check_quiet(world: &World) {
    let seed = world.seed;
    let active = active(&world.log);
    let state = SessionState::replay(&active);
    let waiting: Vec<_> = state.messages.iter().filter(|message| message.from == MessageSource::User).collect();
    assert!(waiting.is_empty(), "seed {seed}: messages that nobody will ever read: {waiting:?}");
    assert!(state.asks.is_empty(), "seed {seed}: a question was left open");
    let pending: BTreeSet<_> = state.messages.iter().map(|message| message.id).collect();
    for id in &world.sent {
        let known = world.consumed.contains(id) || world.withdrawn.contains(id) || pending.contains(id);
        assert!(known, "seed {seed}: message {id} was lost");
    }
    let resume = resume::classify(&active);
    let halted = state.messages.iter().any(|message| message.from == MessageSource::Interrupt);
    assert!(
        halted || !resume.has_work(&state),
        "seed {seed}: it sleeps although it owes work: {resume:?}\n{}",
        tail(&world.log)
    );
}

/// Returns the last events, for whoever has to find out why.
pub fn tail(log: &[Event]) -> String {
    let from = log.len().saturating_sub(25);
    log[from..].iter().map(|event| format!("{:.200}", format!("{:?}", event.body))).collect::<Vec<_>>().join("\n")
}
