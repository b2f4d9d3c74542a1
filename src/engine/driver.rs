//! Executes the effects of the machine: appends events, saves the tree, starts runs, creates and removes worktrees.
//!
//! A single tokio task owns the machine. Everything that blocks runs in its own task and reports back as an input.
//! Events arrive in the order in which the store wrote them. The driver takes no decisions; it asks the machine.

mod accounts;
mod command_queue;
mod done_check;
pub(in crate::engine) mod effects;
mod files;
mod jobs;
mod launch;
mod lifecycle;
pub(in crate::engine) mod live;
pub mod models;
pub(in crate::engine) mod recurring;
pub(in crate::engine) mod setup;
mod snapshots;
mod state_cache;
pub(in crate::engine) mod tool_lists;
mod trace;
mod verify;
mod worktree_monitor;

pub(in crate::engine) use launch::{notify, ready_mark, refused_by_store};
pub(in crate::engine) use setup::is_ready_mark;
pub use snapshots::TurnSnapshotter;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::base::trace::Variants;
use crate::base::{Clock, EventId, Fault, IdSource, TaskId};
use crate::config::secret_places::SecretPaths;
use crate::config::{Home, Settings};
use crate::engine::agent_port::AgentRequest;
use crate::engine::backend::Backends;
use crate::engine::command::{Actor, Command, CommandId, Outcome};
use crate::engine::cross_project::ProjectInbox;
use crate::engine::feed::{Feed, SnapshotSlot, Watcher};
use crate::engine::hooks::ProjectHooks;
use crate::engine::machine::{Input, Machine, Timer};
use crate::engine::permissions::Permissions;
use crate::engine::profiles::{self, Profiles};
use crate::engine::query::{TreeAnswer, TreeQuery};
use crate::engine::review::Drift;
use crate::engine::settings_files::SettingsFiles;
use crate::engine::skills::SkillFolders;
use crate::engine::snapshot::{DiffStat, Snapshot};
use crate::engine::tool_door::ToolDoor;
use crate::engine::update::{EngineEnd, Notice, Update};
use crate::engine::work_queries::TaskLocation;
use crate::git::conflict_scan::ConflictScanner;
use crate::git::{AgentGit, Worktrees};
use crate::model::ask::Approval;
use crate::model::event::Event;
use crate::model::fold::SessionState;
use crate::model::live_turn::LiveTurns;
use crate::model::run::RunCommand;
use crate::model::{ClientView, Live, Project};
use crate::permit::Mode;
use crate::process::environment::{GUARDED_MARKER, TASK_MARKER};
use crate::process::{self, Environment};
use crate::store::tree_file::TreeFile;
use crate::store::{EngineLock, StateCache, Store};
use crate::tools::mcp::Pool;
use accounts::Accounts;
pub(in crate::engine) use command_queue::EngineRequest;
use command_queue::RequestQueue;
pub(in crate::engine) use lifecycle::BegunSessions;
use lifecycle::HookedRequest;
use live::{LiveBuffer, StreamState};
use models::Models;
use recurring::{RecurringPlans, RecurringTasks};
use state_cache::StateSaves;
use tool_lists::ToolListFile;
use worktree_monitor::ConflictScan;

/// How long runs may take to stop on quit. Sessions are complete on disk at any time.
const QUIT_LIMIT: Duration = Duration::from_millis(600);
/// The minimum time that tool servers get to shut down.
const SERVER_SHUTDOWN_LIMIT: Duration = Duration::from_millis(50);

pub(in crate::engine) enum Incoming {
    Input(Input),
    /// The store has written these events. They arrive in the order of the file.
    EventsSaved {
        task: TaskId,
        /// Streamed output that precedes the events and that watchers have not seen yet.
        shown: Vec<Live>,
        events: Vec<Arc<Event>>,
    },
    /// New streamed output waits in the live buffer.
    Live {
        task: TaskId,
        batch: u64,
    },
    Command {
        actor: Actor,
        command: Command,
        answer: oneshot::Sender<Result<Outcome, Fault>>,
    },
    Query {
        query: TreeQuery,
        answer: oneshot::Sender<Result<TreeAnswer, Fault>>,
    },
    /// A request that lifecycle hooks have let pass.
    Judged(EngineRequest),
    Subscribe {
        answer: oneshot::Sender<(Snapshot, Watcher)>,
    },
    /// Add the current state to the queue of a watcher.
    AddSnapshot {
        slot: SnapshotSlot,
        answer: oneshot::Sender<()>,
    },
    Diff {
        task: TaskId,
        diff: Option<DiffStat>,
        drift: Option<Drift>,
    },
    ScanConflicts,
    /// Pairs of tasks whose branches conflict, with the conflicting files.
    Conflicts {
        pairs: Vec<(TaskId, TaskId, Vec<String>)>,
    },
    Location {
        task: TaskId,
        answer: oneshot::Sender<Result<TaskLocation, Fault>>,
    },
    SaveStates,
    /// The files of recurring tasks changed.
    PlansChanged,
    Plans(RecurringPlans),
    /// The session states of planned tasks that are not in the tree.
    Sessions(Vec<(TaskId, SessionState)>),
    /// The selection was changed here.
    Selected(Profiles),
    /// The current profiles, or `None` if reading them failed.
    Profiles(Option<Profiles>),
    RecurringDue,
    Clients(Vec<ClientView>),
    /// Ends the driver, even if runs are still stopping.
    QuitDeadline,
}

/// The services and settings that the driver and the backends share.
pub(in crate::engine) struct EngineContext {
    pub(in crate::engine) project: Project,
    pub(in crate::engine) settings: Settings,
    pub(in crate::engine) permissions: Arc<Permissions>,
    pub(in crate::engine) hooks: ProjectHooks,
    pub(in crate::engine) home: Home,
    pub(in crate::engine) begun_sessions: BegunSessions,
    pub(in crate::engine) store: Store,
    pub(in crate::engine) tree_file: std::sync::Mutex<TreeFile>,
    pub(in crate::engine) state_cache: std::sync::Mutex<StateCache>,
    pub(in crate::engine) worktrees: Worktrees,
    pub(in crate::engine) conflict_scanner: ConflictScanner,
    pub(in crate::engine) agent_git: AgentGit,
    pub(in crate::engine) models: Models,
    pub(in crate::engine) pool: Arc<Pool>,
    pub(in crate::engine) tool_lists: Arc<ToolListFile>,
    pub(in crate::engine) feed: Feed,
    pub(in crate::engine) settings_files: SettingsFiles,
    pub(in crate::engine) live: Arc<LiveBuffer>,
    pub(in crate::engine) ids: IdSource,
    pub(in crate::engine) clock: Arc<dyn Clock>,
    pub(in crate::engine) incoming: mpsc::UnboundedSender<Incoming>,
    pub(in crate::engine) agents: mpsc::UnboundedSender<AgentRequest>,
    /// The folder of process records. `spill` holds the output of running commands.
    pub(in crate::engine) records: PathBuf,
    pub(in crate::engine) spill: PathBuf,
    /// Which notices about the setup hook the user has seen since the project was opened.
    pub(in crate::engine) hook_notices: setup::HookNotices,
    /// This file exists if the user was told once that setup hooks exist.
    pub(in crate::engine) hook_hint_mark: PathBuf,
    pub(in crate::engine) profiles: profiles::ProfileFolders,
    pub(in crate::engine) skills: SkillFolders,
    /// Files that agents may not read.
    pub(in crate::engine) secrets: SecretPaths,
    /// The data folders that agent processes must not change, as a path list.
    pub(in crate::engine) protected_folders: std::ffi::OsString,
    /// Limits how many worktrees are measured at once.
    pub(in crate::engine) measure_permits: tokio::sync::Semaphore,
    pub(in crate::engine) project_inbox: ProjectInbox,
    /// Serves the tools to outside programs.
    pub(in crate::engine) tool_door: ToolDoor,
    /// The folder of what outside programs said.
    pub(in crate::engine) agent_logs: PathBuf,
}

impl EngineContext {
    pub(in crate::engine) fn profiles(&self) -> Profiles {
        // The selection may have changed since the engine was opened.
        let settings = self.settings_files.merged().ok().filter(|merged| merged.fault().is_none());
        let selected = settings.map_or_else(|| self.settings.profile.clone(), |merged| merged.settings.profile);
        Profiles::load(&self.profiles, &selected)
    }

    /// Returns the environment for processes of a task. Its markers let the engine find them and tell them apart from
    /// the user's processes.
    pub(in crate::engine) fn environment(&self, task: TaskId) -> Environment {
        Environment::new().with(TASK_MARKER, task.to_string()).with(GUARDED_MARKER, &self.protected_folders)
    }

    pub(in crate::engine) fn send(&self, input: Input) {
        // The receiver is gone only after the driver has ended.
        let _ = self.incoming.send(Incoming::Input(input));
    }
}

struct RunHandle {
    inbox: mpsc::UnboundedSender<RunCommand>,
    cancel: CancellationToken,
    _task: AbortOnDropHandle<()>,
}

pub(in crate::engine) struct Driver {
    pub(in crate::engine) machine: Machine,
    pub(in crate::engine) ctx: Arc<EngineContext>,
    backends: Arc<Backends>,
    pub(in crate::engine) lock: EngineLock,
    runs: BTreeMap<TaskId, RunHandle>,
    /// The last report to the machine about the streamed output of each run.
    streams: BTreeMap<TaskId, StreamState>,
    /// What was published and is in no session yet, for watchers that come later.
    live_turns: LiveTurns,
    replies: BTreeMap<CommandId, oneshot::Sender<Result<Outcome, Fault>>>,
    timers: BTreeMap<Timer, AbortOnDropHandle<()>>,
    accounts: Accounts,
    diffs: BTreeMap<TaskId, AbortOnDropHandle<()>>,
    conflict_scan: ConflictScan,
    state_saves: StateSaves,
    recurring: RecurringTasks,
    requests: RequestQueue,
    /// Requests that lifecycle hooks judge first.
    judge: mpsc::UnboundedSender<HookedRequest>,
    /// Notices that every new watcher gets first.
    startup_notices: Vec<Notice>,
    /// The number of the last command.
    last_command: u64,
    quiet: bool,
    /// Who is attached.
    clients: Vec<ClientView>,
    /// Another process takes over.
    is_handing_over: bool,
    /// The deadline for quitting, or `None` if no quit was requested.
    quit_by: Option<Instant>,
    over: bool,
}

impl Driver {
    /// `heads` are the last events of the sessions that the boot input carries.
    pub(in crate::engine) fn new(
        machine: Machine,
        ctx: Arc<EngineContext>,
        backends: Backends,
        lock: EngineLock,
        heads: BTreeMap<TaskId, EventId>,
        recurring: RecurringTasks,
        startup_notices: Vec<Notice>,
    ) -> Self {
        let judge = lifecycle::start_judge(&ctx);
        Self {
            judge,
            machine,
            ctx,
            backends: Arc::new(backends),
            lock,
            runs: BTreeMap::new(),
            streams: BTreeMap::new(),
            live_turns: LiveTurns::default(),
            replies: BTreeMap::new(),
            timers: BTreeMap::new(),
            accounts: Accounts::default(),
            diffs: BTreeMap::new(),
            conflict_scan: ConflictScan::Idle,
            state_saves: StateSaves::new(heads),
            recurring,
            requests: RequestQueue::default(),
            startup_notices,
            last_command: 0,
            quiet: false,
            clients: Vec::new(),
            is_handing_over: false,
            quit_by: None,
            over: false,
        }
    }

    pub(in crate::engine) async fn run(
        mut self,
        boot: Input,
        plans: RecurringPlans,
        mut incoming: mpsc::UnboundedReceiver<Incoming>,
        mut agents: mpsc::UnboundedReceiver<AgentRequest>,
    ) -> EngineEnd {
        self.step(boot);
        self.measure_all();
        self.load_plans(plans).await;
        while !self.over {
            if self.recurring.stale {
                self.start_due_tasks();
            }
            tokio::select! {
                biased;
                Some(incoming) = incoming.recv() => self.on_incoming(incoming),
                Some(request) = agents.recv() => self.on_unjudged_request(request.into()),
                else => break,
            }
        }
        self.shut_down().await
    }

    fn on_incoming(&mut self, incoming: Incoming) {
        match incoming {
            Incoming::Input(input) => {
                if let Input::RunOver { task, .. } | Input::LaunchFailed { task, .. } = &input {
                    self.runs.remove(task);
                    self.streams.remove(task);
                    self.live_turns.on_run_over(*task);
                    self.measure(*task);
                    self.save_states_soon();
                }
                if let Input::Timer { timer } = &input {
                    self.timers.remove(timer);
                }
                let decision = match &input {
                    Input::DecisionSaved { decision, .. } => Some((decision.task, decision.approval.clone())),
                    _ => None,
                };
                self.step(input);
                if let Some((task, Approval::RecurringTask { .. })) = decision {
                    self.recurring.on_decision(task);
                }
            }
            Incoming::EventsSaved { task, shown, events } => {
                self.publish_live(task, shown);
                self.state_saves.on_events(task, &events);
                for event in events {
                    self.ctx.feed.publish(&Update::Event { task, event: Arc::clone(&event) });
                    self.live_turns.on_event(task, &event);
                    self.on_event_saved(task, &event);
                    self.call_hooks_after(task, &event);
                    self.step(Input::Observed { task, event });
                }
            }
            Incoming::Live { task, batch } => self.publish_batch(task, batch),
            Incoming::Command { command: Command::Files(command), answer, .. } => self.on_file_command(command, answer),
            Incoming::Command { actor, command, answer } => {
                if command.mode() == Some(Mode::Bypass) {
                    // The consent may just have been given.
                    self.step(Input::RulesChanged(self.ctx.permissions.modes()));
                }
                match command {
                    Command::Quit => {
                        self.is_handing_over = false;
                        self.schedule_quit();
                    }
                    Command::HandOver { now } if self.quit_by.is_none() => {
                        self.is_handing_over = true;
                        if now {
                            self.schedule_quit();
                        }
                    }
                    _ => {}
                }
                self.on_unjudged_request(EngineRequest::Command { actor, command, answer });
            }
            Incoming::Judged(request) => self.on_request(request),
            Incoming::Query { query, answer } => self.on_request(EngineRequest::Query { query, answer }),
            Incoming::Profiles(profiles) => self.on_profiles_read(profiles),
            Incoming::Selected(profiles) => self.use_profiles(profiles),
            Incoming::Subscribe { answer } => {
                let watcher = self.ctx.feed.watch();
                self.startup_notices.iter().for_each(|notice| watcher.push(Update::Notice { notice: notice.clone() }));
                self.recurring.report_problems(&watcher);
                let _ = answer.send((self.snapshot(), watcher));
            }
            Incoming::AddSnapshot { slot, answer } => {
                slot.add(self.snapshot());
                let _ = answer.send(());
            }
            Incoming::Diff { task, diff, drift } => {
                self.machine.set_diff(task, diff, drift);
                self.publish_changes();
            }
            Incoming::ScanConflicts => self.scan_conflicts(),
            Incoming::Conflicts { pairs } => {
                self.on_conflicts(&pairs);
                self.publish_changes();
            }
            Incoming::Location { task, answer } => {
                let _ = answer.send(self.machine.location_of(task));
            }
            Incoming::SaveStates => self.save_states(),
            Incoming::PlansChanged => self.read_plans_soon(),
            Incoming::Plans(found) => self.on_plans_read(found),
            Incoming::Sessions(sessions) => self.on_sessions_read(sessions),
            Incoming::RecurringDue => self.recurring.stale = true,
            Incoming::Clients(clients) => {
                self.clients.clone_from(&clients);
                self.ctx.feed.publish(&Update::Clients { clients });
            }
            Incoming::QuitDeadline => self.over = true,
        }
    }

    /// Returns the current state. It is taken in the loop that publishes, so later updates continue exactly this.
    fn snapshot(&self) -> Snapshot {
        let (live, clients) = (self.live_turns.clone(), self.clients.clone());
        Snapshot { live, clients, ..self.machine.snapshot() }
    }

    fn step(&mut self, input: Input) {
        let span = tracing::debug_span!(
            "engine",
            project = %self.ctx.project.id,
            task = trace::task_of(&input).map(tracing::field::display),
            input = %trace::name_of(&input)
        );
        let _entered = span.enter();
        let started = Instant::now();
        let effects = self.machine.step(self.ctx.clock.now(), input);
        tracing::debug!(effects = %Variants(&effects), took = ?started.elapsed());
        effects.into_iter().for_each(|effect| self.perform(effect));
        self.publish_changes();
    }

    /// Publishes the tasks that changed since the last call.
    fn publish_changes(&mut self) {
        let (changed, removed) = self.machine.take_changes();
        self.recurring.on_tree_changed(&changed, &removed);
        for task in removed {
            self.live_turns.forget(task);
            self.ctx.feed.publish(&Update::Removed { task });
        }
        for task in changed {
            if let Some(view) = self.machine.view(task) {
                self.accounts.set_limit(task, view.node.budget);
                self.ctx.feed.publish(&Update::Task { task: Box::new(view) });
            }
        }
        let quiet = self.machine.is_quiet();
        if quiet && !self.quiet {
            self.ctx.feed.publish(&Update::Quiet);
        }
        self.quiet = quiet;
    }

    fn schedule_quit(&mut self) {
        let incoming = self.ctx.incoming.clone();
        let by = *self.quit_by.get_or_insert_with(|| Instant::now() + QUIT_LIMIT);
        tokio::spawn(async move {
            tokio::time::sleep_until(by).await;
            let _ = incoming.send(Incoming::QuitDeadline);
        });
    }

    /// Shuts everything down. The session of a run that did not stop in time is complete up to its last event.
    async fn shut_down(mut self) -> EngineEnd {
        self.end_sessions().await;
        let states = self.take_states();
        let Self { ctx, lock, runs, timers, diffs, conflict_scan, recurring, quit_by, is_handing_over, .. } = self;
        drop((runs, timers, diffs, conflict_scan, recurring));
        ctx.project_inbox.close();
        let now = Instant::now();
        let by = quit_by.unwrap_or(now + QUIT_LIMIT).max(now + SERVER_SHUTDOWN_LIMIT);
        let _ = tokio::time::timeout_at(by, ctx.pool.shutdown()).await;
        let at_exit = Arc::clone(&ctx);
        let _ = tokio::task::spawn_blocking(move || {
            // A process that survives would change files unobserved.
            process::kill_own(&at_exit.records);
            at_exit.store.close();
            states.save(&at_exit);
        })
        .await;
        ctx.feed.publish(if is_handing_over { &Update::Moved } else { &Update::Ended });
        drop(lock);
        if is_handing_over { EngineEnd::Moved } else { EngineEnd::Quit }
    }
}
