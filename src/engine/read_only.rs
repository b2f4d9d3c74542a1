//! Opens a project for reading while another process, or no process, has it open.
//!
//! Queries are answered from the disk, and watchers follow the files as they change. Commands are refused, except for
//! changes to the user's settings. Streamed output is not on disk, so it is not visible here.

mod file_follower;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::{OnceCell, mpsc, watch};

use crate::base::{Fault, SystemClock, TaskId};
use crate::config::Settings;
use crate::config::paths::Home;
use crate::engine::command::{Command, FileCommand, Outcome};
use crate::engine::feed::{Feed, SnapshotSlot, Watcher};
use crate::engine::handle::{Handle, Pages, Port};
use crate::engine::queries::Queries;
use crate::engine::query::{Query, QueryAnswer};
use crate::engine::snapshot::Snapshot;
use crate::engine::update::{EngineEnd, Update};
use crate::engine::work_queries::LazyReader;
use crate::model::Project;
use crate::store::lock::LockError;
use crate::store::{Blobs, EngineLock, RealDisk, Sessions};
use file_follower::FileFollower;

/// How long to collect changes before reading: a running agent writes many small ones.
const DEBOUNCE: Duration = Duration::from_millis(150);

pub fn read_only(home: &Home, project: Project, settings: &Settings) -> Handle {
    let folder = home.project(project.id);
    let sessions = Sessions::new(Arc::new(RealDisk), folder.sessions());
    let queries = Queries {
        home: home.clone(),
        settings: settings.clone(),
        clock: Arc::new(SystemClock),
        reader: LazyReader::on_demand(&project.path, &folder.worktrees(), &sessions),
        sessions,
        blobs: Blobs::new(Arc::new(RealDisk), folder.blobs()),
        project,
    };
    let (ended, _) = watch::channel(false);
    Handle::new(ReadOnly { queries, lock: folder.lock(), follower: OnceCell::new(), ended })
}

struct ReadOnly {
    queries: Queries,
    lock: PathBuf,
    /// Set on the first subscription: queries need neither a watcher nor all sessions.
    follower: OnceCell<FollowerHandle>,
    ended: watch::Sender<bool>,
}

impl Port for ReadOnly {
    fn command(&self, command: Command) -> BoxFuture<'_, Result<Outcome, Fault>> {
        async move {
            match command {
                Command::Quit => {
                    if let Some(follower) = self.follower.get() {
                        follower.feed.publish(&Update::Ended);
                    }
                    self.ended.send_replace(true);
                    Ok(Outcome::Done)
                }
                // Settings belong to the user, not to the engine that has the project open.
                Command::Files(FileCommand::SetSetting { layer, key, value }) => {
                    self.queries.settings_files().set_in_background(layer, key, value).await
                }
                _ => Err(refusal(&self.lock)),
            }
        }
        .boxed()
    }

    fn query(&self, query: Query) -> BoxFuture<'_, Result<QueryAnswer, Fault>> {
        async move {
            if matches!(query, Query::Tree(_)) {
                // Only the engine that has the project open knows the current activity.
                return Err(refusal(&self.lock));
            }
            let location = match query.worktree_of() {
                Some(task) => Some(self.queries.location(task).await?),
                None => None,
            };
            self.queries.answer(query, location).await
        }
        .boxed()
    }

    fn session(&self, task: TaskId) -> Pages {
        self.queries.session(task)
    }

    fn subscribe(&self) -> BoxFuture<'_, Result<(Snapshot, Watcher), Fault>> {
        async move {
            let follower = self.follower.get_or_try_init(|| FollowerHandle::start(&self.queries)).await?;
            let (follower, feed) = (Arc::clone(&follower.follower), Arc::clone(&follower.feed));
            // Under one lock, so the watcher gets every change after this snapshot and none that it contains.
            blocking(move || {
                let follower = lock(&follower);
                (follower.snapshot(), feed.watch())
            })
            .await
        }
        .boxed()
    }

    fn add_snapshot(&self, slot: SnapshotSlot) -> BoxFuture<'_, Result<(), Fault>> {
        async move {
            let follower = self.follower.get_or_try_init(|| FollowerHandle::start(&self.queries)).await?;
            let follower = Arc::clone(&follower.follower);
            blocking(move || {
                let follower = lock(&follower);
                slot.add(follower.snapshot());
            })
            .await
        }
        .boxed()
    }

    fn ended(&self) -> BoxFuture<'_, EngineEnd> {
        let mut ended = self.ended.subscribe();
        async move {
            let _ = ended.wait_for(|ended| *ended).await;
            EngineEnd::Quit
        }
        .boxed()
    }
}

/// The follower of the tree and the sessions, with its file watcher.
struct FollowerHandle {
    /// Used only on blocking threads: it reads files.
    follower: Arc<Mutex<FileFollower>>,
    feed: Arc<Feed>,
    /// Dropping it stops the follower.
    _watcher: Option<RecommendedWatcher>,
}

impl FollowerHandle {
    async fn start(queries: &Queries) -> Result<Self, Fault> {
        let folder = queries.folder();
        // Watch before the first read: a change in between is read twice rather than missed.
        let (changed, mut changes) = mpsc::unbounded_channel();
        let watcher = watch_folders(&[folder.root(), &folder.sessions()], changed);
        let Queries { project, settings, sessions, .. } = queries.clone();
        let follower =
            blocking(move || FileFollower::new(project, settings, folder.tree(), folder.digests(), sessions)).await??;
        let this = Self { follower: Arc::new(Mutex::new(follower)), feed: Arc::default(), _watcher: watcher };
        let (follower, feed) = (Arc::clone(&this.follower), Arc::clone(&this.feed));
        tokio::spawn(async move {
            while let Some(()) = changes.recv().await {
                tokio::time::sleep(DEBOUNCE).await;
                while changes.try_recv().is_ok() {}
                let (follower, feed) = (Arc::clone(&follower), Arc::clone(&feed));
                let polled = blocking(move || {
                    let mut follower = lock(&follower);
                    follower.poll().iter().for_each(|update| feed.publish(update));
                });
                if let Err(fault) = polled.await {
                    tracing::error!(%fault, "the project could not be read");
                }
            }
        });
        Ok(this)
    }
}

fn lock(follower: &Mutex<FileFollower>) -> MutexGuard<'_, FileFollower> {
    follower.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns why the project cannot be changed here right now.
pub fn refusal(lock: &Path) -> Fault {
    match EngineLock::holder(lock) {
        Ok(Some(holder)) => LockError::Held(holder).into(),
        Ok(None) => Fault::environment("the mxd process that had this project open has ended")
            .hint("quit and start `mxd` again to take over"),
        Err(error) => error.into(),
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Fault> {
    tokio::task::spawn_blocking(work).await.map_err(|error| Fault::internal(error.to_string()))
}

/// Sends a signal whenever something in one of the folders changes. A folder that cannot be watched is not followed.
fn watch_folders(folders: &[&Path], changed: mpsc::UnboundedSender<()>) -> Option<RecommendedWatcher> {
    let mut watcher = notify::recommended_watcher(move |changes: notify::Result<notify::Event>| {
        if changes.is_ok_and(|changes| !changes.kind.is_access()) {
            let _ = changed.send(());
        }
    })
    .ok()?;
    for folder in folders {
        if let Err(error) = watcher.watch(folder, RecursiveMode::NonRecursive) {
            tracing::warn!(folder = %folder.display(), %error, "this folder cannot be watched");
        }
    }
    Some(watcher)
}
