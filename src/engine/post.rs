//! Messages between projects. Each is a file in the receiver's data folder until its engine has taken it in: so it does
//! not matter who is open, and a crash on either side loses nothing.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::{fs, io};

use futures::future::BoxFuture;
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::base::{IdSource, MessageId, ProjectId, text};
use crate::config::paths::Home;
use crate::engine::command::MESSAGE_CHARS;
use crate::engine::driver::Incoming;
use crate::engine::machine::Input;
use crate::engine::tools::{ProjectEntry, Projects};
use crate::model::Project;
use crate::store::registry::Registry;
use crate::store::replace::replace;
use crate::store::{Disk as _, EngineLock, RealDisk};

/// The format of a letter.
const VERSION: u64 = 1;

/// A message on its way to another project.
#[derive(Serialize, Deserialize)]
struct Letter {
    version: u64,
    project: ProjectId,
    name: String,
    body: String,
}

/// Where one project sends from and receives. Clones share it.
#[derive(Clone)]
pub(in crate::engine) struct PostOffice {
    home: Home,
    own: Project,
    ids: IdSource,
    incoming: mpsc::UnboundedSender<Incoming>,
    watcher: Arc<Mutex<Option<RecommendedWatcher>>>,
}

/// Returns where the letters to a project wait.
fn letterbox(home: &Home, project: ProjectId) -> PathBuf {
    home.project(project).root().join("inbox")
}

fn letter_path(folder: &Path, message: MessageId) -> PathBuf {
    folder.join(format!("{message}.json"))
}

impl PostOffice {
    pub(in crate::engine) fn new(
        home: Home,
        own: Project,
        ids: IdSource,
        incoming: mpsc::UnboundedSender<Incoming>,
    ) -> Self {
        Self { home, own, ids, incoming, watcher: Arc::default() }
    }

    /// Begins to look for letters, and takes in what waits.
    pub(in crate::engine) async fn open(&self) {
        let post = self.clone();
        let opened = tokio::task::spawn_blocking(move || {
            if let Err(error) = post.watch() {
                tracing::warn!(%error, "letters from other projects are only found at the next start");
            }
            post.collect();
        });
        let _ = opened.await;
    }

    fn watch(&self) -> Result<(), Box<dyn std::error::Error>> {
        let folder = letterbox(&self.home, self.own.id);
        RealDisk.create_dirs(&folder)?;
        let post = self.clone();
        let mut watcher = notify::recommended_watcher(move |news: notify::Result<notify::Event>| {
            if news.is_ok_and(|news| !news.kind.is_access() && !news.kind.is_remove()) {
                post.collect();
            }
        })?;
        watcher.watch(&folder, RecursiveMode::NonRecursive)?;
        *self.watcher.lock().unwrap_or_else(PoisonError::into_inner) = Some(watcher);
        Ok(())
    }

    /// Stops looking. The watcher holds a clone of this, so it has to be let go by hand.
    pub(in crate::engine) fn close(&self) {
        drop(self.watcher.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Hands every letter that waits to the engine. They stay until [`PostOffice::received`].
    pub(in crate::engine) fn collect(&self) {
        let folder = letterbox(&self.home, self.own.id);
        let Ok(entries) = fs::read_dir(&folder) else { return };
        let mut letters: Vec<MessageId> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".json")?.parse().ok())
            .collect();
        letters.sort_unstable();
        for message in letters {
            let path = letter_path(&folder, message);
            match read(&path) {
                Ok(Letter { project, name, body, .. }) => {
                    let _ = self.incoming.send(Incoming::Input(Input::FromProject { project, name, message, body }));
                }
                // A letter that cannot be read stays where a person can look at it.
                Err(error) => tracing::warn!(path = %path.display(), %error, "a letter cannot be read"),
            }
        }
    }

    /// The letter is in the root's session: it is no longer needed.
    pub(in crate::engine) fn received(&self, message: MessageId) {
        let path = letter_path(&letterbox(&self.home, self.own.id), message);
        if let Err(error) = fs::remove_file(&path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(path = %path.display(), %error, "a letter that was received cannot be removed");
        }
    }

    fn others(&self) -> Vec<Project> {
        let registry = Registry::new(Arc::new(RealDisk), self.home.projects());
        let mut projects = registry.list().unwrap_or_default();
        projects.retain(|project| project.id != self.own.id);
        projects
    }

    fn post(&self, wanted: &str, body: &str) -> Result<String, String> {
        if body.trim().is_empty() {
            return Err("Not sent: the message is empty.".to_owned());
        }
        let chars = body.chars().count();
        if chars > MESSAGE_CHARS {
            return Err(format!(
                "Not sent: the message has {chars} characters; at most {MESSAGE_CHARS} can be sent. Send what matters in it."
            ));
        }
        let others = self.others();
        let is_it = |project: &&Project| {
            project.name == wanted
                || (wanted.len() >= 8 && project.id.to_string().starts_with(&wanted.to_ascii_uppercase()))
        };
        let found: Vec<&Project> = others.iter().filter(is_it).collect();
        let to = match found.as_slice() {
            [one] => *one,
            [] => {
                return Err(format!(
                    "Not sent: there is no project \"{}\". list_projects shows them.",
                    text::headline(wanted, 80)
                ));
            }
            _ => return Err(format!("Not sent: several projects are called \"{wanted}\". Use the id.")),
        };
        let letter =
            Letter { version: VERSION, project: self.own.id, name: self.own.name.clone(), body: body.to_owned() };
        let folder = letterbox(&self.home, to.id);
        let sent = serde_json::to_vec(&letter).map_err(|error| error.to_string()).and_then(|content| {
            RealDisk.create_dirs(&folder).map_err(|error| error.to_string())?;
            let path = letter_path(&folder, MessageId::fresh(&self.ids));
            replace(&RealDisk, &path, &content).map_err(|error| error.to_string())
        });
        sent.map_err(|error| format!("Not sent: {error}"))?;
        Ok(if self.is_open(to.id) {
            format!("Sent to \"{}\".", to.name)
        } else {
            format!("Sent. \"{}\" is not open; it reads the message when it is opened next.", to.name)
        })
    }

    fn is_open(&self, project: ProjectId) -> bool {
        EngineLock::holder(&self.home.project(project).lock()).is_ok_and(|holder| holder.is_some())
    }
}

fn read(path: &Path) -> Result<Letter, Box<dyn std::error::Error>> {
    let letter: Letter = serde_json::from_slice(&fs::read(path)?)?;
    if letter.version > VERSION {
        return Err(format!("it was written by a newer version ({})", letter.version).into());
    }
    Ok(letter)
}

impl Projects for PostOffice {
    fn list(&self) -> Vec<ProjectEntry> {
        let entry = |project: Project| ProjectEntry {
            is_open: self.is_open(project.id),
            id: project.id,
            name: project.name,
            path: project.path,
        };
        self.others().into_iter().map(entry).collect()
    }

    fn send<'a>(&'a self, project: &'a str, message: &'a str) -> BoxFuture<'a, Result<String, String>> {
        let (post, project, message) = (self.clone(), project.to_owned(), message.to_owned());
        Box::pin(async move {
            let posted = tokio::task::spawn_blocking(move || post.post(&project, &message)).await;
            posted.unwrap_or_else(|_| Err("Not sent: Matrix is shutting down.".to_owned()))
        })
    }
}
