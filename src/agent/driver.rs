//! Carries out what the machine decides: appends, asks the model, runs tools, waits.
//!
//! One task per run. Everything that waits is a future in one set; whatever finishes first is the machine's next
//! input. The driver decides nothing: where something has to be decided, it asks the machine.

mod model;
mod requests;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _, Shared};
use futures::stream::{FuturesUnordered, StreamExt as _};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::agent::conversation::Conversation;
use crate::agent::machine::{Effect, Input, Limits, Machine, Prepared};
use crate::base::trace::{Variant, Variants};
use crate::base::{Clock, IdSource, MessageId, RunId, TaskId, Timestamp, TurnId};
use crate::model::conversation::ToolUse;
use crate::model::event::{Body, Event, Exit, InterruptReason, ToolResult};
use crate::model::live::Live;
use crate::model::message::{Message, Source};
use crate::model::run::{Ending, RunCommand};
use crate::provider::purse::{BudgetVerdict, Purse};
use crate::provider::{Catalogue, Facts, Gate, Provider};
use crate::store::{Store, StoreError};
use crate::tools;
use requests::Requests;

/// What a segment needs that only the outside can make: tools, prompt, the state of the worktree.
pub trait Preparer: Send + Sync {
    /// Returns what was asked for. `model` is one that the person chose since the run began.
    fn prepare(&self, config: bool, context: bool, model: Option<String>) -> BoxFuture<'_, Prepared>;

    /// Returns the tools that the last configuration names. Nothing: those that the run has.
    fn tools(&self) -> Option<Arc<tools::Registry>>;
}

/// Keeps the state of the files after a turn, while the model thinks about the next one.
pub trait Keeper: Send + Sync {
    /// Keeps the state before the first turn of a run.
    fn begin(&self) -> BoxFuture<'static, ()>;
    /// Keeps the state after a turn whose tools may have changed it.
    fn keep(&self, turn: TurnId) -> BoxFuture<'static, ()>;
}

/// Everything a run works with.
pub struct Setup {
    pub task: TaskId,
    pub run: RunId,
    pub store: Store,
    pub provider: Arc<dyn Provider>,
    pub gate: Arc<Gate>,
    pub facts: Facts,
    /// What is known of models once their endpoint has said it. `None` if it has, or will not.
    pub late_catalogue: Option<BoxFuture<'static, Option<Catalogue>>>,
    pub tools: tools::Context,
    pub preparer: Arc<dyn Preparer>,
    /// Nothing: states of files are not kept.
    pub keeper: Option<Arc<dyn Keeper>>,
    pub purse: Purse,
    pub limits: Limits,
    pub ids: IdSource,
    pub clock: Arc<dyn Clock>,
    /// Takes every event of the run, once it is on the disk.
    pub events: mpsc::UnboundedSender<Arc<Event>>,
    /// Where the tools report the end of a background process.
    pub completions: mpsc::UnboundedReceiver<tools::Completion>,
    pub rest: Rest,
}

/// What a run does when it has nothing to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rest {
    /// It waits for a word.
    #[default]
    Stay,
    /// It ends, unless a process of its own still runs. Everything it knows is in its session.
    Leave,
}

/// Takes the session up and runs it to its end.
pub async fn drive(setup: Setup, inbox: mpsc::UnboundedReceiver<RunCommand>) -> Result<Ending, StoreError> {
    let sessions = setup.store.sessions().clone();
    let task = setup.task;
    setup.store.mend(task).await?;
    let active = on_blocking_thread(move || sessions.active(task)).await?;
    let machine = Machine::new(&active.events, setup.limits.clone(), setup.ids.clone());
    // A run may go on for hours, and the log is as large as the conversation that was made from it.
    drop(active);
    let run = Run {
        machine,
        requests: Arc::default(),
        work: FuturesUnordered::new(),
        model_cancel: CancellationToken::new(),
        tools_cancel: CancellationToken::new(),
        sleep_cancel: CancellationToken::new(),
        chosen_model: None,
        shown_in_vain: false,
        exit: None,
        keeping: None,
        touched: false,
        setup,
    };
    Ok(run.live(inbox).await)
}

/// Runs a read that may take long where it blocks nobody.
async fn on_blocking_thread<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    // The only way to fail is a panic or the end of the runtime; either way there is no result.
    tokio::task::spawn_blocking(read).await.unwrap_or(Err(StoreError::Closed))
}

/// Lets something happen by itself; whoever wants to can wait for it.
fn spawned(work: BoxFuture<'static, ()>) -> Shared<BoxFuture<'static, ()>> {
    let running = tokio::spawn(work);
    async move {
        // Whatever went wrong was said where it did; nobody waits for ever because of it.
        let _ = running.await;
    }
    .boxed()
    .shared()
}

/// Waits for what comes late, or for ever if nothing does.
async fn arrival(late: &mut Option<BoxFuture<'static, Option<Catalogue>>>) -> Option<Catalogue> {
    let arrived = match late {
        Some(late) => late.await,
        None => std::future::pending().await,
    };
    *late = None;
    arrived
}

struct Run {
    setup: Setup,
    machine: Machine,
    requests: Arc<Mutex<Requests>>,
    work: FuturesUnordered<BoxFuture<'static, Option<Input>>>,
    model_cancel: CancellationToken,
    tools_cancel: CancellationToken,
    sleep_cancel: CancellationToken,
    chosen_model: Option<String>,
    /// A request failed after some of its response may have been shown.
    shown_in_vain: bool,
    exit: Option<Exit>,
    /// A state that is being kept. No tool begins before it is.
    keeping: Option<Shared<BoxFuture<'static, ()>>>,
    /// Tools ran since the last state was kept.
    touched: bool,
}

impl Run {
    async fn live(mut self, mut inbox: mpsc::UnboundedReceiver<RunCommand>) -> Ending {
        self.keeping = self.setup.keeper.as_ref().map(|keeper| spawned(keeper.begin()));
        self.step(Input::Start);
        let mut deaf = false;
        loop {
            if let Some(exit) = self.exit.take() {
                self.setup.tools.jobs.end_all().await;
                self.all_kept().await;
                self.check_against_log().await;
                return Ending::Exited(exit);
            }
            if self.may_leave() && inbox.is_empty() {
                self.all_kept().await;
                self.check_against_log().await;
                return Ending::Resting;
            }
            tokio::select! {
                biased;
                command = inbox.recv(), if !deaf => match command {
                    Some(command) => self.told(command),
                    // Nobody can reach this run any more, so nobody can want it to go on.
                    None => {
                        deaf = true;
                        self.step(Input::Teardown(InterruptReason::Quit));
                    }
                },
                Some(done) = self.work.next() => if let Some(input) = done {
                    self.step(input);
                },
                Some(completion) = self.setup.completions.recv() => self.report(completion),
                catalogue = arrival(&mut self.setup.late_catalogue) => self.learn(catalogue),
            }
        }
    }

    fn told(&mut self, command: RunCommand) {
        match command {
            RunCommand::Hear(event) => self.step(Input::Heard { event }),
            RunCommand::Withdraw(ids) => self.step(Input::Withdraw { ids }),
            RunCommand::Interrupt => self.step(Input::Interrupt),
            RunCommand::Teardown(reason) => self.step(Input::Teardown(reason)),
            // Either may have ended by itself meanwhile.
            RunCommand::Background { call } => {
                self.setup.tools.foreground.to_background(&call);
            }
            RunCommand::Kill { process } => {
                self.setup.tools.jobs.kill(&process);
            }
        }
    }

    fn now(&self) -> Timestamp {
        self.setup.clock.now()
    }

    /// Tells whether nobody would miss this run. A process of its own would: its end has to be told.
    fn may_leave(&self) -> bool {
        self.setup.rest == Rest::Leave
            && self.machine.is_resting()
            && self.work.is_empty()
            && self.machine.state().background.is_empty()
    }

    fn step(&mut self, input: Input) {
        let input = self.noticed(input);
        let (task, run, turn) = (self.setup.task, self.setup.run, self.machine.state().turns.ended);
        let span = tracing::debug_span!("run", %task, %run, turn, input = %Variant(&input));
        let _entered = span.enter();
        let begun = tokio::time::Instant::now();
        let effects = self.machine.step(self.now(), input);
        tracing::debug!(effects = %Variants(&effects), took = ?begun.elapsed());
        effects.into_iter().for_each(|effect| self.perform(effect));
    }

    /// Looks at an input on its way to the machine: events are passed on to whoever shows them, costs are booked.
    fn noticed(&mut self, input: Input) -> Input {
        match &input {
            Input::Saved { events, .. } => {
                for event in events {
                    if let Body::Usage(usage) = &event.body {
                        self.setup.purse.spend(usage.cost.unwrap_or_default());
                    }
                    // Nobody may be looking, and an event may be long.
                    if !self.setup.events.is_closed() {
                        let _ = self.setup.events.send(event.clone());
                    }
                }
            }
            Input::Prepared(prepared) if prepared.config.is_some() => {
                if let Some(registry) = self.setup.preparer.tools() {
                    self.setup.tools.registry = registry;
                }
            }
            Input::Failed { .. } => {
                self.shown_in_vain = true;
                // Whoever waits for money must not wait until this run has tried again, or a person has answered.
                self.setup.purse.release();
            }
            Input::Start
            | Input::SaveFailed { .. }
            | Input::Heard { .. }
            | Input::Withdraw { .. }
            | Input::Prepared(_)
            | Input::Counted { .. }
            | Input::Reserved(_)
            | Input::Response { .. }
            | Input::ToolFinished { .. }
            | Input::Timer { .. }
            | Input::Interrupt
            | Input::Teardown(_) => {}
        }
        input
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Save { ticket, bodies } => self.save(ticket, bodies),
            Effect::Prepare { config, context } => {
                let preparer = self.setup.preparer.clone();
                let model = self.chosen_model.clone();
                self.work.push(
                    async move { Some(Input::Prepared(Box::new(preparer.prepare(config, context, model).await))) }
                        .boxed(),
                );
            }
            Effect::Count { number } => self.count(number),
            Effect::Reserve { tokens } => {
                let verdict = match self.estimate(tokens) {
                    Some(amount) => self.setup.purse.reserve(amount),
                    None if self.setup.purse.is_limited() => BudgetVerdict::Unpriced,
                    None => BudgetVerdict::Granted,
                };
                self.work.push(std::future::ready(Some(Input::Reserved(verdict))).boxed());
            }
            Effect::Release => self.setup.purse.release(),
            Effect::CallModel { number, purpose, attempt } => {
                self.keep_files();
                self.call_model(number, purpose, attempt);
            }
            Effect::CancelModel { .. } => self.model_cancel.cancel(),
            Effect::RunTools { calls } => self.run_tools(calls),
            Effect::CancelTools => self.tools_cancel.cancel(),
            Effect::Sleep { timer, millis } => {
                self.sleep_cancel = CancellationToken::new();
                let cancel = self.sleep_cancel.clone();
                let sleep = async move {
                    tokio::select! {
                        () = cancel.cancelled() => None,
                        () = tokio::time::sleep(Duration::from_millis(millis)) => Some(Input::Timer { timer }),
                    }
                };
                self.work.push(sleep.boxed());
            }
            Effect::AwaitMoney { timer } => {
                self.sleep_cancel = CancellationToken::new();
                let (cancel, freed) = (self.sleep_cancel.clone(), self.setup.purse.freed());
                let wait = async move {
                    tokio::select! {
                        () = cancel.cancelled() => None,
                        () = freed => Some(Input::Timer { timer }),
                    }
                };
                self.work.push(wait.boxed());
            }
            Effect::CancelSleep { .. } => self.sleep_cancel.cancel(),
            Effect::Activity(activity) => self.setup.tools.live.send(Live::Activity { activity }),
            Effect::Retrying { attempt, of, millis, reason } => {
                let until = self.now().later(Duration::from_millis(millis));
                self.setup.tools.live.send(Live::Retry { attempt, of, until, reason });
            }
            Effect::UseModel { model } => self.use_model(model),
            Effect::Exit(exit) => self.exit = Some(exit),
        }
    }

    fn save(&mut self, ticket: u64, bodies: Vec<Body>) {
        let (store, task, run) = (self.setup.store.clone(), self.setup.task, self.setup.run);
        let append = async move {
            Some(match store.append_batch(task, Some(run), bodies).await {
                Ok(events) => Input::Saved { ticket, events },
                Err(error) => Input::SaveFailed { reason: error.to_string() },
            })
        };
        self.work.push(append.boxed());
    }

    /// Tells the agent that a process in the background has ended: on the disk first, then to the machine.
    fn report(&mut self, completion: tools::Completion) {
        let message = Message::new(
            MessageId::fresh(&self.setup.ids),
            self.now(),
            Source::BackgroundComplete {
                process: completion.id,
                command: completion.command,
                exit: completion.exit.code,
                duration_ms: u64::try_from(completion.duration.as_millis()).unwrap_or(u64::MAX),
            },
            completion.text,
        );
        let (store, task, run, events) =
            (self.setup.store.clone(), self.setup.task, self.setup.run, self.setup.events.clone());
        let append = async move {
            Some(match store.append(task, Some(run), message).await {
                Ok(event) => {
                    if !events.is_closed() {
                        let _ = events.send(event.clone());
                    }
                    Input::Heard { event }
                }
                Err(error) => Input::SaveFailed { reason: error.to_string() },
            })
        };
        self.work.push(append.boxed());
    }

    /// Begins to keep the state of the files, if tools may have changed it since that was last done.
    fn keep_files(&mut self) {
        let Some(keeper) = self.setup.keeper.as_ref().filter(|_| self.touched) else { return };
        let Some(last) = &self.machine.state().turns.last else { return };
        self.touched = false;
        let (before, keep) = (self.keeping.take(), keeper.keep(last.turn));
        self.keeping = Some(spawned(
            async move {
                if let Some(before) = before {
                    before.await;
                }
                keep.await;
            }
            .boxed(),
        ));
    }

    /// Waits until the last state is kept.
    async fn all_kept(&mut self) {
        self.keep_files();
        if let Some(keeping) = self.keeping.take() {
            keeping.await;
        }
    }

    fn run_tools(&mut self, calls: Vec<ToolUse>) {
        self.tools_cancel = CancellationToken::new();
        let effect = |call: &ToolUse| {
            let tool = self.setup.tools.registry.get(&call.name);
            tool.map_or(tools::Effect::Opaque, |tool| tool.effect())
        };
        let effects: Vec<tools::Effect> = calls.iter().map(effect).collect();
        self.touched |= effects.iter().any(|effect| *effect != tools::Effect::Reads);
        let mut ends: Vec<Shared<BoxFuture<'static, ()>>> = Vec::with_capacity(calls.len());
        for (call, predecessors) in calls.into_iter().zip(tools::predecessors(&effects)) {
            let mut context = self.setup.tools.clone();
            context.tokens.interrupt = self.tools_cancel.clone();
            let (id, name) = (call.call.clone(), call.name.clone());
            // On a task of its own: a tool that computes must not keep the run from hearing what is said to it.
            // Nor may it go on when the run is gone and nobody will ever hear of it.
            let kept = self.keeping.clone();
            let before: Vec<_> = predecessors.into_iter().map(|position| ends[position].clone()).collect();
            let (ended, end) = oneshot::channel::<()>();
            // A call that ends without a word has ended all the same.
            ends.push(end.map(drop).boxed().shared());
            let running = AbortOnDropHandle::new(tokio::spawn(async move {
                let ready = async {
                    if let Some(kept) = kept {
                        kept.await;
                    }
                    futures::future::join_all(before).await;
                };
                // One that is cut short before its turn comes is not run: that is looked at before anything else.
                tokio::select! {
                    () = ready => {}
                    () = context.tokens.cancelled() => {}
                }
                let reply = tools::execute(&call, &context).await;
                drop(ended);
                reply
            }));
            let finished = async move {
                let mut reply = running.await.unwrap_or_else(|_| tools::Reply::error("The tool did not come back."));
                let control = reply.control.take();
                let result: ToolResult = reply.into_result(&id, &name);
                Some(Input::ToolFinished { result: Box::new(result), control })
            };
            self.work.push(finished.boxed());
        }
    }

    /// In debug builds: what grew event by event must be what the log gives as a whole.
    async fn check_against_log(&mut self) {
        if !cfg!(debug_assertions) {
            return;
        }
        let (store, task) = (self.setup.store.clone(), self.setup.task);
        // What the disk could neither keep nor take back stands in the file and was told to nobody.
        if store.mend(task).await.is_err() {
            return;
        }
        if let Ok(active) = on_blocking_thread(move || store.sessions().active(task)).await {
            let rebuilt = Conversation::replay(&active.events);
            debug_assert_eq!(rebuilt.speeches(), self.machine.conversation().speeches(), "the conversation drifted");
        }
    }
}
