//! Performs the effects of the machine: appends events, calls the model, runs tools, waits.
//!
//! Each run is one tokio task. All pending operations are futures in one set; the first to finish is the machine's next
//! input. The driver makes no decisions.

mod model;
mod requests;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _, Shared};
use futures::stream::{FuturesUnordered, StreamExt as _};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::agent::conversation::Conversation;
use crate::agent::machine::{Effect, Input, Limits, Machine, Prepared, Purpose};
use crate::base::trace::{Variant, Variants};
use crate::base::{Clock, IdSource, MessageId, RunId, TaskId, Timestamp, TurnId};
use crate::hooks::Firing;
use crate::model::conversation::ToolUse;
use crate::model::event::{Body, Exit, InterruptReason, PermissionNote, ToolResult};
use crate::model::hook::HookEvent;
use crate::model::live::Live;
use crate::model::message::{Message, MessageSource};
use crate::model::run::{Ending, RunCommand};
use crate::provider::budget::{Budget, BudgetVerdict};
use crate::provider::{Catalogue, ModelInfo, Provider, RateGate};
use crate::store::{Store, StoreError};
use crate::tools;
use requests::RequestBuilder;

/// Prepares segments from the outside world: tools, prompt, state of the worktree.
pub trait Preparer: Send + Sync {
    /// Prepares the requested parts. `model` is the model that the user chose during this run.
    fn prepare(&self, config: bool, context: bool, model: Option<String>) -> BoxFuture<'_, Prepared>;

    /// Returns the tools of the last configuration, or `None` to keep those of the run.
    fn tools(&self) -> Option<Arc<tools::Registry>>;
}

/// Saves snapshots of the files after turns, while the model works on the next one.
pub trait FileSnapshotter: Send + Sync {
    /// Saves a snapshot before the first turn of a run.
    fn snapshot_start(&self) -> BoxFuture<'static, ()>;
    /// Saves a snapshot after a turn whose tools may have changed files.
    fn snapshot_turn(&self, turn: TurnId) -> BoxFuture<'static, ()>;
}

/// The context and dependencies of a run.
pub struct RunSetup {
    pub task: TaskId,
    pub run: RunId,
    pub store: Store,
    pub provider: Arc<dyn Provider>,
    pub gate: Arc<RateGate>,
    pub facts: ModelInfo,
    /// Resolves to the catalogue with the endpoint's own list. `None` if it is already included, or not available.
    pub late_catalogue: Option<BoxFuture<'static, Option<Catalogue>>>,
    pub tools: tools::ToolContext,
    pub preparer: Arc<dyn Preparer>,
    /// `None` if snapshots are disabled.
    pub snapshotter: Option<Arc<dyn FileSnapshotter>>,
    pub budget: Budget,
    pub limits: Limits,
    pub ids: IdSource,
    pub clock: Arc<dyn Clock>,
    /// Reports of background processes that ended.
    pub completions: mpsc::UnboundedReceiver<tools::Completion>,
}

/// Loads the session and drives the run to its end.
pub async fn drive(setup: RunSetup, inbox: mpsc::UnboundedReceiver<RunCommand>) -> Result<Ending, StoreError> {
    let sessions = setup.store.sessions().clone();
    let task = setup.task;
    setup.store.repair(task).await?;
    let active = on_blocking_thread(move || sessions.active(task)).await?;
    let machine = Machine::new(&active.events, setup.limits.clone(), setup.ids.clone());
    // A run may last hours, and the log is as large as the conversation.
    drop(active);
    let run = Run {
        requests: Arc::default(),
        work: FuturesUnordered::new(),
        model_cancel: CancellationToken::new(),
        tools_cancel: CancellationToken::new(),
        sleep_cancel: CancellationToken::new(),
        chosen_model: None,
        failed_after_output: false,
        exit: None,
        pending_snapshot: None,
        tools_ran: false,
        stop_judged: machine.state().turns.last.as_ref().map(|last| last.turn),
        was_sent_back: false,
        machine,
        setup,
    };
    Ok(run.run_to_end(inbox).await)
}

/// Runs a slow read on a blocking thread.
async fn on_blocking_thread<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    // Joining fails only after a panic or at the end of the runtime.
    tokio::task::spawn_blocking(read).await.unwrap_or(Err(StoreError::Closed))
}

/// Spawns a future and returns a shared handle to wait for it.
fn spawn_shared(work: BoxFuture<'static, ()>) -> Shared<BoxFuture<'static, ()>> {
    let running = tokio::spawn(work);
    async move {
        // Failures were reported where they occurred.
        let _ = running.await;
    }
    .boxed()
    .shared()
}

/// Waits for the late catalogue, or for ever if there is none.
async fn await_catalogue(late: &mut Option<BoxFuture<'static, Option<Catalogue>>>) -> Option<Catalogue> {
    let arrived = match late {
        Some(late) => late.await,
        None => std::future::pending().await,
    };
    *late = None;
    arrived
}

struct Run {
    setup: RunSetup,
    machine: Machine,
    requests: Arc<Mutex<RequestBuilder>>,
    work: FuturesUnordered<BoxFuture<'static, Option<Input>>>,
    model_cancel: CancellationToken,
    tools_cancel: CancellationToken,
    sleep_cancel: CancellationToken,
    chosen_model: Option<String>,
    /// A request failed after some of its response may have been shown.
    failed_after_output: bool,
    exit: Option<Exit>,
    /// The snapshot in progress. No tool starts before it is complete.
    pending_snapshot: Option<Shared<BoxFuture<'static, ()>>>,
    /// Tools that may change files ran since the last snapshot.
    tools_ran: bool,
    /// The last turn after which the hooks for sleeping were called, or need not be.
    stop_judged: Option<TurnId>,
    /// A hook has sent the agent back since it last slept.
    was_sent_back: bool,
}

impl Run {
    async fn run_to_end(mut self, mut inbox: mpsc::UnboundedReceiver<RunCommand>) -> Ending {
        self.pending_snapshot =
            self.setup.snapshotter.as_ref().map(|snapshotter| spawn_shared(snapshotter.snapshot_start()));
        self.step(Input::Start);
        let mut inbox_closed = false;
        loop {
            if let Some(exit) = self.exit.take() {
                self.setup.tools.jobs.end_all().await;
                self.await_snapshot().await;
                self.check_against_log().await;
                return Ending::Exited(exit);
            }
            if self.can_exit() && inbox.is_empty() {
                self.await_snapshot().await;
                self.check_against_log().await;
                return Ending::Idle;
            }
            tokio::select! {
                biased;
                command = inbox.recv(), if !inbox_closed => match command {
                    Some(command) => self.on_command(command),
                    // No one can send commands any more, so the run must end.
                    None => {
                        inbox_closed = true;
                        self.step(Input::Teardown(InterruptReason::Quit));
                    }
                },
                Some(done) = self.work.next() => if let Some(input) = done {
                    self.step(input);
                },
                Some(completion) = self.setup.completions.recv() => self.report_completion(completion),
                catalogue = await_catalogue(&mut self.setup.late_catalogue) => self.update_catalogue(catalogue),
            }
        }
    }

    fn on_command(&mut self, command: RunCommand) {
        match command {
            RunCommand::Deliver(event) => self.step(Input::Delivered { event }),
            RunCommand::Withdraw(ids) => self.step(Input::Withdraw { ids }),
            RunCommand::Interrupt => self.step(Input::Interrupt),
            RunCommand::WrapUp => self.step(Input::WrapUp),
            RunCommand::Teardown(reason) => self.step(Input::Teardown(reason)),
            // Either may have ended meanwhile.
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

    /// Returns true if the run may end because it is idle: all its state is in the session. A background process keeps
    /// it alive, to report its end.
    fn can_exit(&self) -> bool {
        self.machine.is_idle() && self.work.is_empty() && self.machine.state().background.is_empty()
    }

    fn step(&mut self, input: Input) {
        let input = self.observe(input);
        let (task, run, turn) = (self.setup.task, self.setup.run, self.machine.state().turns.ended);
        let span = tracing::debug_span!("run", %task, %run, turn, input = %Variant(&input));
        let _entered = span.enter();
        let started = tokio::time::Instant::now();
        let effects = self.machine.step(self.now(), input);
        tracing::debug!(effects = %Variants(&effects), took = ?started.elapsed());
        effects.into_iter().for_each(|effect| self.perform(effect));
        self.judge_stop();
    }

    /// Calls the hooks for an agent that is about to sleep.
    fn judge_stop(&mut self) {
        let Some(turn) = self.machine.slept_after() else { return };
        if self.stop_judged.replace(turn) == Some(turn) || self.machine.waits_for_others() {
            return;
        }
        let hooks = self.setup.tools.hooks.clone();
        if !hooks.has(HookEvent::Stop) {
            return;
        }
        let said = self.machine.conversation().last_text();
        let fields = serde_json::json!({ "stop_hook_active": self.was_sent_back, "last_assistant_message": said });
        let judging = async move {
            let joined = hooks.fire(Firing::new(HookEvent::Stop, "", fields)).await;
            let objects = joined.is_blocked && joined.stop.is_none();
            objects.then_some(Input::SentBack { event: HookEvent::Stop, reason: joined.reason })
        };
        self.work.push(judging.boxed());
    }

    /// Handles side effects of an input before the machine sees it: books costs, updates tools.
    fn observe(&mut self, input: Input) -> Input {
        match &input {
            Input::Saved { events, .. } => {
                for event in events {
                    if let Body::Usage(usage) = &event.body {
                        self.setup.budget.spend(usage.cost.unwrap_or_default());
                    }
                }
            }
            Input::Prepared(prepared) if prepared.config.is_some() => {
                if let Some(registry) = self.setup.preparer.tools() {
                    self.setup.tools.registry = registry;
                }
            }
            Input::Failed { .. } => {
                self.failed_after_output = true;
                // Other runs must not wait for this money until the retry or the user's answer.
                self.setup.budget.release();
            }
            Input::SentBack { .. } => self.was_sent_back = true,
            Input::Start
            | Input::SaveFailed { .. }
            | Input::Delivered { .. }
            | Input::Withdraw { .. }
            | Input::CompactionRefused { .. }
            | Input::Prepared(_)
            | Input::Counted { .. }
            | Input::Reserved(_)
            | Input::Response { .. }
            | Input::ToolFinished { .. }
            | Input::Timer { .. }
            | Input::Interrupt
            | Input::WrapUp
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
            Effect::Reserve { tokens, allowances } => {
                let verdict = match self.estimate(tokens) {
                    Some(amount) => self.setup.budget.reserve(amount, &allowances),
                    None if self.setup.budget.is_limited() => BudgetVerdict::Unpriced,
                    None => BudgetVerdict::Granted,
                };
                self.work.push(std::future::ready(Some(Input::Reserved(verdict))).boxed());
            }
            Effect::Release => self.setup.budget.release(),
            Effect::CallModel { number, purpose, attempt } => {
                self.snapshot_files();
                let is_summary = matches!(purpose, Purpose::Summarise { .. }) && attempt == 1;
                let judged = is_summary && self.setup.tools.hooks.has(HookEvent::PreCompact);
                let before = judged.then(|| self.judge_compaction(number));
                self.call_model(number, purpose, attempt, before);
            }
            Effect::CancelModel { .. } => self.model_cancel.cancel(),
            Effect::RunTools { calls, consents } => self.run_tools(calls, consents),
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
            Effect::AwaitBudget { timer } => {
                self.sleep_cancel = CancellationToken::new();
                let (cancel, freed) = (self.sleep_cancel.clone(), self.setup.budget.wait_until_free());
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

    /// Returns the future that asks the hooks about a summary. It resolves to the refusal, or `None`.
    fn judge_compaction(&self, number: u64) -> BoxFuture<'static, Option<Input>> {
        let hooks = self.setup.tools.hooks.clone();
        let trigger = if self.machine.has_compact_request() { "manual" } else { "auto" };
        async move {
            let fields = serde_json::json!({ "trigger": trigger, "custom_instructions": "" });
            let joined = hooks.fire(Firing::new(HookEvent::PreCompact, trigger, fields)).await;
            let refusal = joined.stop.or_else(|| joined.is_blocked.then_some(joined.reason));
            refusal.map(|reason| Input::CompactionRefused { number, reason })
        }
        .boxed()
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

    /// Appends the message that a background process has ended, then passes it to the machine.
    fn report_completion(&mut self, completion: tools::Completion) {
        let message = Message::new(
            MessageId::fresh(&self.setup.ids),
            self.now(),
            MessageSource::BackgroundComplete {
                process: completion.id,
                command: completion.command,
                exit: completion.exit.code,
                duration_ms: u64::try_from(completion.duration.as_millis()).unwrap_or(u64::MAX),
            },
            completion.text,
        );
        let (store, task, run) = (self.setup.store.clone(), self.setup.task, self.setup.run);
        let append = async move {
            Some(match store.append(task, Some(run), message).await {
                Ok(event) => Input::Delivered { event },
                Err(error) => Input::SaveFailed { reason: error.to_string() },
            })
        };
        self.work.push(append.boxed());
    }

    /// Starts a snapshot of the files if tools may have changed them since the last one.
    fn snapshot_files(&mut self) {
        let Some(snapshotter) = self.setup.snapshotter.as_ref().filter(|_| self.tools_ran) else { return };
        let Some(last) = &self.machine.state().turns.last else { return };
        self.tools_ran = false;
        let (before, snapshot) = (self.pending_snapshot.take(), snapshotter.snapshot_turn(last.turn));
        self.pending_snapshot = Some(spawn_shared(
            async move {
                if let Some(before) = before {
                    before.await;
                }
                snapshot.await;
            }
            .boxed(),
        ));
    }

    /// Takes the last snapshot, if needed, and waits for it.
    async fn await_snapshot(&mut self) {
        self.snapshot_files();
        if let Some(snapshot) = self.pending_snapshot.take() {
            snapshot.await;
        }
    }

    fn run_tools(&mut self, calls: Vec<ToolUse>, mut consents: BTreeMap<String, PermissionNote>) {
        self.tools_cancel = CancellationToken::new();
        let effect = |call: &ToolUse| {
            let tool = self.setup.tools.registry.get(&call.name);
            tool.map_or(tools::ToolEffect::Opaque, |tool| tool.effect())
        };
        let effects: Vec<tools::ToolEffect> = calls.iter().map(effect).collect();
        self.tools_ran |= effects.iter().any(|effect| *effect != tools::ToolEffect::Reads);
        let mut ends: Vec<Shared<BoxFuture<'static, ()>>> = Vec::with_capacity(calls.len());
        for (call, predecessors) in calls.into_iter().zip(tools::predecessors(&effects)) {
            let mut context = self.setup.tools.clone();
            context.tokens.interrupt = self.tools_cancel.clone();
            context.consent = consents.remove(&call.call);
            let (id, name) = (call.call.clone(), call.name.clone());
            // On a separate tokio task, so that a tool that computes does not block the run. Aborted on drop, so that
            // it does not outlive the run.
            let snapshot = self.pending_snapshot.clone();
            let before: Vec<_> = predecessors.into_iter().map(|position| ends[position].clone()).collect();
            let (ended, end) = oneshot::channel::<()>();
            // A dropped sender counts as the end too.
            ends.push(end.map(drop).boxed().shared());
            let running = AbortOnDropHandle::new(tokio::spawn(async move {
                let ready = async {
                    if let Some(snapshot) = snapshot {
                        snapshot.await;
                    }
                    futures::future::join_all(before).await;
                };
                // `execute` does not run a call that is cancelled by now.
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

    /// In debug builds, checks that the conversation equals a replay of the log.
    async fn check_against_log(&mut self) {
        if !cfg!(debug_assertions) {
            return;
        }
        let (store, task) = (self.setup.store.clone(), self.setup.task);
        // After a failed append, the file may hold events that were never acknowledged.
        if store.repair(task).await.is_err() {
            return;
        }
        if let Ok(active) = on_blocking_thread(move || store.sessions().active(task)).await {
            let rebuilt = Conversation::replay(&active.events);
            debug_assert_eq!(
                rebuilt.role_messages(),
                self.machine.conversation().role_messages(),
                "the conversation drifted"
            );
        }
    }
}
