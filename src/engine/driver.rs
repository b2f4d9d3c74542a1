//! Carries out what the machine decides: appends, saves the tree, starts and reaches runs, makes and clears worktrees.
//!
//! One task owns the machine. Everything that waits is a task of its own and comes back as an input; everything that
//! the store acknowledges comes in disk order. The driver decides nothing: where something has to be decided, it asks
//! the machine.

mod accounts;
mod asking;
mod digesting;
mod done_check;
pub(in crate::engine) mod effects;
mod files;
mod launch;
pub(in crate::engine) mod live;
pub mod models;
pub(in crate::engine) mod rounds;
pub(in crate::engine) mod setup;
mod snapshots;
pub(in crate::engine) mod tool_lists;
mod trace;
mod verifying;
mod watching;
mod working;

pub(in crate::engine) use launch::{notify, ready_mark, refused_by_store};
pub(in crate::engine) use setup::is_ready_mark;
pub use snapshots::Snapshots;

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
use crate::config::Settings;
use crate::config::secret_places::SecretPlaces;
use crate::engine::agent_port::AgentRequest;
use crate::engine::backend::Backend;
use crate::engine::command::{Actor, Command, CommandId, Outcome};
use crate::engine::feed::{Feed, Watcher};
use crate::engine::machine::{Input, Machine, Timer};
use crate::engine::post::PostOffice;
use crate::engine::profiles::{self, Profiles};
use crate::engine::query::{TreeAnswer, TreeQuery};
use crate::engine::reading::Spot;
use crate::engine::review::Drift;
use crate::engine::settings_files::SettingsFiles;
use crate::engine::snapshot::{DiffStat, Snapshot};
use crate::engine::update::{Notice, Update};
use crate::git::radar::Radar;
use crate::git::{AgentGit, Worktrees};
use crate::model::ask::Approval;
use crate::model::event::Event;
use crate::model::fold::SessionState;
use crate::model::run::RunCommand;
use crate::model::{Live, Project};
use crate::process::environment::{GUARDED_MARKER, TASK_MARKER};
use crate::process::{self, Environment};
use crate::store::tree_file::TreeFile;
use crate::store::{Digests, EngineLock, Store};
use crate::tools::mcp::Pool;
use accounts::Accounts;
use asking::{Asked, Asking};
use digesting::Digesting;
use live::{Heard, LiveBuffer};
use models::Models;
use rounds::{Found, Rounds};
use tool_lists::ToolListFile;
use watching::Sweep;

/// How long everything may take to stop before it is ended. What is on the disk is whole at every moment.
const QUIT_LIMIT: Duration = Duration::from_millis(600);
/// How long tool servers get even if the agents took all of that.
const LAST_MOMENT: Duration = Duration::from_millis(50);

/// What reaches the driver.
pub(in crate::engine) enum Incoming {
    Input(Input),
    /// The store has these, in the order of the disk.
    Kept {
        task: TaskId,
        /// Streamed output from before the events that watchers have not seen yet.
        shown: Vec<Live>,
        events: Vec<Arc<Event>>,
    },
    /// A run shows something: it waits in the buffer.
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
    Look {
        answer: oneshot::Sender<(Snapshot, Watcher)>,
    },
    Diff {
        task: TaskId,
        diff: Option<DiffStat>,
        drift: Option<Drift>,
    },
    /// It is time to compare branches.
    Sweep,
    /// Tasks whose branches would conflict, and about which files.
    Clashes {
        pairs: Vec<(TaskId, TaskId, Vec<String>)>,
    },
    /// Somebody wants to read a task's work.
    Spot {
        task: TaskId,
        answer: oneshot::Sender<Result<Spot, Fault>>,
    },
    /// It is time to keep what the sessions add up to.
    Digest,
    /// Files of recurring tasks are not what they were.
    PlansChanged,
    Plans(Found),
    /// What the sessions of tasks add up to that are planned and not in the tree.
    Sessions(Vec<(TaskId, SessionState)>),
    /// The profiles as they are now. Nothing: they could not be read.
    Profiles(Option<Profiles>),
    /// A recurring task may be due.
    ComeRound,
    /// Whoever has not stopped by now is left behind.
    TimeIsUp,
}

/// What everything that is carried out needs.
pub(in crate::engine) struct Parts {
    pub(in crate::engine) project: Project,
    pub(in crate::engine) settings: Settings,
    pub(in crate::engine) store: Store,
    pub(in crate::engine) tree_file: std::sync::Mutex<TreeFile>,
    pub(in crate::engine) digests: std::sync::Mutex<Digests>,
    pub(in crate::engine) worktrees: Worktrees,
    pub(in crate::engine) radar: Radar,
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
    /// The records of running processes, and the output of commands while it grows.
    pub(in crate::engine) records: PathBuf,
    pub(in crate::engine) spill: PathBuf,
    /// Whether the user was told that the setup hook is not committed, or leaves files.
    pub(in crate::engine) hook_notices: setup::HookNotices,
    /// There if the person was told of the setup hook.
    pub(in crate::engine) hinted: PathBuf,
    /// Where profiles are looked for.
    pub(in crate::engine) profiles: profiles::Folders,
    /// Files that no agent may read.
    pub(in crate::engine) secrets: SecretPlaces,
    /// The data folders that processes of agents must not change, as a list of paths.
    pub(in crate::engine) guarded: std::ffi::OsString,
    /// Whose turn it is to measure a worktree.
    pub(in crate::engine) measuring: tokio::sync::Semaphore,
    /// Other projects, as the root may speak to them.
    pub(in crate::engine) post: PostOffice,
}

impl Parts {
    /// Reads the profiles as they are now.
    pub(in crate::engine) fn profiles(&self) -> Profiles {
        Profiles::load(&self.profiles, &self.settings.profile)
    }

    /// Returns the environment of everything that is started for a task, marked so that it can be found and told apart
    /// from what the user starts.
    pub(in crate::engine) fn environment(&self, task: TaskId) -> Environment {
        Environment::new().with(TASK_MARKER, task.to_string()).with(GUARDED_MARKER, &self.guarded)
    }

    pub(in crate::engine) fn send(&self, input: Input) {
        // Nobody listens only when everything is over.
        let _ = self.incoming.send(Incoming::Input(input));
    }
}

/// A run, as the driver reaches it.
struct Running {
    inbox: mpsc::UnboundedSender<RunCommand>,
    cancel: CancellationToken,
    _task: AbortOnDropHandle<()>,
}

pub(in crate::engine) struct Driver {
    pub(in crate::engine) machine: Machine,
    pub(in crate::engine) parts: Arc<Parts>,
    backend: Arc<dyn Backend>,
    pub(in crate::engine) lock: EngineLock,
    runs: BTreeMap<TaskId, Running>,
    /// What the machine has heard of what runs show.
    heard: BTreeMap<TaskId, Heard>,
    replies: BTreeMap<CommandId, oneshot::Sender<Result<Outcome, Fault>>>,
    timers: BTreeMap<Timer, AbortOnDropHandle<()>>,
    accounts: Accounts,
    diffs: BTreeMap<TaskId, AbortOnDropHandle<()>>,
    sweep: Sweep,
    digesting: Digesting,
    rounds: Rounds,
    asking: Asking,
    /// What everybody who looks is told first.
    briefing: Vec<Notice>,
    /// How many commands have been passed to the machine.
    numbers: u64,
    quiet: bool,
    /// When everything is to have stopped. Nothing: nobody has asked for that.
    quit_by: Option<Instant>,
    over: bool,
}

impl Driver {
    /// `heads` are the last events of the sessions that the machine is going to be told of.
    pub(in crate::engine) fn new(
        machine: Machine,
        parts: Arc<Parts>,
        backend: Arc<dyn Backend>,
        lock: EngineLock,
        heads: BTreeMap<TaskId, EventId>,
        rounds: Rounds,
        briefing: Vec<Notice>,
    ) -> Self {
        Self {
            machine,
            parts,
            backend,
            lock,
            runs: BTreeMap::new(),
            heard: BTreeMap::new(),
            replies: BTreeMap::new(),
            timers: BTreeMap::new(),
            accounts: Accounts::default(),
            diffs: BTreeMap::new(),
            sweep: Sweep::Idle,
            digesting: Digesting::new(heads),
            rounds,
            asking: Asking::default(),
            briefing,
            numbers: 0,
            quiet: false,
            quit_by: None,
            over: false,
        }
    }

    pub(in crate::engine) async fn live(
        mut self,
        boot: Input,
        plans: Found,
        mut incoming: mpsc::UnboundedReceiver<Incoming>,
        mut agents: mpsc::UnboundedReceiver<AgentRequest>,
    ) {
        self.step(boot);
        self.measure_all();
        self.begin_rounds(plans).await;
        while !self.over {
            if self.rounds.stale {
                self.come_round();
            }
            tokio::select! {
                biased;
                Some(incoming) = incoming.recv() => self.take(incoming),
                Some(request) = agents.recv() => self.asked(request.into()),
                else => break,
            }
        }
        self.finish().await;
    }

    fn take(&mut self, incoming: Incoming) {
        match incoming {
            Incoming::Input(input) => {
                if let Input::RunOver { task, .. } | Input::LaunchFailed { task, .. } = &input {
                    self.runs.remove(task);
                    self.heard.remove(task);
                    self.measure(*task);
                    self.digest_soon();
                }
                if let Input::Timer { timer } = &input {
                    self.timers.remove(timer);
                }
                let decided = match &input {
                    Input::Decided { decision, .. } => Some((decision.task, decision.approval.clone())),
                    _ => None,
                };
                self.step(input);
                if let Some((task, Approval::RecurringTask { .. })) = decided {
                    self.rounds.decided(task);
                }
            }
            Incoming::Kept { task, shown, events } => {
                self.tell_live(task, shown);
                self.digesting.moved(task, &events);
                for event in events {
                    self.parts.feed.tell(&Update::Event { task, event: Arc::clone(&event) });
                    self.noticed(task, &event);
                    self.step(Input::Observed { task, event });
                }
            }
            Incoming::Live { task, batch } => self.tell_batch(task, batch),
            Incoming::Command { command: Command::Files(command), answer, .. } => self.file_command(command, answer),
            Incoming::Command { actor, command, answer } => {
                if matches!(command, Command::Quit) {
                    self.end_soon();
                }
                self.asked(Asked::Command { actor, command, answer });
            }
            Incoming::Query { query, answer } => self.asked(Asked::Query { query, answer }),
            Incoming::Profiles(profiles) => self.profiles_read(profiles),
            Incoming::Look { answer } => {
                let watcher = self.parts.feed.watch();
                self.briefing.iter().for_each(|notice| watcher.tell(Update::Notice { notice: notice.clone() }));
                self.rounds.brief(&watcher);
                let _ = answer.send((self.machine.snapshot(), watcher));
            }
            Incoming::Diff { task, diff, drift } => {
                self.machine.set_diff(task, diff, drift);
                self.show();
            }
            Incoming::Sweep => self.sweep(),
            Incoming::Clashes { pairs } => {
                self.swept(&pairs);
                self.show();
            }
            Incoming::Spot { task, answer } => {
                let _ = answer.send(self.machine.spot_of(task));
            }
            Incoming::Digest => self.digest(),
            Incoming::PlansChanged => self.read_plans_soon(),
            Incoming::Plans(found) => self.plans_read(found),
            Incoming::Sessions(sessions) => self.sessions_read(sessions),
            Incoming::ComeRound => self.rounds.stale = true,
            Incoming::TimeIsUp => self.over = true,
        }
    }

    fn step(&mut self, input: Input) {
        let span = tracing::debug_span!(
            "engine",
            project = %self.parts.project.id,
            task = trace::task_of(&input).map(tracing::field::display),
            input = %trace::name_of(&input)
        );
        let _entered = span.enter();
        let begun = Instant::now();
        let effects = self.machine.step(self.parts.clock.now(), input);
        tracing::debug!(effects = %Variants(&effects), took = ?begun.elapsed());
        effects.into_iter().for_each(|effect| self.perform(effect));
        self.show();
    }

    /// Tells those who watch what looks different.
    fn show(&mut self) {
        let (changed, removed) = self.machine.take_changes();
        self.rounds.noticed(&changed, &removed);
        for task in removed {
            self.parts.feed.tell(&Update::Removed { task });
        }
        for task in changed {
            if let Some(view) = self.machine.view(task) {
                self.accounts.limit(task, view.node.budget);
                self.parts.feed.tell(&Update::Task { task: Box::new(view) });
            }
        }
        let quiet = self.machine.is_quiet();
        if quiet && !self.quiet {
            self.parts.feed.tell(&Update::Quiet);
        }
        self.quiet = quiet;
    }

    fn end_soon(&mut self) {
        let incoming = self.parts.incoming.clone();
        let by = *self.quit_by.get_or_insert_with(|| Instant::now() + QUIT_LIMIT);
        tokio::spawn(async move {
            tokio::time::sleep_until(by).await;
            let _ = incoming.send(Incoming::TimeIsUp);
        });
    }

    /// Lets go of everything. What had not stopped is on the disk up to its last event.
    async fn finish(mut self) {
        let digest = self.take_digest();
        let Self { parts, lock, runs, timers, diffs, sweep, rounds, quit_by, .. } = self;
        drop((runs, timers, diffs, sweep, rounds));
        parts.post.close();
        let now = Instant::now();
        let by = quit_by.unwrap_or(now + QUIT_LIMIT).max(now + LAST_MOMENT);
        let _ = tokio::time::timeout_at(by, parts.pool.shutdown()).await;
        let keeper = Arc::clone(&parts);
        let _ = tokio::task::spawn_blocking(move || {
            // They were asked to end. What goes on all the same would change files while nobody looks.
            process::end_own(&keeper.records);
            keeper.store.close();
            digest.keep(&keeper);
        })
        .await;
        parts.feed.tell(&Update::Ended);
        drop(lock);
    }
}
