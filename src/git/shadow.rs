//! A repository of a task's own, which an agent in a sandbox sees in place of the real one.
//!
//! The sandbox mounts a [`Shadow`] over the shared git folder. It has its own refs, settings, index and reflogs, and
//! borrows the objects of the real repository. So all of git works inside, and nothing that git writes reaches the
//! repository. [`Shadow::sync`] carries over what belongs there: the new commits of the task's branch under its name,
//! everything else that the agent made (branches, tags, stash) below `refs/mxd/shadow/<task>/`, and the index. What
//! changed in the real repository goes the other way. See `docs/dev/adr/0049-agents-write-to-a-shadow-repository.md`.
//!
//! Invariants: the real repository never refers to an object that it does not have; its task branch moves only from the
//! value that it had at the last agreement; a shadow can be deleted at any time after a `sync`, and be made again. The
//! files of a shadow belong to an agent: out here they are read one by one, bounded and without following a link, and
//! git never runs on them outside of the sandbox. Does not mount anything, and does not know how a sandbox works.

mod checkout_state;
mod config_copy;
mod create;
mod lfs;
mod reconcile;
mod record;
mod ref_table;
mod support;
mod sync;
mod transfer;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use git2::Oid;
use tokio::sync::Mutex;

use super::dir::Dir;
use super::error::{Error, blocking};
use super::program::Checkout;
use super::refs;
use super::status;
use super::worktree_files::remove_if_there;
use crate::base::TaskId;
use crate::process::ChildSpec;
use create::{REAL_OBJECTS, Restored, StashEntry, admin_dir};
use record::Record;

pub use support::Unsupported;
pub use sync::Synced;
pub use transfer::Rejected;

/// Starts programs in the sandbox where a shadow is mounted.
pub trait Inside: Send + Sync + fmt::Debug {
    /// Changes a child so that it starts inside.
    fn enter(&self, child: ChildSpec) -> ChildSpec;
}

/// The shadow of one checkout.
#[derive(Clone, Debug)]
pub struct ShadowSpec {
    pub task: TaskId,
    /// The branch whose commits are published.
    pub branch: String,
    pub checkout: Checkout,
    /// A private folder for the shadow, on the disk of the data folder.
    pub folder: PathBuf,
}

/// One mount of a sandbox, in order. Paths are those outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mount {
    /// Shows `from` at `to`, with what is mounted below it.
    Bind { from: PathBuf, to: PathBuf, access: Access },
    /// Lays a layer over `to` that takes the writes.
    Overlay { to: PathBuf, upper: PathBuf, work: PathBuf },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    ReadOnly,
    Write,
}

/// Why there is no shadow.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("no shadow repository: {0}")]
    Unsupported(#[from] Unsupported),
    #[error(transparent)]
    Git(#[from] Error),
}

/// What [`Shadow::open`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opened {
    Created,
    Present,
    /// The one that was there is damaged and was moved aside.
    Recreated {
        aside: PathBuf,
    },
}

/// The shadow of a task's checkout.
#[derive(Debug)]
pub struct Shadow {
    main: Checkout,
    spec: ShadowSpec,
    is_partial: bool,
    state: Mutex<sync::State>,
}

impl Shadow {
    /// Opens the shadow of a checkout, or creates it. `main` is the main checkout of the repository.
    pub async fn open(main: &Checkout, spec: ShadowSpec) -> Result<(Self, Opened), OpenError> {
        let (main, checkout) = (main.clone(), spec.checkout.clone());
        let found = blocking(move || Ok((support::refusal(&checkout)?, support::is_partial(&checkout)))).await?;
        let (refusal, is_partial) = found;
        if let Some(reason) = refusal {
            return Err(reason.into());
        }
        let (here, place) = (spec.clone(), main.clone());
        let (opened, record) = blocking(move || prepare(&place, &here)).await?;
        let state = Mutex::new(sync::State::new(record));
        Ok((Self { main, spec, is_partial, state }, opened))
    }

    /// Returns the mounts that show the shadow inside, in the order in which they are made.
    pub fn mounts(&self) -> Vec<Mount> {
        let (common, place) = (&self.spec.checkout.common, self.place());
        let bind = |from: PathBuf, to: PathBuf, access| Mount::Bind { from, to, access };
        let mut mounts = vec![bind(common.join("objects"), place.join(REAL_OBJECTS), Access::ReadOnly)];
        let lfs = common.join("lfs");
        if lfs.is_dir() {
            let [upper, work] = ["upper", "work"].map(|name| self.spec.folder.join("lfs").join(name));
            mounts.push(bind(lfs, place.join("lfs"), Access::ReadOnly));
            mounts.push(Mount::Overlay { to: place.join("lfs"), upper, work });
        }
        mounts.push(bind(place.clone(), common.clone(), Access::Write));
        // A submodule would get a repository that exists only inside.
        let modules = admin_dir(&self.spec.checkout).join("modules");
        mounts.push(bind(place.join(&modules), common.join(&modules), Access::ReadOnly));
        if self.spec.checkout.git_dir != *common {
            let link = self.spec.checkout.path.join(".git");
            mounts.push(bind(link.clone(), link, Access::ReadOnly));
        }
        mounts
    }

    /// Carries changes between the shadow and the real repository, both ways. Cheap if neither changed. Call it before
    /// and after each command, and when a background process ends. An interrupted one is continued by the next.
    pub async fn sync(&self, sandbox: &Arc<dyn Inside>) -> Result<Synced, Error> {
        let mut state = self.state.lock().await;
        sync::run(self, &mut state, sandbox).await
    }

    /// Returns the folder that is mounted over the shared git folder.
    fn place(&self) -> PathBuf {
        place(&self.spec.folder)
    }
}

/// Deletes the shadow of a checkout. Refs that [`Shadow::sync`] saved stay.
pub async fn discard(checkout: &Checkout, folder: &Path) -> Result<(), Error> {
    let (mark, folder) = (checkout.git_dir.join(status::OPERATION), folder.to_owned());
    blocking(move || {
        create::remove(&folder)?;
        remove_if_there(&mark)
    })
    .await
}

/// Deletes the refs that were saved for a task.
pub async fn forget(main: &Checkout, task: TaskId) -> Result<(), Error> {
    let main = main.clone();
    blocking(move || {
        let repository = main.open()?;
        for name in saved(&repository, task)?.keys() {
            refs::delete(&repository, &saved_ref(task, name))?;
        }
        Ok(())
    })
    .await
}

fn place(folder: &Path) -> PathBuf {
    folder.join("git")
}

fn saved_prefix(task: TaskId) -> String {
    format!("refs/mxd/shadow/{task}/")
}

fn saved_ref(task: TaskId, name: &str) -> String {
    format!("{}{name}", saved_prefix(task))
}

/// Returns the refs saved for a task, by their names below its prefix.
fn saved(repository: &git2::Repository, task: TaskId) -> Result<std::collections::BTreeMap<String, Oid>, Error> {
    let prefix = saved_prefix(task);
    let failed = Error::read(repository.path());
    let mut found = std::collections::BTreeMap::new();
    for reference in repository.references_glob(&format!("{prefix}*")).map_err(&failed)? {
        let reference = reference.map_err(&failed)?;
        let name = String::from_utf8_lossy(reference.name_bytes()).into_owned();
        if let (Some(name), Some(id)) = (name.strip_prefix(&prefix), reference.target()) {
            found.insert(name.to_owned(), id);
        }
    }
    Ok(found)
}

/// Finds the shadow on disk or creates it.
fn prepare(main: &Checkout, spec: &ShadowSpec) -> Result<(Opened, Record), Error> {
    for folder in ["", "lfs/upper", "lfs/work"] {
        create::make(&spec.folder.join(folder))?;
    }
    let place = place(&spec.folder);
    let mut record = Record::read(&spec.folder);
    let mut opened = Opened::Created;
    if place.symlink_metadata().is_ok() {
        if is_whole(&place, &spec.checkout) {
            let config = create::renew(&spec.checkout, &place, &record.config)?;
            if config != record.config {
                record.config = config;
                record.write(&spec.folder)?;
            }
            return Ok((Opened::Present, record));
        }
        let name = |number: u32| spec.folder.join(format!("damaged-{number}"));
        let aside = (1..u32::MAX).map(name).find(|path| !path.exists()).unwrap_or_else(|| name(0));
        std::fs::rename(&place, &aside).map_err(Error::disk("move aside", &place))?;
        opened = Opened::Recreated { aside };
    }
    let restored = restored(main, spec.task)?;
    let branch = format!("{}{}", refs::HEADS, spec.branch);
    let created = create::create(&spec.checkout, &branch, &place, &restored)?;
    let record = Record::of_new(created, &spec.checkout, &place)?;
    record.write(&spec.folder)?;
    Ok((opened, record))
}

/// Returns what an earlier shadow of the task had.
fn restored(main: &Checkout, task: TaskId) -> Result<Restored, Error> {
    let repository = main.open()?;
    let mut restored = Restored::default();
    let mut stash = std::collections::BTreeMap::new();
    for (name, id) in saved(&repository, task)? {
        if let Some(number) = name.strip_prefix("stash/") {
            stash.insert(number.parse::<usize>().unwrap_or_default(), id);
        } else if name != sync::DETACHED && !name.starts_with(sync::DIVERGED) {
            restored.refs.insert(format!("refs/{name}"), id);
        }
    }
    for id in stash.into_values() {
        let commit = repository.find_commit(id).map_err(Error::read(&main.path))?;
        let summary = commit.summary().ok().flatten().unwrap_or_default().to_owned();
        restored.stash.push(StashEntry { id, summary, time: commit.time().seconds() });
    }
    Ok(restored)
}

/// Returns true if git would take a folder for a git folder, and the checkout's own part is there.
fn is_whole(place: &Path, checkout: &Checkout) -> bool {
    let Ok(folder) = Dir::open(place) else { return false };
    let Ok(own) = folder.below(&admin_dir(checkout)) else { return false };
    let has = |folder: &Dir, name: &str| folder.stat(name.as_ref()).is_ok_and(|found| found.is_some());
    ["HEAD", "config", "objects", "refs", REAL_OBJECTS].iter().all(|name| has(&folder, name)) && has(&own, "HEAD")
}
