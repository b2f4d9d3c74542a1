//! Runs: the real machine of an agent, on a model that says whatever the dice say.

use std::collections::{BTreeSet, VecDeque};

use mxd::agent::machine::{Effect, Input, Limits, Machine};
use mxd::base::{Fault, MessageId, MicroUsd, RunId, TaskId};
use mxd::engine::command::{Actor, CommandId};
use mxd::engine::machine;
use mxd::engine::query::TreeAnswer;
use mxd::model::conversation::ToolUse;
use mxd::model::event::{BackgroundRef, Event, Exit, InterruptReason, ToolResult, Verdict};
use mxd::model::fold::OpenCall;
use mxd::model::live::Live;
use mxd::model::message::{Message, MessageSource};
use mxd::model::run::{Ending, RunCommand};
use mxd::model::{Body, Content};
use mxd::provider::budget::BudgetVerdict;
use mxd::provider::{ApiError, ErrorClass};
use mxd::tools::{self, names};

use super::disk::{Write, Writer};
use super::model::{Request, usage};
use super::world::World;

/// What a run waits for.
#[derive(Debug)]
enum Work {
    Prepare { config: bool, context: bool },
    Reserve,
    Count { number: u64 },
    Model { number: u64, cancelled: bool },
    Tool { call: ToolUse, asked: Option<CommandId>, answer: Option<Result<(), Fault>>, cancelled: bool },
    Timer { timer: u64, cancelled: bool },
    Process { id: String },
}

/// One run.
#[derive(Debug)]
pub struct Run {
    pub id: RunId,
    agent: Machine,
    pub mailbox: VecDeque<RunCommand>,
    /// What the disk acknowledged, in its order.
    pub saved: VecDeque<Input>,
    /// Appends that are on their way.
    pub saving: usize,
    work: Vec<Work>,
    /// It had nothing to do for a while, and gave its slot to others.
    pub has_slept: bool,
    /// It was told that it may not finish yet.
    pub refused: bool,
    /// The calls that the user allowed.
    consented: BTreeSet<String>,
}

impl Run {
    /// Tells whether a step of it would do anything.
    pub fn can_step(&self) -> bool {
        let ready = |work: &Work| !matches!(work, Work::Tool { asked: Some(_), answer: None, cancelled: false, .. });
        !self.mailbox.is_empty() || !self.saved.is_empty() || self.work.iter().any(ready) || self.may_leave()
    }

    fn may_leave(&self) -> bool {
        let idle = self.mailbox.is_empty() && self.saved.is_empty() && self.saving == 0 && self.work.is_empty();
        idle && self.agent.is_idle() && self.agent.state().background.is_empty()
    }

    /// Tells whether it only waits for a process of its own, as far as is known outside.
    pub fn is_asleep(&self) -> bool {
        self.agent.is_idle()
    }

    pub fn respond(&mut self, id: CommandId, result: Result<(), Fault>) {
        for work in &mut self.work {
            if let Work::Tool { asked, answer, .. } = work
                && *asked == Some(id)
            {
                *answer = Some(result);
                return;
            }
        }
    }
}

impl World {
    /// Takes a session up, from what the disk has at this moment.
    pub fn start_run(&mut self, task: TaskId) {
        let limits = Limits {
            profile: "engineer".to_owned(),
            model: "test".to_owned(),
            window: None,
            can_count: false,
            max_turns: None,
            budgeted: false,
            ..Limits::default()
        };
        let agent = Machine::new(self.disk.active(task), limits, self.ids.clone());
        let run = Run {
            id: RunId::fresh(&self.ids),
            agent,
            mailbox: VecDeque::new(),
            saved: VecDeque::new(),
            saving: 0,
            work: Vec::new(),
            has_slept: false,
            refused: false,
            consented: BTreeSet::new(),
        };
        self.runs.insert(task, run);
        self.feed_run(task, Input::Start);
    }

    fn feed_run(&mut self, task: TaskId, input: Input) {
        let now = self.now();
        let Some(run) = self.runs.get_mut(&task) else { return };
        let effects = run.agent.step(now, input);
        run.has_slept |= run.agent.is_idle();
        for effect in effects {
            self.perform_for_run(task, effect);
        }
    }

    fn perform_for_run(&mut self, task: TaskId, effect: Effect) {
        let Some(run) = self.runs.get_mut(&task) else { return };
        match effect {
            Effect::Save { ticket, bodies } => {
                run.saving += 1;
                let by = Writer::Run { run: run.id, ticket };
                self.disk.queue.push_back(Write { task, by, bodies, unless: None });
            }
            Effect::Prepare { config, context } => run.work.push(Work::Prepare { config, context }),
            Effect::Reserve { .. } => run.work.push(Work::Reserve),
            Effect::Count { number } => run.work.push(Work::Count { number }),
            Effect::Release => {}
            Effect::CallModel { number, .. } => run.work.push(Work::Model { number, cancelled: false }),
            Effect::CancelModel { number: which } => run.work.iter_mut().for_each(|work| {
                if let Work::Model { number, cancelled } = work {
                    *cancelled |= *number == which;
                }
            }),
            Effect::RunTools { calls, consents } => {
                run.consented.extend(consents.into_keys());
                let work =
                    calls.into_iter().map(|call| Work::Tool { call, asked: None, answer: None, cancelled: false });
                run.work.extend(work);
            }
            Effect::CancelTools => run.work.iter_mut().for_each(|work| {
                if let Work::Tool { cancelled, .. } = work {
                    *cancelled = true;
                }
            }),
            Effect::Sleep { timer, .. } | Effect::AwaitBudget { timer } => {
                run.work.push(Work::Timer { timer, cancelled: false });
            }
            Effect::CancelSleep { timer: which } => run.work.iter_mut().for_each(|work| {
                if let Work::Timer { timer, cancelled } = work {
                    *cancelled |= *timer == which;
                }
            }),
            Effect::Activity(activity) => {
                self.inbox.push_back(machine::Input::Live { task, live: Live::Activity { activity } });
            }
            Effect::Retrying { .. } | Effect::UseModel { .. } => {}
            Effect::Exit(exit) => self.end_run(task, Ok(Ending::Exited(exit))),
        }
    }

    fn end_run(&mut self, task: TaskId, ending: Result<Ending, Fault>) {
        match &ending {
            Ok(Ending::Idle) => self.tally.count("runs rested"),
            Ok(Ending::Exited(Exit::DonePassed)) => self.tally.count("passed"),
            Ok(Ending::Exited(Exit::DoneFailed)) => self.tally.count("failed"),
            Ok(Ending::Exited(Exit::Interrupted(InterruptReason::Stopped))) => self.tally.count("runs stopped"),
            Ok(Ending::Exited(Exit::Interrupted(_))) | Err(_) => self.tally.count("runs lost"),
        }
        self.runs.remove(&task);
        self.leaving.push((task, ending));
    }

    /// Does one thing in a run.
    pub fn step_run(&mut self, task: TaskId) {
        let calm = self.calm;
        let Some(run) = self.runs.get_mut(&task) else { return };
        // A fault of our own, as rare as those should be.
        if !calm && self.dice.draw(600) == 0 {
            let ending = Ending::Exited(Exit::Interrupted(InterruptReason::Internal("a fault".to_owned())));
            self.disk.queue.retain(|write| !matches!(write.by, Writer::Run { run: by, .. } if by == run.id));
            return self.end_run(task, Ok(ending));
        }
        if let Some(word) = run.mailbox.pop_front() {
            let input = match word {
                RunCommand::Deliver(event) => Input::Delivered { event },
                RunCommand::Withdraw(ids) => Input::Withdraw { ids },
                RunCommand::Interrupt => Input::Interrupt,
                RunCommand::WrapUp => Input::WrapUp,
                RunCommand::Teardown(reason) => Input::Teardown(reason),
                RunCommand::Background { .. } | RunCommand::Kill { .. } => return,
            };
            return self.feed_run(task, input);
        }
        if run.may_leave() {
            return self.end_run(task, Ok(Ending::Idle));
        }
        if !run.saved.is_empty() && (run.work.is_empty() || self.dice.chance(70)) {
            let input = run.saved.pop_front().unwrap();
            return self.feed_run(task, input);
        }
        if run.work.is_empty() {
            return;
        }
        let at = self.dice.draw(run.work.len());
        let work = run.work.swap_remove(at);
        self.finish(task, work);
    }

    fn finish(&mut self, task: TaskId, work: Work) {
        let input = match work {
            Work::Prepare { config, context } => Input::Prepared(Box::new(self.prepared(config, context))),
            Work::Reserve => Input::Reserved(BudgetVerdict::Granted),
            Work::Count { number } => Input::Counted { number, tokens: None },
            Work::Model { number, cancelled: true } => {
                let error = Box::new(ApiError::cancelled());
                Input::Failed { number, error, usage: None, jitter: 0.5 }
            }
            Work::Model { number, .. } if !self.calm && self.dice.draw(40) == 0 => {
                let class = if self.dice.chance(50) { ErrorClass::Auth } else { ErrorClass::Network };
                Input::Failed { number, error: Box::new(ApiError::new(class, "no")), usage: None, jitter: 0.5 }
            }
            Work::Model { number, .. } => {
                let response = Box::new(self.turn(task));
                Input::Response { number, response, usage: Box::new(usage()) }
            }
            Work::Timer { cancelled: true, .. } => return,
            Work::Timer { timer, .. } => Input::Timer { timer },
            Work::Process { id } => return self.process_ended(task, id),
            Work::Tool { call, asked: None, cancelled: false, .. } if Self::is_request(&call) => {
                return self.ask_engine(task, call);
            }
            Work::Tool { call, asked, answer: None, cancelled: false } if asked.is_some() => {
                let waiting = Work::Tool { call, asked, answer: None, cancelled: false };
                return self.runs.get_mut(&task).unwrap().work.push(waiting);
            }
            Work::Tool { call, answer, cancelled, .. } => self.tool_finished(task, &call, answer.as_ref(), cancelled),
        };
        self.feed_run(task, input);
    }

    fn process_ended(&mut self, task: TaskId, process: String) {
        let from =
            MessageSource::BackgroundComplete { process, command: "make".to_owned(), exit: Some(0), duration_ms: 1 };
        let message = Message::new(MessageId::fresh(&self.ids), self.now(), from, "");
        let run = self.runs.get_mut(&task).unwrap();
        run.saving += 1;
        let by = Writer::Process { run: run.id };
        self.disk.queue.push_back(Write { task, by, bodies: vec![message.into()], unless: None });
    }

    fn is_request(call: &ToolUse) -> bool {
        call.name != names::wire("look") && call.name != names::wire(names::BASH)
    }

    fn ask_engine(&mut self, task: TaskId, call: ToolUse) {
        let Some(request) = self.request(&call.name, task) else { return };
        self.tally.count("requests");
        let id = self.next_command();
        let run = self.runs.get_mut(&task).unwrap();
        run.work.push(Work::Tool { call, asked: Some(id), answer: None, cancelled: false });
        match request {
            Request::Command(command) => {
                self.requests.insert(id, task);
                self.inbox.push_back(machine::Input::Command { id, actor: Actor::Agent(task), command });
            }
            Request::Query(query) => self.queries.push_back((task, id, query)),
        }
    }

    /// Answers the first query of an agent, from what the machine knows by now.
    pub fn answer_query(&mut self) {
        let Some((task, id, query)) = self.queries.pop_front() else { return };
        let result = match self.machine.query(&query) {
            Ok(TreeAnswer::MayFinish(Some(unfinished))) => Err(Fault::user(format!("{unfinished:?}"))),
            result => result.map(drop),
        };
        self.respond(task, id, result);
    }

    fn tool_finished(
        &mut self,
        task: TaskId,
        call: &ToolUse,
        answer: Option<&Result<(), Fault>>,
        cancelled: bool,
    ) -> Input {
        let is_done = call.name == names::wire(names::DONE);
        let is_consented = self.runs.get(&task).is_some_and(|run| run.consented.contains(&call.call));
        let is_held = answer.is_none() && !is_done && !cancelled && !is_consented && self.dice.chance(10);
        let verdict = if self.calm || self.dice.chance(70) { Verdict::Passed } else { Verdict::Failed };
        let control = (is_done && answer == Some(&Ok(())))
            .then(|| tools::ControlRequest::Done { verdict, result: "what came of it".to_owned() });
        let is_error = cancelled || matches!(answer, Some(Err(_)));
        let starts = call.name == names::wire(names::BASH) && !cancelled;
        let process = starts.then(|| BackgroundRef { id: call.call.clone(), command: "make".to_owned() });
        if is_held {
            self.tally.count("calls held");
            let result = ToolResult::unrun(&OpenCall { call: call.call.clone(), name: call.name.clone() }, "", false);
            let control = Some(tools::ControlRequest::Hold(Box::default()));
            return Input::ToolFinished { result: Box::new(result), control };
        }
        let run = self.runs.get_mut(&task).unwrap();
        run.refused |= is_done && is_error;
        if let Some(process) = &process {
            run.work.push(Work::Process { id: process.id.clone() });
            self.tally.count("processes");
        }
        let result = ToolResult {
            call: call.call.clone(),
            name: call.name.clone(),
            // Each result differs, or the agents would be asked whether they go in circles.
            content: Content::text(format!("seen {}", call.call)),
            is_error,
            images: Vec::new(),
            full: None,
            background: process,
            ended: None,
            cwd: None,
            permission: None,
            duration_ms: 1,
        };
        Input::ToolFinished { result: Box::new(result), control }
    }
}

/// Returns what an event cost.
pub fn cost(event: &Event) -> MicroUsd {
    match &event.body {
        Body::Usage(usage) => usage.cost.unwrap_or_default(),
        _ => MicroUsd::ZERO,
    }
}
