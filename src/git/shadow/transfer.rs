//! Brings objects from a shadow into the real repository, as a push would.
//!
//! Git inside the sandbox packs what the real repository does not have. Out here the pack is an untrusted stream: it is
//! verified into a quarantine folder, together with the links from its objects, and only then moved to the objects. Git
//! outside never reads a file of the shadow. A crash leaves a quarantine folder that the next transfer removes, or
//! objects that nothing refers to yet.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use git2::Oid;
use tokio::io::AsyncReadExt as _;

use super::Inside;
use crate::base::TaskId;
use crate::git::crash_points::crash_point;
use crate::git::error::{Error, blocking};
use crate::git::program::{Call, Checkout};
use crate::process::StdioPipes;

/// Fewer objects are stored one by one, as git does with a push: a pack for each commit would slow everything down.
const UNPACK_LIMIT: u32 = 100;
/// The largest pack that is accepted, in bytes.
const MAX_PACK: u64 = 4 << 30;
/// `git gc` removes old folders with this beginning.
const QUARANTINE: &str = "tmp_objdir-mxd-";
const HEADER: usize = 12;

/// Why objects were not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    #[error("git could not read the new commits in the sandbox: {0}")]
    Unreadable(String),
    #[error("git found the new objects invalid: {0}")]
    Invalid(String),
    #[error("objects that the new commits need are missing: {0}")]
    Incomplete(String),
}

#[derive(Debug, thiserror::Error)]
pub(super) enum TransferError {
    #[error(transparent)]
    Rejected(#[from] Rejected),
    #[error(transparent)]
    Git(#[from] Error),
}

/// One import.
pub(super) struct Transfer<'a> {
    pub(super) task: TaskId,
    /// Where git runs out here: the main checkout.
    pub(super) main: &'a Checkout,
    /// The checkout as it is seen inside.
    pub(super) checkout: &'a Checkout,
    pub(super) sandbox: &'a Arc<dyn Inside>,
    /// Commits, tags and staged files to bring over.
    pub(super) tips: &'a [Oid],
    /// Commits that the real repository has for certain.
    pub(super) known: &'a [Oid],
    pub(super) is_partial: bool,
}

impl Transfer<'_> {
    /// Returns when everything reachable from the tips is in the real repository, and on disk.
    pub(super) async fn run(&self) -> Result<(), TransferError> {
        let quarantine = self.main.common.join("objects").join(format!("{QUARANTINE}{}", self.task));
        remove(&quarantine)?;
        let pack = quarantine.join("pack");
        fs::create_dir_all(&pack).map_err(Error::disk("make the folder", &pack))?;
        let done = self.run_in(&quarantine).await;
        remove(&quarantine)?;
        done
    }

    async fn run_in(&self, quarantine: &Path) -> Result<(), TransferError> {
        self.receive(quarantine).await?;
        crash_point("new objects are in quarantine");
        self.check_links(quarantine).await?;
        let (from, objects) = (quarantine.to_owned(), self.main.common.join("objects"));
        blocking(move || migrate(&from, &objects)).await?;
        crash_point("new objects are in the repository");
        Ok(())
    }

    /// Receives and verifies the new objects.
    async fn receive(&self, quarantine: &Path) -> Result<(), TransferError> {
        let mut arguments = vec!["pack-objects", "--revs", "--local", "--stdout", "--quiet", "--delta-base-offset"];
        if self.is_partial {
            arguments.push("--exclude-promisor-objects");
        }
        let call = Call::inside(self.checkout, Arc::clone(self.sandbox), arguments).long(None);
        let unreadable = |error: Error| match error {
            Error::Failed { message, .. } => Rejected::Unreadable(message).into(),
            error => TransferError::Git(error),
        };
        let (running, StdioPipes { mut input, mut output }) = call.start().map_err(unreadable)?;
        let mut list = String::new();
        list.extend(self.tips.iter().map(|tip| format!("{tip}\n")));
        list.extend(self.known.iter().map(|known| format!("^{known}\n")));
        // Git reads all of the list before it writes. A git that fails reports the reason itself.
        let _ = tokio::io::copy(&mut list.as_bytes(), &mut input).await;
        drop(input);
        let mut header = [0; HEADER];
        if output.read_exact(&mut header).await.is_err() {
            running.finish().await.map_err(unreadable)?;
            return Err(Rejected::Unreadable("it wrote no pack".to_owned()).into());
        }
        let count = u32::from_be_bytes([header[8], header[9], header[10], header[11]]);
        let limit = format!("--max-input-size={MAX_PACK}");
        let arguments: &[&str] = if count < UNPACK_LIMIT {
            &["unpack-objects", "-q", "--strict", &limit]
        } else {
            &["index-pack", "--stdin", "--strict", "--fix-thin", &limit]
        };
        let receive = self.main.git(arguments).quarantine(quarantine, &self.main.common).durable().long(None);
        let mut stream = (&header[..]).chain(&mut output);
        match receive.run_on(&mut stream).await {
            Ok(_) => Ok(()),
            Err(Error::Failed { message, .. }) => {
                drop(output);
                // If the pack ended early, the other side knows why.
                running.finish().await.map_err(unreadable)?;
                Err(Rejected::Invalid(message).into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Checks that everything reachable from the tips is there.
    async fn check_links(&self, quarantine: &Path) -> Result<(), TransferError> {
        let mut arguments = vec!["rev-list", "--objects", "--stdin", "--quiet", "--not", "--all"];
        if self.is_partial {
            arguments.insert(1, "--exclude-promisor-objects");
        }
        let mut list = String::new();
        list.extend(self.tips.iter().map(|tip| format!("{tip}\n")));
        let call = self.main.git(arguments).quarantine(quarantine, &self.main.common).long(None);
        match call.input(list.into_bytes()).run().await {
            Ok(_) => Ok(()),
            Err(Error::Failed { message, .. }) => Err(Rejected::Incomplete(message).into()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Moves verified objects to the repository. Nothing refers to them yet, so the order does not matter, except that a
/// pack counts once its `.idx` is there.
fn migrate(quarantine: &Path, objects: &Path) -> Result<(), Error> {
    for folder in list(quarantine)? {
        let name = folder.file_name().unwrap_or_default();
        let to = objects.join(name);
        let mut files = list(&folder)?;
        files.sort_by_key(|file| file.extension().is_some_and(|ending| ending == "idx"));
        if !files.is_empty() {
            fs::create_dir_all(&to).map_err(Error::disk("make the folder", &to))?;
        }
        for file in &files {
            let place = to.join(file.file_name().unwrap_or_default());
            fs::rename(file, &place).map_err(Error::disk("move into place", &place))?;
            crash_point("one new object is in the repository");
        }
        if !files.is_empty() {
            File::open(&to).and_then(|folder| folder.sync_all()).map_err(Error::disk("sync", &to))?;
        }
    }
    File::open(objects).and_then(|folder| folder.sync_all()).map_err(Error::disk("sync", objects))
}

fn list(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = || Error::disk("list", folder);
    let entries = fs::read_dir(folder).map_err(failed())?;
    entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>().map_err(failed())
}

fn remove(quarantine: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(quarantine) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::disk("remove", quarantine)(error)),
        _ => Ok(()),
    }
}
