//! Messages between projects.
//!
//! A message is a file in the inbox folder of the receiving project until its engine has stored it in the root's
//! session. The receiver need not be open, and a crash on either side loses nothing.

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
use crate::engine::tools::{OtherProject, Projects};
use crate::model::Project;
use crate::store::registry::Registry;
use crate::store::replace::replace;
use crate::store::{Disk as _, EngineLock, RealDisk};

/// The version of the file format.
const VERSION: u64 = 1;

/// A message on its way to another project, as its file stores it.
#[derive(Serialize, Deserialize)]
struct Envelope {
    version: u64,
    project: ProjectId,
    name: String,
    body: String,
}

/// Sends messages to other projects and receives theirs. Clones share the watcher.
#[derive(Clone)]
pub(in crate::engine) struct ProjectInbox {
    home: Home,
    project: Project,
    ids: IdSource,
    incoming: mpsc::UnboundedSender<Incoming>,
    watcher: Arc<Mutex<Option<RecommendedWatcher>>>,
}

fn inbox_folder(home: &Home, project: ProjectId) -> PathBuf {
    home.project(project).root().join("inbox")
}

fn envelope_path(folder: &Path, message: MessageId) -> PathBuf {
    folder.join(format!("{message}.json"))
}

impl ProjectInbox {
    pub(in crate::engine) fn new(
        home: Home,
        project: Project,
        ids: IdSource,
        incoming: mpsc::UnboundedSender<Incoming>,
    ) -> Self {
        Self { home, project, ids, incoming, watcher: Arc::default() }
    }

    /// Watches the inbox and collects the messages in it.
    pub(in crate::engine) async fn open(&self) {
        let inbox = self.clone();
        let opened = tokio::task::spawn_blocking(move || {
            if let Err(error) = inbox.watch() {
                tracing::warn!(%error, "messages from other projects are only found at the next start");
            }
            inbox.collect();
        });
        let _ = opened.await;
    }

    fn watch(&self) -> Result<(), Box<dyn std::error::Error>> {
        let folder = inbox_folder(&self.home, self.project.id);
        RealDisk.create_dirs(&folder)?;
        let inbox = self.clone();
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if event.is_ok_and(|event| !event.kind.is_access() && !event.kind.is_remove()) {
                inbox.collect();
            }
        })?;
        watcher.watch(&folder, RecursiveMode::NonRecursive)?;
        *self.watcher.lock().unwrap_or_else(PoisonError::into_inner) = Some(watcher);
        Ok(())
    }

    /// Stops the watcher. It holds a clone of this inbox, so dropping the inbox would not stop it.
    pub(in crate::engine) fn close(&self) {
        drop(self.watcher.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Passes every message in the inbox to the engine. The files stay until [`ProjectInbox::remove_envelope`].
    pub(in crate::engine) fn collect(&self) {
        let folder = inbox_folder(&self.home, self.project.id);
        let Ok(entries) = fs::read_dir(&folder) else { return };
        let mut messages: Vec<MessageId> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".json")?.parse().ok())
            .collect();
        messages.sort_unstable();
        for message in messages {
            let path = envelope_path(&folder, message);
            match read(&path) {
                Ok(Envelope { project, name, body, .. }) => {
                    let _ = self.incoming.send(Incoming::Input(Input::FromProject { project, name, message, body }));
                }
                // A file that cannot be read stays, so that the user can inspect it.
                Err(error) => {
                    tracing::warn!(path = %path.display(), %error, "a message from another project cannot be read");
                }
            }
        }
    }

    /// Deletes the file of a message that is in the root's session.
    pub(in crate::engine) fn remove_envelope(&self, message: MessageId) {
        let path = envelope_path(&inbox_folder(&self.home, self.project.id), message);
        if let Err(error) = fs::remove_file(&path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(path = %path.display(), %error, "the file of a received message cannot be removed");
        }
    }

    fn others(&self) -> Vec<Project> {
        let registry = Registry::new(Arc::new(RealDisk), self.home.projects());
        let mut projects = registry.list().unwrap_or_default();
        projects.retain(|project| project.id != self.project.id);
        projects
    }

    fn write_envelope(&self, name: &str, body: &str) -> Result<String, String> {
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
        let matches = |project: &&Project| {
            project.name == name || (name.len() >= 8 && project.id.to_string().starts_with(&name.to_ascii_uppercase()))
        };
        let found: Vec<&Project> = others.iter().filter(matches).collect();
        let to = match found.as_slice() {
            [one] => *one,
            [] => {
                return Err(format!(
                    "Not sent: there is no project \"{}\". list_projects shows them.",
                    text::headline(name, 80)
                ));
            }
            _ => return Err(format!("Not sent: several projects are called \"{name}\". Use the id.")),
        };
        let envelope = Envelope {
            version: VERSION,
            project: self.project.id,
            name: self.project.name.clone(),
            body: body.to_owned(),
        };
        let folder = inbox_folder(&self.home, to.id);
        let sent = serde_json::to_vec(&envelope).map_err(|error| error.to_string()).and_then(|content| {
            RealDisk.create_dirs(&folder).map_err(|error| error.to_string())?;
            let path = envelope_path(&folder, MessageId::fresh(&self.ids));
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

fn read(path: &Path) -> Result<Envelope, Box<dyn std::error::Error>> {
    let envelope: Envelope = serde_json::from_slice(&fs::read(path)?)?;
    if envelope.version > VERSION {
        return Err(format!("it was written by a newer version ({})", envelope.version).into());
    }
    Ok(envelope)
}

impl Projects for ProjectInbox {
    fn list(&self) -> Vec<OtherProject> {
        let entry = |project: Project| OtherProject {
            is_open: self.is_open(project.id),
            id: project.id,
            name: project.name,
            path: project.path,
        };
        self.others().into_iter().map(entry).collect()
    }

    fn send<'a>(&'a self, project: &'a str, message: &'a str) -> BoxFuture<'a, Result<String, String>> {
        let (inbox, project, message) = (self.clone(), project.to_owned(), message.to_owned());
        Box::pin(async move {
            let sent = tokio::task::spawn_blocking(move || inbox.write_envelope(&project, &message)).await;
            sent.unwrap_or_else(|_| Err("Not sent: Matrix is shutting down.".to_owned()))
        })
    }
}
