//! Opens a project: takes the lock, loads the store and the tree, cleans up after a crash and starts the engine.

use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex};

use tokio::sync::{mpsc, watch};

use crate::base::{Clock, Fault, IdSource, MicroUsd, TaskId};
use crate::config::paths::{Home, ProjectFolder, RepoFiles};
use crate::config::secret_places::SecretPaths;
use crate::config::settings::Durability as Wanted;
use crate::config::{Merged, ServerState};
use crate::engine::backend::registry::BackendTable;
use crate::engine::backend::{Backend, Backends};
use crate::engine::cross_project::ProjectInbox;
use crate::engine::driver::live::LiveBuffer;
use crate::engine::driver::models::{CommandLineChoice, Models};
use crate::engine::driver::recurring::{RecurringPlans, RecurringTasks};
use crate::engine::driver::setup::HookNotices;
use crate::engine::driver::tool_lists::ToolListFile;
use crate::engine::driver::{BegunSessions, Driver, EngineContext, Incoming};
use crate::engine::feed::Feed;
use crate::engine::handle::{Handle, Local};
use crate::engine::hooks::{ListedHooks, ProjectHooks};
use crate::engine::machine::{Approvals, EngineLimits, Input, Machine, ModeSettings, ProjectEnv, UnapprovedServer};
use crate::engine::permissions::{self as agent_permissions, Permissions};
use crate::engine::profiles::{self, Profiles};
use crate::engine::queries::Queries;
use crate::engine::secrets;
use crate::engine::settings_files::SettingsFiles;
use crate::engine::skills::SkillFolders;
use crate::engine::tool_door::ToolDoor;
use crate::engine::update::{Level, Notice};
use crate::engine::work_queries::{LazyReader, WorkReader};
use crate::git::conflict_scan::ConflictScanner;
use crate::git::merge::RecoveredMerge;
use crate::git::worktree::repair_links;
use crate::git::{self, AgentGit, OwnedWorktree, Worktrees};
use crate::model::Project;
use crate::model::event::{Body, TaskChanged};
use crate::model::task::{ROOT_PROFILE, Status, TaskNode};
use crate::model::tree::Tree;
use crate::model::work::{MergeRecord, MergeStrategy, Work};
use crate::permit::{Mode, Sandbox};
use crate::process::environment::GUARDED_MARKER;
use crate::process::{self, Environment};
use crate::provider::Provider;
use crate::store::state_cache::Summary;
use crate::store::tree_file::TreeFile;
use crate::store::writer::{Durability, Options as StoreOptions};
use crate::store::{EngineLock, RealDisk, Sessions, StateCache, Store, StoreError};
use crate::store::{permissions, replace};
use crate::tools::mcp::{self, Pool};

/// The title of the root until the user changes it.
const ROOT_TITLE: &str = "orchestrator";

pub struct EngineOptions {
    pub home: Home,
    pub project: Project,
    pub merged: Merged,
    /// Options from the command line. They apply to this invocation only.
    pub choice: CommandLineChoice,
    pub budget: Option<MicroUsd>,
    /// The permission mode of tasks that have none of their own, instead of that of the settings.
    pub mode: Option<Mode>,
    /// Launches nothing. Only messages and edits are stored.
    pub hold: bool,
    /// A scripted provider that replaces all others, for the demo.
    pub scripted: Option<Arc<dyn Provider>>,
    /// The backend that runs agents. `None` for the built-in agent.
    pub backend: Option<Arc<dyn Backend>>,
    pub clock: Arc<dyn Clock>,
    pub ids: IdSource,
}

/// Opens a project and starts its engine. Fails if another process has opened it.
pub async fn open(options: EngineOptions) -> Result<Handle, Fault> {
    let EngineOptions { home, project, merged, choice, budget, mode, hold, scripted, backend, clock, ids } = options;
    let folder = home.project(project.id);
    let lock = EngineLock::acquire(&folder.lock(), clock.now())?;
    permissions::tighten(&home, &folder);
    let (records, spill) = (folder.root().join("running"), folder.root().join("spill"));
    clean_up(&records, &spill).await;
    for place in [home.root(), folder.root(), &folder.sessions(), &folder.blobs()] {
        replace::sweep(&RealDisk, place);
    }

    let (incoming, inbox) = mpsc::unbounded_channel();
    let (agents, agent_requests) = mpsc::unbounded_channel();
    let live = Arc::new(LiveBuffer::default());
    let (watch_store, shown) = (incoming.clone(), Arc::clone(&live));
    let store_options = StoreOptions {
        disk: Arc::new(RealDisk),
        clock: Arc::clone(&clock),
        ids: ids.clone(),
        sessions: folder.sessions(),
        blobs: folder.blobs(),
        durability: match merged.settings.durability {
            Wanted::Sync => Durability::Sync,
            Wanted::Os => Durability::Os,
        },
    };
    let store = Store::start_watched(store_options, move |task, events| {
        let events = events.to_vec();
        shown.seal(task, |shown| drop(watch_store.send(Incoming::EventsSaved { task, shown, events })));
    })?;

    let mut tree_file = TreeFile::new(Arc::new(RealDisk), folder.tree());
    let tree = load_tree(&mut tree_file, store.sessions(), &ids, clock.as_ref())?;
    record_removals(&mut tree_file, &store).await?;
    record_numbers(&mut tree_file, &store, &tree).await?;
    let state_cache = StateCache::load(Arc::new(RealDisk), folder.digests());
    // The sessions and the repository are independent, so open both at once to save startup time.
    let (read, found) = tokio::join!(
        read_sessions(&store, &tree, &ids, state_cache),
        open_repository(&project, &folder, &records, &tree)
    );
    let ((mut summaries, state_cache), (worktrees, agent_git)) = (read?, found?);
    finish_merges(&worktrees, &store, &tree, &mut summaries, clock.as_ref()).await;

    let agent_policy = agent_permissions::active_policy(&merged, Sandbox::Absent).with_mode(mode);
    let hook_files =
        SettingsFiles { home: home.clone(), repository: Some(project.path.clone()), project: Some(project.id) };
    let hook_notice = ListedHooks::read(&hook_files, &merged).approval_notice();
    secrets::remember(&merged);
    let warns_of_root = !hold && secrets::are_exposed(&merged) && File::create_new(home.warned_of_root()).is_ok();
    let settings = merged.settings.clone();
    let mut models = Models::new(settings.clone(), choice, Arc::clone(&clock));
    if let Some(provider) = scripted {
        models = models.with_script(provider);
    }
    let servers = unapproved_servers(&merged);
    let tool_lists = Arc::new(ToolListFile::load(folder.tool_lists(), incoming.clone()));
    let names: Vec<String> = merged.servers.iter().map(|server| server.name.clone()).collect();
    let changed_tools = tool_lists.changes(&names);
    let pool = Pool::new(
        merged.servers,
        mcp::Options {
            root: project.path.clone(),
            logs: Some(folder.logs()),
            records: Some(records.clone()),
            environment: Environment::new().with(GUARDED_MARKER, home.guarded()),
            ids: ids.clone(),
            limits: mcp::Limits::default(),
            tool_lists: Some(Arc::clone(&tool_lists) as Arc<dyn mcp::ToolLists>),
        },
    );
    let project_inbox = ProjectInbox::new(home.clone(), project.clone(), ids.clone(), incoming.clone());
    let limits = EngineLimits {
        max_depth: settings.max_depth,
        max_tasks: settings.max_tasks,
        max_tasks_per_turn: settings.max_tasks_per_turn,
        max_running: settings.max_running,
        clarify_timeout: settings.clarify_timeout,
        budget: settings.budget,
        project_budget: budget,
        verify: settings.verify.clone(),
        review: settings.review,
        hold,
    };
    let model = models.root_model();
    let approvals = Approvals::new(&settings);
    let project_env = ProjectEnv {
        project: project.clone(),
        worktrees: folder.worktrees(),
        model,
        servers,
        approvals,
        changed_tools,
        modes: ModeSettings { usual: agent_policy.mode, bypass: agent_policy.bypass },
    };
    let profile_folders = profiles::ProfileFolders {
        user: home.agents(),
        project: Some((project.path.clone(), RepoFiles::new(&project.path).agents())),
    };
    let mut machine = Machine::new(tree, project_env, limits, ids.clone());
    let profiles = Profiles::load(&profile_folders, &settings.profile);
    let profile_faults = profiles.faults();
    machine.set_profiles(profiles);
    let skill_folders = SkillFolders { user: home.skills(), project: Some(project.path.clone()) };
    let secret_paths = SecretPaths::from_env().with_data_folder(&home, &folder).open(&project.path);
    let queries = Queries {
        home: home.clone(),
        project: project.clone(),
        settings: settings.clone(),
        clock: Arc::clone(&clock),
        reader: LazyReader::Open(Arc::new(WorkReader::new(worktrees.clone(), store.sessions().clone()))),
        sessions: store.sessions().clone(),
        blobs: store.blobs().clone(),
    };
    let agent_permissions = Arc::new(Permissions::new(queries.settings_files(), agent_policy, mode));
    let ctx = Arc::new(EngineContext {
        project,
        profiles: profile_folders,
        skills: skill_folders,
        secrets: secret_paths,
        protected_folders: home.guarded(),
        settings_files: queries.settings_files(),
        hook_notices: HookNotices::default(),
        hook_hint_mark: folder.hinted_at_hook(),
        settings,
        permissions: agent_permissions,
        hooks: ProjectHooks::new(queries.settings_files()),
        home: home.clone(),
        begun_sessions: BegunSessions::default(),
        store,
        tree_file: Mutex::new(tree_file),
        state_cache: Mutex::new(state_cache),
        worktrees,
        conflict_scanner: ConflictScanner::default(),
        agent_git,
        models,
        pool: Arc::new(pool),
        tool_lists,
        feed: Feed::default(),
        live,
        ids,
        clock,
        incoming: incoming.clone(),
        agents,
        records,
        spill,
        measure_permits: tokio::sync::Semaphore::new(1),
        project_inbox: project_inbox.clone(),
        tool_door: ToolDoor::new(folder.root()),
        agent_logs: folder.logs(),
    });
    let backends = match backend {
        Some(backend) => {
            machine.set_backends(BackendTable::single(backend.name(), backend.capabilities()));
            Backends::One(backend)
        }
        None => {
            machine.set_backends(BackendTable::of(&ctx.settings));
            Backends::Chosen(Arc::clone(&ctx))
        }
    };
    let (recurring, plans) = open_recurring(&ctx.project.path, hold, incoming.clone()).await;
    machine.set_timed(plans.timed());
    let (ended_sender, ended) = watch::channel(None);
    let heads = summaries.iter().filter_map(|(task, summary)| Some((*task, summary.head?))).collect();
    let sessions = summaries.into_iter().map(|(task, summary)| (task, summary.state)).collect();
    let mut startup_notices: Vec<Notice> =
        if hold { Vec::new() } else { other_branch_notice(&ctx.project).into_iter().chain(hook_notice).collect() };
    if warns_of_root {
        startup_notices.push(Notice { level: Level::Warning, text: secrets::ROOT_WARNING.to_owned(), task: None });
    }
    if !hold {
        let notice = |fault: Fault| Notice { level: Level::Error, text: fault.to_string(), task: None };
        startup_notices.extend(profile_faults.into_iter().map(notice));
    }
    let driver = Driver::new(machine, ctx, backends, lock, heads, recurring, startup_notices);
    tokio::spawn(async move {
        let end = driver.run(Input::Boot { sessions }, plans, inbox, agent_requests).await;
        let _ = ended_sender.send(Some(end));
    });
    project_inbox.open().await;
    Ok(Handle::new(Local { incoming, queries, ended }))
}

/// Warns if the checkout, in which the root works, is not on the base branch.
fn other_branch_notice(project: &Project) -> Option<Notice> {
    let branch = git::discover::RepoLocation::of(&project.path).ok()?.branch().ok()?;
    let base = &project.base_branch;
    let text = format!(
        "You are on {branch}, but tasks start from and merge into {base}. Switch to {base}, or set another base with `mxd init \
         --base BRANCH`."
    );
    (branch != *base).then_some(Notice { level: Level::Warning, text, task: None })
}

/// Returns the MCP servers of the repository that the user has not decided about.
fn unapproved_servers(merged: &Merged) -> Vec<UnapprovedServer> {
    let declined = &merged.settings.declined_mcp_servers;
    let waiting = merged.servers.iter().filter_map(|server| match &server.state {
        ServerState::NeedsApproval { hash } if !declined.contains(hash) => {
            Some(UnapprovedServer { name: server.name.clone(), hash: hash.clone(), entry: server.in_full() })
        }
        ServerState::NeedsApproval { .. } | ServerState::Active | ServerState::Disabled => None,
    });
    waiting.collect()
}

/// Kills processes that a crash left running, and deletes their output files.
async fn clean_up(records: &Path, spill: &Path) {
    let (records, spill) = (records.to_owned(), spill.to_owned());
    // If this fails, the next start tries again.
    let _ = tokio::task::spawn_blocking(move || {
        process::sweep(&records);
        let _ = std::fs::remove_dir_all(&spill);
    })
    .await;
}

/// Returns the tree. Creates and saves a new one for a new project. The caller must hold the lock.
pub fn load_tree(file: &mut TreeFile, sessions: &Sessions, ids: &IdSource, clock: &dyn Clock) -> Result<Tree, Fault> {
    if let Some(rebuilt) = file.load_beside(sessions)? {
        for note in &rebuilt.notes {
            tracing::warn!(note, "the tree was repaired");
        }
        for node in rebuilt.tree.all() {
            ids.observe(node.id.ulid());
        }
        for path in file.remove_unfinished(sessions)? {
            tracing::info!(path = %path.display(), "removed an unfinished session");
        }
        return Ok(rebuilt.tree);
    }
    let root = TaskNode {
        status: Status::Pending,
        ..TaskNode::new(TaskId::fresh(ids), ROOT_TITLE, ROOT_PROFILE, clock.now())
    };
    let tree = Tree::new(root);
    file.save(&tree)?;
    Ok(tree)
}

/// Records in the sessions of removed tasks that they were removed, if a killed process did not get that far.
async fn record_removals(file: &mut TreeFile, store: &Store) -> Result<(), Fault> {
    for task in file.unrecorded_removals(store.sessions())? {
        if let Err(error) = store.submit(task, None, vec![TaskChanged::Removed.into()]).await {
            // The next start tries again.
            tracing::warn!(%task, %error, "the removal of a task could not be recorded in its session");
            return Ok(());
        }
    }
    file.clear_removals();
    Ok(())
}

/// Records the numbers that tasks of an earlier version got in their sessions, then saves the tree with them. A crash in
/// between repeats it with the same numbers.
async fn record_numbers(file: &mut TreeFile, store: &Store, tree: &Tree) -> Result<(), Fault> {
    let numbered = file.unfinished_changes().numbered.clone();
    if numbered.is_empty() {
        return Ok(());
    }
    let nodes = numbered.iter().filter_map(|task| tree.get(*task)).cloned();
    // Together, so that the store saves them in few groups.
    let recorded = futures::future::join_all(
        nodes.map(|node| store.submit(node.id, None, vec![TaskChanged::Set { node: Box::new(node) }.into()])),
    );
    if let Some(error) = recorded.await.into_iter().find_map(Result::err) {
        // The next start tries again.
        tracing::warn!(%error, "the number of a task could not be recorded in its session");
        return Ok(());
    }
    file.clear_numbered();
    Ok(file.save(tree)?)
}

/// Returns the session states of all tasks, and the cache without useless entries.
async fn read_sessions(
    store: &Store,
    tree: &Tree,
    ids: &IdSource,
    mut state_cache: StateCache,
) -> Result<(Vec<(TaskId, Summary)>, StateCache), Fault> {
    let (sessions, ids) = (store.sessions().clone(), ids.clone());
    let tasks: Vec<TaskId> = tree.all().map(|node| node.id).collect();
    let read = tokio::task::spawn_blocking(move || {
        let summaries = state_cache.summaries(&sessions, &tasks)?;
        for head in summaries.iter().filter_map(|(_, summary)| summary.head) {
            ids.observe(head.ulid());
        }
        Ok::<_, StoreError>((summaries, state_cache))
    });
    Ok(read.await.map_err(|error| Fault::internal(error.to_string()))??)
}

/// Opens the recurring tasks. With `hold` there are none.
async fn open_recurring(
    top: &Path,
    hold: bool,
    incoming: mpsc::UnboundedSender<Incoming>,
) -> (RecurringTasks, RecurringPlans) {
    let (top, fallback) = (top.to_owned(), RecurringTasks::none(top));
    if hold {
        return (fallback, RecurringPlans::default());
    }
    let opened = tokio::task::spawn_blocking(move || RecurringTasks::open(&top, incoming));
    opened.await.unwrap_or_else(|_| (fallback, RecurringPlans::default()))
}

/// Opens the worktrees, removes what a killed process left there, and prepares git for agents.
async fn open_repository(
    project: &Project,
    folder: &ProjectFolder,
    records: &Path,
    tree: &Tree,
) -> Result<(Worktrees, AgentGit), Fault> {
    let failed = |error: git::Error| Fault::environment(error.to_string());
    let worktrees = Worktrees::open(&project.path, &folder.worktrees(), Some(records)).await.map_err(failed)?;
    let (common, place) = (worktrees.main().common.clone(), folder.worktrees());
    let repaired = tokio::task::spawn_blocking(move || repair_links(&common, &place)).await;
    if let Ok(Err(error)) = repaired {
        tracing::warn!(%error, "the links of worktrees could not be repaired");
    }
    let agent_git = AgentGit::prepare(worktrees.main(), &folder.root().join("hooks")).await.map_err(failed)?;
    if let Err(error) = worktrees.break_locks().await {
        tracing::warn!(%error, "locks that a killed process left could not be removed");
    }
    match worktrees.repair_torn_writes().await {
        Ok(repaired) if repaired.is_empty() => {}
        Ok(repaired) => tracing::warn!(?repaired, "half-written objects of a power loss were removed"),
        Err(error) => tracing::warn!(%error, "cannot check for half-written objects"),
    }
    if let Err(error) = worktrees.merge_memory_by_union().await {
        tracing::warn!(%error, "the project's memory will not merge by union");
    }
    finish_worktree_removals(&worktrees, tree).await;
    Ok((worktrees, agent_git))
}

/// Finishes worktree removals that the last process did not complete.
async fn finish_worktree_removals(worktrees: &Worktrees, tree: &Tree) {
    let known: Vec<OwnedWorktree> = tree
        .all()
        .filter_map(|node| Some(OwnedWorktree { path: node.worktree.clone()?, branch: node.branch.clone()? }))
        .collect();
    if let Err(error) = worktrees.tidy(&known).await {
        tracing::warn!(%error, "interrupted worktree removals could not be finished");
    }
    let _ = worktrees.empty_trash().await;
}

/// Finishes or undoes merges that a crash interrupted, and records merges that the sessions do not know. The machine
/// gets the appended events like any others.
async fn finish_merges(
    worktrees: &Worktrees,
    store: &Store,
    tree: &Tree,
    summaries: &mut [(TaskId, Summary)],
    clock: &dyn Clock,
) {
    match worktrees.recover_merges().await {
        Ok(recovered) => recovered.iter().for_each(|recovered| match recovered {
            RecoveredMerge::Undone { task } => tracing::info!(%task, "an interrupted merge was undone"),
            RecoveredMerge::Finished { task, .. } => tracing::info!(%task, "an interrupted merge was finished"),
            RecoveredMerge::Blocked { task, checkout, files } => {
                tracing::warn!(%task, ?checkout, ?files, "a merge was interrupted and files were changed since");
            }
        }),
        Err(error) => tracing::warn!(%error, "interrupted merges could not be recovered"),
    }
    let undoable = match worktrees.undoable_merges().await {
        Ok(undoable) => undoable,
        Err(error) => return tracing::warn!(%error, "merges that can be undone could not be listed"),
    };
    for node in tree.all() {
        let mut work = summaries.iter_mut().find(|(task, _)| *task == node.id).map(|(_, found)| &mut found.state.work);
        let recorded = work.as_ref().and_then(|work| work.last_merge.clone());
        let known = undoable.iter().find(|known| known.task == node.id);
        let at = clock.now();
        let mut bodies: Vec<Body> = Vec::new();
        if let Some(recorded) =
            recorded.as_ref().filter(|recorded| known.is_none_or(|known| known.undo != recorded.undo))
        {
            bodies.push(Work::MergeUndone { undo: recorded.undo.clone(), at }.into());
        }
        if let Some(known) = known.filter(|known| recorded.as_ref().is_none_or(|recorded| recorded.undo != known.undo))
        {
            let (target, from, to, undo) =
                (known.target.clone(), known.from.clone(), known.to.clone(), known.undo.clone());
            let merge = MergeRecord { target, how: MergeStrategy::Merge, from, to, undo, at };
            bodies.push(Work::Merged { merge }.into());
            // The machine boots with the state that was read before. It must not repeat this merge.
            if let Some(work) = &mut work {
                work.queued = None;
            }
        }
        if !bodies.is_empty()
            && let Err(error) = store.submit(node.id, None, bodies).await
        {
            tracing::warn!(task = %node.id, %error, "a merge could not be recorded in the session");
        }
    }
}
