//! A project that another process works on, to be looked at: its tree and its sessions as they are on the disk, read again
//! whenever they change. Nothing is written, nobody is disturbed, and whoever wants something done is told who has it.
//!
//! What agents stream is not on the disk, so it is not seen here; what they have said and done is.

mod sight;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::{mpsc, watch};

use crate::base::{Fault, SystemClock};
use crate::config::Settings;
use crate::config::paths::Home;
use crate::engine::command::{Command, Outcome};
use crate::engine::driver::Incoming;
use crate::engine::feed::Feed;
use crate::engine::handle::{Handle, Local};
use crate::engine::queries::Queries;
use crate::engine::reading::Reader;
use crate::engine::update::Update;
use crate::git::Worktrees;
use crate::model::Project;
use crate::store::lock::LockError;
use crate::store::{Blobs, EngineLock, RealDisk, Sessions};
use sight::Sight;

/// How long changes are gathered: an agent at work writes many small ones.
const GATHER: Duration = Duration::from_millis(150);

/// Opens a project for looking only.
pub async fn look_on(home: &Home, project: Project, settings: &Settings) -> Result<Handle, Fault> {
    let folder = home.project(project.id);
    let sessions = Sessions::new(Arc::new(RealDisk), folder.sessions());
    let blobs = Blobs::new(Arc::new(RealDisk), folder.blobs());
    let git = |error: crate::git::Error| Fault::environment(error.to_string());
    let worktrees = Worktrees::open(&project.path, &folder.worktrees(), None).await.map_err(git)?;
    // Before the first look: what changes in between is seen a second time, and not missed.
    let (changed, news) = mpsc::unbounded_channel();
    let watcher = watch_folders(&[folder.root(), &folder.sessions()], changed);
    let queries = Queries {
        home: home.clone(),
        project: project.clone(),
        settings: settings.clone(),
        clock: Arc::new(SystemClock),
        reader: Reader::looking(worktrees, sessions.clone()),
        sessions: sessions.clone(),
        blobs,
    };
    let (sessions_read, settings) = (sessions, settings.clone());
    let (tree, digests) = (folder.tree(), folder.digests());
    let sight = blocking(move || Sight::new(project, settings, tree, digests, sessions_read)).await??;
    let (incoming, inbox) = mpsc::unbounded_channel();
    let (ended, over) = watch::channel(false);
    let onlooker = Onlooker { sight: Arc::new(Mutex::new(sight)), feed: Feed::default(), lock: folder.lock() };
    tokio::spawn(async move {
        let _watcher = watcher;
        onlooker.live(inbox, news).await;
        let _ = ended.send(true);
    });
    Ok(Handle::new(Local { incoming, queries, over }))
}

struct Onlooker {
    /// Looked through on a thread that may wait for the disk.
    sight: Arc<Mutex<Sight>>,
    feed: Feed,
    lock: PathBuf,
}

impl Onlooker {
    async fn live(self, mut inbox: mpsc::UnboundedReceiver<Incoming>, mut news: mpsc::UnboundedReceiver<()>) {
        loop {
            tokio::select! {
                Some(incoming) = inbox.recv() => {
                    if self.hear(incoming) {
                        break;
                    }
                }
                Some(()) = news.recv() => {
                    tokio::time::sleep(GATHER).await;
                    while news.try_recv().is_ok() {}
                    self.look_again().await;
                }
                else => break,
            }
        }
        self.feed.tell(&Update::Ended);
    }

    /// Answers. Tells whether that was the end.
    fn hear(&self, incoming: Incoming) -> bool {
        match incoming {
            Incoming::Command { command: Command::Quit, answer, .. } => {
                let _ = answer.send(Ok(Outcome::Done));
                return true;
            }
            Incoming::Command { answer, .. } => drop(answer.send(Err(refusal(&self.lock)))),
            // Only the engine that works on the project knows what its agents are doing at this moment.
            Incoming::Query { answer, .. } => drop(answer.send(Err(refusal(&self.lock)))),
            Incoming::Look { answer } => drop(answer.send((lock(&self.sight).snapshot(), self.feed.watch()))),
            Incoming::Spot { task, answer } => drop(answer.send(lock(&self.sight).spot(task))),
            // All of these come from an engine at work.
            Incoming::Input(_)
            | Incoming::Kept { .. }
            | Incoming::Live { .. }
            | Incoming::Diff { .. }
            | Incoming::Sweep
            | Incoming::Clashes { .. }
            | Incoming::Digest
            | Incoming::PlansChanged
            | Incoming::Plans(_)
            | Incoming::Sessions(_)
            | Incoming::Profiles(_)
            | Incoming::ComeRound
            | Incoming::TimeIsUp => {}
        }
        false
    }

    async fn look_again(&self) {
        let sight = Arc::clone(&self.sight);
        let looked = blocking(move || lock(&sight).look()).await;
        match looked {
            Ok(updates) => updates.iter().for_each(|update| self.feed.tell(update)),
            Err(fault) => tracing::error!(%fault, "the project could not be looked at"),
        }
    }
}

fn lock(sight: &Mutex<Sight>) -> MutexGuard<'_, Sight> {
    sight.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns why nothing can be changed here, as things are now.
pub fn refusal(lock: &Path) -> Fault {
    match EngineLock::holder(lock) {
        Ok(Some(holder)) => LockError::Held(holder).into(),
        Ok(None) => Fault::environment("the process that worked on this project has ended")
            .hint("quit and start `mxd` again to work on it here"),
        Err(error) => error.into(),
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Fault> {
    tokio::task::spawn_blocking(work).await.map_err(|error| Fault::internal(error.to_string()))
}

/// Sends a word whenever something in one of the folders changes. A folder that cannot be watched is looked at once.
fn watch_folders(folders: &[&Path], changed: mpsc::UnboundedSender<()>) -> Option<RecommendedWatcher> {
    let mut watcher = notify::recommended_watcher(move |news: notify::Result<notify::Event>| {
        if news.is_ok_and(|news| !news.kind.is_access()) {
            let _ = changed.send(());
        }
    })
    .ok()?;
    for folder in folders {
        if let Err(error) = watcher.watch(folder, RecursiveMode::NonRecursive) {
            tracing::warn!(folder = %folder.display(), %error, "changes of this folder are not seen");
        }
    }
    Some(watcher)
}
