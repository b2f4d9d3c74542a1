//! Carries changes between a shadow and the real repository.
//!
//! The order is what makes a crash harmless: objects, then refs, then index and HEAD, then the record of the agreement.
//! After a crash the tables of refs are compared again; what was carried over already is equal on both sides.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use git2::Oid;

use super::checkout_state::{self, CheckedIndex, IndexProblem};
use super::create::admin_dir;
use super::reconcile::{Plan, Sides, agreement, reconcile};
use super::record::{Both, Record};
use super::ref_table::{self, Found};
use super::transfer::{Rejected, Transfer, TransferError};
use super::{Inside, Shadow, lfs, saved, saved_ref};
use crate::git::crash_points::crash_point;
use crate::git::dir::Dir;
use crate::git::error::{Error, blocking};
use crate::git::program::Call;
use crate::git::refs::{self, HEADS};

/// The saved commit of a detached HEAD.
pub(super) const DETACHED: &str = "detached";
/// Saved tips of the task's branch that were overtaken by a move outside.
pub(super) const DIVERGED: &str = "diverged/";
/// Changes younger than this may be followed by another one with the same time.
const TIME_GRAIN: Duration = Duration::from_millis(50);
/// The most commits that are named to the other side as known.
const MAX_KNOWN: usize = 500;
const INDEX_COPY: &str = "index";

/// What a sync did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Synced {
    /// The new tip of the task's branch in the real repository.
    pub published: Option<String>,
    /// The number of refs that the shadow got from the real repository.
    pub refreshed: usize,
    /// The task's branch was moved outside while the agent committed. Its commits are at this ref.
    pub diverged: Option<String>,
    /// The new objects were not accepted. Nothing was published.
    pub rejected: Option<Rejected>,
    /// Why the index was not published.
    pub index_problem: Option<String>,
    /// Files of Git LFS that are not what their names claim.
    pub lfs_refused: usize,
    /// A lock of git was held; the rest follows with the next sync.
    pub is_incomplete: bool,
}

impl Synced {
    /// Returns notices for the agent.
    pub fn notices(&self, branch: &str) -> Vec<String> {
        let mut notices = Vec::new();
        if let Some(kept) = &self.diverged {
            notices.push(format!(
                "Your branch {branch} was moved outside of the sandbox while you committed. It is at its new commit now; \
                 your commits are at {kept}. Cherry-pick what you still need."
            ));
        }
        if let Some(reason) = &self.rejected {
            notices.push(format!(
                "Your new commits were not taken over into the repository: {reason}. Until they are, nobody else sees them."
            ));
        }
        if let Some(problem) = &self.index_problem {
            notices.push(format!(
                "The index of your worktree is not visible outside of the sandbox: {problem}. `git read-tree HEAD` makes a new one."
            ));
        }
        if self.lfs_refused > 0 {
            notices.push(format!(
                "{} files in the store of Git LFS do not have the content that their names claim, and were left out.",
                self.lfs_refused
            ));
        }
        notices
    }
}

/// What a sync remembers.
#[derive(Debug)]
pub(super) struct State {
    record: Record,
    /// The state of all files that change when a ref, HEAD or an index does.
    stamp: Option<Stamp>,
}

impl State {
    pub(super) fn new(record: Record) -> Self {
        Self { record, stamp: None }
    }
}

/// Inodes and change times of files.
#[derive(Debug, PartialEq, Eq)]
struct Stamp(Vec<(PathBuf, Option<Change>)>);

/// The inode of a file, and when it last changed: seconds and nanoseconds.
type Change = (u64, i64, i64);

impl Stamp {
    fn take(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let entry = |path: PathBuf| {
            let found = path.symlink_metadata().ok().map(|found| (found.ino(), found.ctime(), found.ctime_nsec()));
            (path, found)
        };
        Self(paths.into_iter().map(entry).collect())
    }

    fn is_current(&self) -> bool {
        *self == Self::take(self.0.iter().map(|(path, _)| path.clone()))
    }

    /// Returns true if a later change would be visible in the times.
    fn is_settled(&self, now: SystemTime) -> bool {
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().saturating_sub(TIME_GRAIN);
        let limit = (i64::try_from(now.as_secs()).unwrap_or(i64::MAX), i64::from(now.subsec_nanos()));
        self.0.iter().filter_map(|(_, found)| *found).all(|(_, seconds, nanos)| (seconds, nanos) < limit)
    }
}

/// Both sides as they are now.
struct View {
    plan: Plan,
    real: Found,
    shadow: Found,
    both: Both,
    /// All refs to be saved, and those that are.
    save: BTreeMap<String, Oid>,
    saved: BTreeMap<String, Oid>,
    /// Commits that the real repository has.
    known: Vec<Oid>,
    index: Option<CheckedIndex>,
    index_problem: Option<String>,
    now: SystemTime,
}

pub(super) async fn run(shadow: &Shadow, state: &mut State, sandbox: &Arc<dyn Inside>) -> Result<Synced, Error> {
    if state.stamp.as_ref().is_some_and(Stamp::is_current) {
        return Ok(Synced::default());
    }
    state.stamp = None;
    let mut synced = Synced::default();
    let view = look(shadow, &state.record).await?;
    synced.index_problem.clone_from(&view.index_problem);
    synced.lfs_refused = import_lfs(shadow).await?;
    match transfer(shadow, &view, sandbox).await {
        Ok(()) => publish(shadow, &view, &mut synced).await?,
        Err(TransferError::Rejected(reason)) => synced.rejected = Some(reason),
        Err(TransferError::Git(error)) => return Err(error),
    }
    refresh(shadow, &view, sandbox, &mut synced).await?;
    let now = view.now;
    settle(shadow, state, view, &mut synced).await?;
    let is_done = synced.rejected.is_none() && !synced.is_incomplete;
    state.stamp = state.stamp.take().filter(|stamp| is_done && stamp.is_settled(now));
    Ok(synced)
}

/// Reads both sides and decides.
async fn look(shadow: &Shadow, record: &Record) -> Result<View, Error> {
    let (main, spec, place, record) = (shadow.main.clone(), shadow.spec.clone(), shadow.place(), record.clone());
    blocking(move || {
        let now = SystemTime::now();
        let own = format!("{HEADS}{}", spec.branch);
        let (inside, checkout) = (open(&place)?, &spec.checkout);
        let read = |folder: &Dir| ref_table::read(folder).map_err(Error::disk("read the refs of", folder.path()));
        let (real, found) = (read(&open(&checkout.common)?)?, read(&inside)?);
        let sides = Sides { own: &own, agreed: &record.refs, real: &real.refs, shadow: &found.refs };
        let plan = reconcile(sides);
        let admin = inside.below(&admin_dir(checkout)).map_err(Error::disk("open", &place))?;
        let mut save = plan.save.clone();
        if let Some(tip) = checkout_state::detached(&admin) {
            save.insert(DETACHED.to_owned(), tip);
        }
        let stash = ref_table::stash(&inside).into_iter().enumerate();
        save.extend(stash.map(|(number, id)| (format!("stash/{number:06}"), id)));
        let repository = main.open()?;
        let saved = saved(&repository, spec.task)?;
        let both = Both::read(checkout, &place)?;
        let agreed = record.checkout.clone().unwrap_or_default();
        let (mut index, mut index_problem) = (None, None);
        // If both changed, the real one counts: the user works there.
        if both.shadow != agreed.shadow && both.real == agreed.real {
            let own = checkout.open()?;
            match checkout_state::check_index(&admin, &spec.folder.join(INDEX_COPY), &own) {
                Ok(checked) => index = checked,
                Err(IndexProblem::Disk(error)) => return Err(error),
                Err(problem) => index_problem = Some(problem.to_string()),
            }
        }
        let odb = repository.odb().map_err(Error::read(&main.path))?;
        let branches = real.refs.iter().filter(|(name, _)| name.starts_with(HEADS)).map(|(_, id)| *id);
        let first = real.refs.get(&own).copied();
        let known = first.into_iter().chain(branches).filter(|id| odb.exists(*id)).take(MAX_KNOWN).collect();
        Ok(View { plan, real, shadow: found, both, save, saved, known, index, index_problem, now })
    })
    .await
}

async fn import_lfs(shadow: &Shadow) -> Result<usize, Error> {
    let stores = vec![shadow.spec.folder.join("lfs/upper"), shadow.place().join("lfs")];
    let to = shadow.spec.checkout.common.join("lfs");
    blocking(move || lfs::import(&stores, &to)).await
}

/// Brings over all objects that the real repository will refer to.
async fn transfer(shadow: &Shadow, view: &View, sandbox: &Arc<dyn Inside>) -> Result<(), TransferError> {
    let present: HashSet<Oid> = view.real.refs.values().chain(view.saved.values()).copied().collect();
    let moved = view.plan.publish.iter().filter_map(|publish| publish.to);
    let diverged = view.plan.diverged.iter().map(|diverged| diverged.shadow);
    let staged = view.index.iter().flat_map(|index| index.missing.iter().copied());
    let tips: HashSet<Oid> = moved.chain(diverged).chain(view.save.values().copied()).chain(staged).collect();
    let tips: Vec<Oid> = tips.difference(&present).copied().collect();
    if tips.is_empty() {
        return Ok(());
    }
    let transfer = Transfer {
        task: shadow.spec.task,
        main: &shadow.main,
        checkout: &shadow.spec.checkout,
        sandbox,
        tips: &tips,
        known: &view.known,
        is_partial: shadow.is_partial,
    };
    transfer.run().await
}

/// Moves the real refs, and writes the real index and HEAD.
async fn publish(shadow: &Shadow, view: &View, synced: &mut Synced) -> Result<(), Error> {
    let (main, task) = (shadow.main.clone(), shadow.spec.task);
    let (plan, save, saved) = (view.plan.clone(), view.save.clone(), view.saved.clone());
    let (published, diverged) = blocking(move || {
        let repository = main.open()?;
        let is_stale = |name: &&String| !save.contains_key(*name) && !name.starts_with(DIVERGED);
        for name in saved.keys().filter(is_stale) {
            refs::delete(&repository, &saved_ref(task, name))?;
        }
        let is_new = |(name, id): &(&String, &Oid)| saved.get(*name) != Some(*id);
        for (name, id) in save.iter().filter(is_new) {
            refs::swap(&repository, &saved_ref(task, name), saved.get(name).copied(), *id, "mxd: saved for the agent")?;
        }
        let mut kept = None;
        if let Some(diverged) = plan.diverged {
            let name = saved_ref(task, &format!("{DIVERGED}{}", diverged.shadow));
            if refs::target(&repository, &name)?.is_none() {
                refs::swap(&repository, &name, None, diverged.shadow, "mxd: the branch was moved meanwhile")?;
            }
            kept = Some(name);
        }
        let Some(change) = plan.publish else { return Ok((None, kept)) };
        let Some(to) = change.to else { return Ok((None, kept)) };
        match refs::swap(&repository, &change.name, change.from, to, "mxd: commits of the agent") {
            Ok(()) => Ok((Some(to.to_string()), kept)),
            // The next sync finds that both sides moved.
            Err(Error::Moved { .. }) => Ok((None, kept)),
            Err(error) => Err(error),
        }
    })
    .await?;
    synced.is_incomplete |= view.plan.publish.is_some() && published.is_none();
    synced.published = published;
    synced.diverged = diverged;
    crash_point("the refs of a shadow are published");
    Ok(())
}

/// Gives the shadow what changed in the real repository.
async fn refresh(shadow: &Shadow, view: &View, sandbox: &Arc<dyn Inside>, synced: &mut Synced) -> Result<(), Error> {
    // Commits that were rejected exist only inside: no ref moves away from them.
    let keep = view.plan.diverged.filter(|_| synced.rejected.is_some()).map(|diverged| diverged.shadow);
    let mut input = String::new();
    for change in view.plan.refresh.iter().filter(|change| keep.is_none() || change.from != keep) {
        let name = &change.name;
        let line = match (change.from, change.to) {
            (None, Some(to)) => format!("create {name} {to}"),
            (Some(from), Some(to)) => format!("update {name} {to} {from}"),
            (Some(from), None) => format!("delete {name} {from}"),
            (None, None) => continue,
        };
        let _ = writeln!(input, "{line}");
        synced.refreshed += 1;
    }
    if input.is_empty() {
        return Ok(());
    }
    let arguments = ["update-ref", "-m", "mxd: moved outside of the sandbox", "--no-deref", "--stdin"];
    let call = Call::inside(&shadow.spec.checkout, Arc::clone(sandbox), arguments);
    match call.input(input.into_bytes()).run().await {
        Ok(_) => {}
        Err(Error::Failed { message, .. }) => {
            tracing::info!(%message, "a shadow was not refreshed; the next sync tries again");
            synced.refreshed = 0;
            synced.is_incomplete = true;
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Writes index and HEAD of the side that is behind, and the record.
async fn settle(shadow: &Shadow, state: &mut State, view: View, synced: &mut Synced) -> Result<(), Error> {
    let (spec, place, folder) = (shadow.spec.clone(), shadow.place(), shadow.spec.folder.clone());
    let (mut record, is_rejected) = (state.record.clone(), synced.rejected.is_some());
    let (record, stamp, is_complete) = blocking(move || {
        let checkout = &spec.checkout;
        let (real, inside) = (open(&checkout.git_dir)?, open(&place)?);
        let admin_path = admin_dir(checkout);
        let admin = inside.below(&admin_path).map_err(Error::disk("open", &place))?;
        let agreed = record.checkout.clone().unwrap_or_default();
        let read = |folder: &Dir| ref_table::read(folder).map_err(Error::disk("read the refs of", folder.path()));
        let (real_refs, shadow_refs) = (read(&open(&checkout.common)?)?, read(&inside)?);
        let mut is_complete = true;
        if view.both.real != agreed.real {
            is_complete &= checkout_state::adopt(&real, &admin)?;
        } else if view.both.shadow != agreed.shadow && !is_rejected && view.index_problem.is_none() {
            let branch = format!("{HEADS}{}", spec.branch);
            let head = checkout_state::head_to_publish(checkout, &branch, &admin, &view.shadow.refs, &real_refs.refs);
            if let Some(head) = head {
                is_complete &= checkout_state::publish_head(&real, &head)?;
            }
            if let Some(index) = view.index {
                is_complete &= index.publish(&real)?;
            }
        }
        crash_point("the index of a shadow is published");
        checkout_state::publish_operation(&place.join(&admin_path), checkout)?;
        let next = agreement(&record.refs, &real_refs.refs, &shadow_refs.refs);
        let has_agreed = is_complete && !is_rejected;
        let mut now = Both::read(checkout, &place)?;
        // What git inside changed since it was read is not published yet.
        if view.both.real == agreed.real {
            now.shadow = view.both.shadow.clone();
        }
        let before = record.clone();
        record.refs = next;
        if has_agreed {
            record.checkout = Some(now);
        }
        if record != before {
            record.write(&folder)?;
        }
        crash_point("an agreement is recorded");
        let real_files = real_refs.watched.iter().map(|path| checkout.common.join(path));
        let shadow_files = shadow_refs.watched.iter().map(|path| place.join(path));
        let own = [&checkout.git_dir, &place.join(&admin_path)].map(|folder| ["HEAD", "index"].map(|n| folder.join(n)));
        let stash = place.join("logs/refs/stash");
        let stamp = Stamp::take(real_files.chain(shadow_files).chain(own.into_iter().flatten()).chain([stash]));
        Ok((record, stamp, is_complete))
    })
    .await?;
    state.record = record;
    state.stamp = Some(stamp);
    synced.is_incomplete |= !is_complete;
    Ok(())
}

fn open(folder: &Path) -> Result<Dir, Error> {
    Dir::open_linked(folder).map_err(|error: io::Error| Error::disk("open", folder)(error))
}
