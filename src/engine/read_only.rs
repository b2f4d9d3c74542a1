//! A project, opened for reading beside the process that works on it, or when no process does. Queries are answered from the
//! disk; a screen follows the files as they change. Commands are refused, except for those about the user's own settings.
//!
//! What agents stream is not on the disk, so it is not seen here; what they have said and done is.

mod sight;

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
use crate::engine::feed::{Feed, Watcher};
use crate::engine::handle::{Handle, Pages, Port};
use crate::engine::queries::Queries;
use crate::engine::query::{Answer, Query};
use crate::engine::reading::LazyReader;
use crate::engine::snapshot::Snapshot;
use crate::engine::update::Update;
use crate::model::Project;
use crate::store::lock::LockError;
use crate::store::{Blobs, EngineLock, RealDisk, Sessions};
use sight::Sight;

/// How long changes are gathered: an agent at work writes many small ones.
const GATHER: Duration = Duration::from_millis(150);

/// Opens a project for reading only.
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
    let (over, _) = watch::channel(false);
    Handle::new(ReadOnly { queries, lock: folder.lock(), following: OnceCell::new(), over })
}

struct ReadOnly {
    queries: Queries,
    lock: PathBuf,
    /// Set when somebody first looks: a command that only asks needs neither a watch nor every session.
    following: OnceCell<Following>,
    over: watch::Sender<bool>,
}

impl Port for ReadOnly {
    fn command(&self, command: Command) -> BoxFuture<'_, Result<Outcome, Fault>> {
        async move {
            match command {
                Command::Quit => {
                    if let Some(following) = self.following.get() {
                        following.feed.tell(&Update::Ended);
                    }
                    self.over.send_replace(true);
                    Ok(Outcome::Done)
                }
                // Settings belong to the user, not to the engine that works on the project.
                Command::Files(FileCommand::SetSetting { layer, key, value }) => {
                    self.queries.settings_files().set_in_background(layer, key, value).await
                }
                _ => Err(refusal(&self.lock)),
            }
        }
        .boxed()
    }

    fn query(&self, query: Query) -> BoxFuture<'_, Result<Answer, Fault>> {
        async move {
            if matches!(query, Query::Tree(_)) {
                // Only the engine that works on the project knows what its agents are doing at this moment.
                return Err(refusal(&self.lock));
            }
            let spot = match query.worktree_of() {
                Some(task) => Some(self.queries.spot(task).await?),
                None => None,
            };
            self.queries.answer(query, spot).await
        }
        .boxed()
    }

    fn session(&self, task: TaskId) -> Pages {
        self.queries.session(task)
    }

    fn look(&self) -> BoxFuture<'_, Result<(Snapshot, Watcher), Fault>> {
        async move {
            let following = self.following.get_or_try_init(|| Following::start(&self.queries)).await?;
            let (sight, feed) = (Arc::clone(&following.sight), Arc::clone(&following.feed));
            // Under one lock: the watcher gets every change after this snapshot, and none that is in it.
            blocking(move || {
                let sight = lock(&sight);
                (sight.snapshot(), feed.watch())
            })
            .await
        }
        .boxed()
    }

    fn ended(&self) -> BoxFuture<'_, ()> {
        let mut over = self.over.subscribe();
        async move {
            let _ = over.wait_for(|over| *over).await;
        }
        .boxed()
    }
}

/// The tree and the sessions, read again whenever they change.
struct Following {
    /// Looked through on a thread that may wait for the disk.
    sight: Arc<Mutex<Sight>>,
    feed: Arc<Feed>,
    /// Dropping it ends the following.
    _watcher: Option<RecommendedWatcher>,
}

impl Following {
    async fn start(queries: &Queries) -> Result<Self, Fault> {
        let folder = queries.folder();
        // Before the first look: what changes in between is seen a second time, and not missed.
        let (changed, mut news) = mpsc::unbounded_channel();
        let watcher = watch_folders(&[folder.root(), &folder.sessions()], changed);
        let Queries { project, settings, sessions, .. } = queries.clone();
        let sight =
            blocking(move || Sight::new(project, settings, folder.tree(), folder.digests(), sessions)).await??;
        let this = Self { sight: Arc::new(Mutex::new(sight)), feed: Arc::default(), _watcher: watcher };
        let (sight, feed) = (Arc::clone(&this.sight), Arc::clone(&this.feed));
        tokio::spawn(async move {
            while let Some(()) = news.recv().await {
                tokio::time::sleep(GATHER).await;
                while news.try_recv().is_ok() {}
                let (sight, feed) = (Arc::clone(&sight), Arc::clone(&feed));
                let looked = blocking(move || {
                    let mut sight = lock(&sight);
                    sight.look().iter().for_each(|update| feed.tell(update));
                });
                if let Err(fault) = looked.await {
                    tracing::error!(%fault, "the project could not be looked at");
                }
            }
        });
        Ok(this)
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
