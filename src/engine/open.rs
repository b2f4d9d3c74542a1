//! Opening a project for work: the lock, the store, the tree, what a crash left behind; then the engine runs.

use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex};

use tokio::sync::{mpsc, watch};

use crate::base::{Clock, Fault, IdSource, MicroUsd, TaskId};
use crate::config::paths::{Home, ProjectFolder, RepoFiles};
use crate::config::secret_places::SecretPlaces;
use crate::config::settings::Durability as Wanted;
use crate::config::{Merged, ServerState};
use crate::engine::backend::{Backend, Native};
use crate::engine::driver::live::LiveBuffer;
use crate::engine::driver::models::{Choice, Models};
use crate::engine::driver::rounds::{Found, Rounds};
use crate::engine::driver::setup::HookNotices;
use crate::engine::driver::tool_lists::ToolListFile;
use crate::engine::driver::{Driver, Incoming, Parts};
use crate::engine::feed::Feed;
use crate::engine::handle::{Handle, Local};
use crate::engine::machine::{Approvals, Ground, Input, Limits, Machine, Unapproved};
use crate::engine::post::PostOffice;
use crate::engine::profiles::{self, Profiles};
use crate::engine::queries::Queries;
use crate::engine::reading::{LazyReader, Reader};
use crate::engine::secrets;
use crate::engine::update::{Level, Notice};
use crate::git::merge::Recovered;
use crate::git::radar::Radar;
use crate::git::worktree::repair_links;
use crate::git::{self, AgentGit, Known, Worktrees};
use crate::model::Project;
use crate::model::event::{Body, TaskChanged};
use crate::model::task::{ROOT_PROFILE, Status, TaskNode};
use crate::model::tree::Tree;
use crate::model::work::{How, Landing, Work};
use crate::process::environment::GUARDED_MARKER;
use crate::process::{self, Environment};
use crate::provider::Provider;
use crate::store::digest::Summary;
use crate::store::tree_file::TreeFile;
use crate::store::writer::{Durability, Options as StoreOptions};
use crate::store::{Digests, EngineLock, RealDisk, Sessions, Store, StoreError};
use crate::store::{private, replace};
use crate::tools::mcp::{self, Pool};

/// What the root is called until the person says otherwise.
const ROOT_TITLE: &str = "orchestrator";

/// Everything an engine needs to know.
pub struct Options {
    pub home: Home,
    pub project: Project,
    pub merged: Merged,
    /// What the person said on the command line, for this time only.
    pub choice: Choice,
    pub budget: Option<MicroUsd>,
    /// Nothing is launched: only what is said and changed is kept.
    pub hold: bool,
    /// One scripted provider for everything: the demo's.
    pub scripted: Option<Arc<dyn Provider>>,
    /// What works on tasks. Nothing: our own agent.
    pub backend: Option<Arc<dyn Backend>>,
    pub clock: Arc<dyn Clock>,
    pub ids: IdSource,
}

/// Opens a project and starts its engine. Fails if another process has it.
pub async fn open(options: Options) -> Result<Handle, Fault> {
    let Options { home, project, merged, choice, budget, hold, scripted, backend, clock, ids } = options;
    let folder = home.project(project.id);
    let lock = EngineLock::acquire(&folder.lock(), clock.now())?;
    private::tighten(&home, &folder);
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
        shown.seal(task, |shown| drop(watch_store.send(Incoming::Kept { task, shown, events })));
    })?;

    let mut tree_file = TreeFile::new(Arc::new(RealDisk), folder.tree());
    let tree = load_tree(&mut tree_file, store.sessions(), &ids, clock.as_ref())?;
    settle_removals(&mut tree_file, &store).await?;
    let digests = Digests::load(Arc::new(RealDisk), folder.digests());
    // The sessions and the repository know nothing of each other, and a person waits for both.
    let (read, found) =
        tokio::join!(read_sessions(&store, &tree, &ids, digests), open_repository(&project, &folder, &records, &tree));
    let ((mut summaries, digests), (worktrees, agent_git)) = (read?, found?);
    settle_landings(&worktrees, &store, &tree, &mut summaries, clock.as_ref()).await;

    secrets::remember(&merged);
    let warns_of_root = !hold && secrets::are_exposed(&merged) && File::create_new(home.warned_of_root()).is_ok();
    let settings = merged.settings.clone();
    let mut models = Models::new(settings.clone(), choice, Arc::clone(&clock));
    if let Some(provider) = scripted {
        models = models.scripted(provider);
    }
    let servers = unapproved(&merged);
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
    let post = PostOffice::new(home.clone(), project.clone(), ids.clone(), incoming.clone());
    let limits = Limits {
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
    let model = models.of_root();
    let approvals = Approvals::new(&settings);
    let ground =
        Ground { project: project.clone(), worktrees: folder.worktrees(), model, servers, approvals, changed_tools };
    let profile_folders = profiles::Folders {
        user: home.agents(),
        project: Some((project.path.clone(), RepoFiles::new(&project.path).agents())),
    };
    let mut machine = Machine::new(tree, ground, limits, ids.clone());
    machine.set_profiles(Profiles::load(&profile_folders, &settings.profile));
    let places = SecretPlaces::from_env().with_data_folder(&home, &folder).open(&project.path);
    let queries = Queries {
        home: home.clone(),
        project: project.clone(),
        settings: settings.clone(),
        clock: Arc::clone(&clock),
        reader: LazyReader::Open(Arc::new(Reader::new(worktrees.clone(), store.sessions().clone()))),
        sessions: store.sessions().clone(),
        blobs: store.blobs().clone(),
    };
    let parts = Arc::new(Parts {
        project,
        profiles: profile_folders,
        secrets: places,
        guarded: home.guarded(),
        settings_files: queries.settings_files(),
        hook_notices: HookNotices::default(),
        hinted: folder.hinted_at_hook(),
        settings,
        store,
        tree_file: Mutex::new(tree_file),
        digests: Mutex::new(digests),
        worktrees,
        radar: Radar::default(),
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
        measuring: tokio::sync::Semaphore::new(1),
        post: post.clone(),
    });
    let backend = backend.unwrap_or_else(|| Arc::new(Native(Arc::clone(&parts))));
    machine.set_backend(backend.name(), backend.capabilities());
    let (rounds, plans) = open_rounds(&parts.project.path, hold, incoming.clone()).await;
    machine.set_timed(plans.timed());
    let (ended, over) = watch::channel(false);
    let heads = summaries.iter().filter_map(|(task, summary)| Some((*task, summary.head?))).collect();
    let sessions = summaries.into_iter().map(|(task, summary)| (task, summary.state)).collect();
    let mut briefing: Vec<Notice> = if hold { Vec::new() } else { elsewhere(&parts.project).into_iter().collect() };
    if warns_of_root {
        briefing.push(Notice { level: Level::Warning, text: secrets::ROOT_WARNING.to_owned(), task: None });
    }
    let driver = Driver::new(machine, parts, backend, lock, heads, rounds, briefing);
    tokio::spawn(async move {
        driver.live(Input::Boot { sessions }, plans, inbox, agent_requests).await;
        let _ = ended.send(true);
    });
    post.open().await;
    Ok(Handle::new(Local { incoming, queries, over }))
}

/// Says where work goes if the checkout, in which the root works, is on another branch.
fn elsewhere(project: &Project) -> Option<Notice> {
    let branch = git::place::Place::of(&project.path).ok()?.branch().ok()?;
    let base = &project.base_branch;
    let text = format!(
        "you are on {branch}, and work starts from and goes to {base}: switch to it, or name another base with `mxd init \
         --base BRANCH`"
    );
    (branch != *base).then_some(Notice { level: Level::Warning, text, task: None })
}

/// Returns the tool servers that the repository asks for and the person has not decided about.
fn unapproved(merged: &Merged) -> Vec<Unapproved> {
    let declined = &merged.settings.declined_mcp_servers;
    let waiting = merged.servers.iter().filter_map(|server| match &server.state {
        ServerState::NeedsApproval { hash } if !declined.contains(hash) => {
            Some(Unapproved { name: server.name.clone(), hash: hash.clone(), entry: server.in_full() })
        }
        ServerState::NeedsApproval { .. } | ServerState::Active | ServerState::Disabled => None,
    });
    waiting.collect()
}

/// Ends what a crash left running and forgets the output it was writing.
async fn clean_up(records: &Path, spill: &Path) {
    let (records, spill) = (records.to_owned(), spill.to_owned());
    // Nothing of it is needed; what cannot be removed now is removed at the next start.
    let _ = tokio::task::spawn_blocking(move || {
        process::sweep(&records);
        let _ = std::fs::remove_dir_all(&spill);
    })
    .await;
}

/// Returns the tree. A project's first one is saved before anything refers to it. The caller holds the lock.
pub fn load_tree(file: &mut TreeFile, sessions: &Sessions, ids: &IdSource, clock: &dyn Clock) -> Result<Tree, Fault> {
    if let Some(rebuilt) = file.load_beside(sessions)? {
        for note in &rebuilt.notes {
            tracing::warn!(note, "the tree was put in order");
        }
        for node in rebuilt.tree.all() {
            ids.observe(node.id.ulid());
        }
        for path in file.remove_unfinished(sessions)? {
            tracing::info!(path = %path.display(), "a session was removed that an import or a change left unfinished");
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

/// Says in the sessions of removed tasks that they were removed, where a killed process did not come to that.
async fn settle_removals(file: &mut TreeFile, store: &Store) -> Result<(), Fault> {
    for task in file.untold_removals(store.sessions())? {
        if let Err(error) = store.submit(task, None, vec![TaskChanged::Removed.into()]).await {
            // The next start tries again.
            tracing::warn!(%task, %error, "a session could not be told that its task was removed");
            return Ok(());
        }
    }
    file.removals_settled();
    Ok(())
}

/// Returns what the sessions of all tasks add up to, and the digests without those that turned out to be of no use.
async fn read_sessions(
    store: &Store,
    tree: &Tree,
    ids: &IdSource,
    mut digests: Digests,
) -> Result<(Vec<(TaskId, Summary)>, Digests), Fault> {
    let (sessions, ids) = (store.sessions().clone(), ids.clone());
    let tasks: Vec<TaskId> = tree.all().map(|node| node.id).collect();
    let read = tokio::task::spawn_blocking(move || {
        let summaries = digests.summaries(&sessions, &tasks)?;
        for head in summaries.iter().filter_map(|(_, summary)| summary.head) {
            ids.observe(head.ulid());
        }
        Ok::<_, StoreError>((summaries, digests))
    });
    Ok(read.await.map_err(|error| Fault::internal(error.to_string()))??)
}

/// Returns what is known of recurring tasks. Where nothing is launched, nothing comes round.
async fn open_rounds(top: &Path, hold: bool, incoming: mpsc::UnboundedSender<Incoming>) -> (Rounds, Found) {
    let (top, fallback) = (top.to_owned(), Rounds::none(top));
    if hold {
        return (fallback, Found::default());
    }
    let opened = tokio::task::spawn_blocking(move || Rounds::open(&top, incoming));
    opened.await.unwrap_or_else(|_| (fallback, Found::default()))
}

/// Returns the worktrees, without what a killed process left there, and what agents are to know of git.
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
        tracing::warn!(%error, "the links of worktrees could not be looked at");
    }
    let agent_git = AgentGit::prepare(worktrees.main(), &folder.root().join("hooks")).await.map_err(failed)?;
    if let Err(error) = worktrees.break_locks().await {
        tracing::warn!(%error, "locks that a killed process left could not be removed");
    }
    match worktrees.mend_torn().await {
        Ok(mended) if mended.is_empty() => {}
        Ok(mended) => tracing::warn!(?mended, "what a loss of power had left half written was taken away"),
        Err(error) => tracing::warn!(%error, "whether objects were left half written could not be found out"),
    }
    if let Err(error) = worktrees.merge_memory_by_union().await {
        tracing::warn!(%error, "the project's memory will not merge by union");
    }
    tidy(&worktrees, tree).await;
    Ok((worktrees, agent_git))
}

/// Finishes what was being taken away when the last process ended.
async fn tidy(worktrees: &Worktrees, tree: &Tree) {
    let known: Vec<Known> = tree
        .all()
        .filter_map(|node| Some(Known { path: node.worktree.clone()?, branch: node.branch.clone()? }))
        .collect();
    if let Err(error) = worktrees.tidy(&known).await {
        tracing::warn!(%error, "worktrees could not be tidied");
    }
    let _ = worktrees.empty_trash().await;
}

/// Finishes or undoes landings that a crash interrupted, and says in the sessions what the repository knows and they do
/// not. What is appended here reaches the machine like any other event.
async fn settle_landings(
    worktrees: &Worktrees,
    store: &Store,
    tree: &Tree,
    summaries: &mut [(TaskId, Summary)],
    clock: &dyn Clock,
) {
    match worktrees.recover_landings().await {
        Ok(recovered) => recovered.iter().for_each(|recovered| match recovered {
            Recovered::Undone { task } => tracing::info!(%task, "a merge that had not happened yet was undone"),
            Recovered::Finished { task, .. } => tracing::info!(%task, "a merge that was interrupted was finished"),
            Recovered::Unsettled { task, checkout, files } => {
                tracing::warn!(%task, ?checkout, ?files, "a merge was interrupted and files were changed since");
            }
        }),
        Err(error) => tracing::warn!(%error, "interrupted merges could not be looked at"),
    }
    let undoable = match worktrees.undoable().await {
        Ok(undoable) => undoable,
        Err(error) => return tracing::warn!(%error, "merges that can be undone could not be listed"),
    };
    for node in tree.all() {
        let mut work = summaries.iter_mut().find(|(task, _)| *task == node.id).map(|(_, found)| &mut found.state.work);
        let said = work.as_ref().and_then(|work| work.landing.clone());
        let known = undoable.iter().find(|known| known.task == node.id);
        let at = clock.now();
        let mut bodies: Vec<Body> = Vec::new();
        if let Some(said) = said.as_ref().filter(|said| known.is_none_or(|known| known.undo != said.undo)) {
            bodies.push(Work::LandingUndone { undo: said.undo.clone(), at }.into());
        }
        if let Some(known) = known.filter(|known| said.as_ref().is_none_or(|said| said.undo != known.undo)) {
            let (target, from, to, undo) =
                (known.target.clone(), known.from.clone(), known.to.clone(), known.undo.clone());
            let landing = Landing { target, how: How::Merge, from, to, undo, at };
            bodies.push(Work::Landed { landing }.into());
            // The machine starts with what was read before: it must not make this merge again.
            if let Some(work) = &mut work {
                work.queued = None;
            }
        }
        if !bodies.is_empty()
            && let Err(error) = store.submit(node.id, None, bodies).await
        {
            tracing::warn!(task = %node.id, %error, "a merge could not be noted in the session");
        }
    }
}
