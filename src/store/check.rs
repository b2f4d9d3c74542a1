//! Checks every file of a project, describes the problems, and repairs what can be repaired without loss.

mod sessions;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::base::Timestamp;
use crate::model::content::BlobId;
use crate::model::tree::Tree;
use crate::store::disk::Disk;
use crate::store::session::Sessions;
use crate::store::tree_file::{self, RecordedTree, TreeFile, UnfinishedChanges};
use crate::store::{Blobs, StoreError, replace};

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckSeverity {
    /// For information; nothing is lost.
    Note,
    /// Something is wrong and can be repaired.
    Warning,
    /// Something is lost or unreadable.
    Error,
}

/// The result of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing to do.
    Noted,
    /// `--repair` would fix it.
    Repairable,
    Repaired,
    /// It cannot be repaired.
    Remains,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckFinding {
    pub severity: CheckSeverity,
    pub outcome: Outcome,
    pub path: PathBuf,
    pub sentence: String,
}

/// Whether to repair. Repairing needs the project's lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    No,
    /// Another process works on the project: its unfinished changes look like damage, and are left alone.
    Busy,
    Yes {
        now: Timestamp,
    },
}

/// The paths of a project's files.
#[derive(Clone, Debug)]
pub struct ProjectFiles {
    pub tree: PathBuf,
    pub sessions: PathBuf,
    pub blobs: PathBuf,
}

/// The findings of a check, and the number of items checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub findings: Vec<CheckFinding>,
    pub sessions: usize,
    pub events: usize,
    pub blobs: usize,
}

impl Report {
    /// Returns true if there is a problem that was not repaired.
    pub fn has_problems(&self) -> bool {
        self.findings.iter().any(|finding| {
            finding.severity > CheckSeverity::Note && matches!(finding.outcome, Outcome::Repairable | Outcome::Remains)
        })
    }

    /// Adds damage of a crash, which a repair removes.
    fn add_repairable(&mut self, repair: Repair, path: &Path, sentence: impl Into<String>) {
        let (severity, outcome) = match repair {
            Repair::No => (CheckSeverity::Warning, Outcome::Repairable),
            Repair::Busy => (CheckSeverity::Note, Outcome::Noted),
            Repair::Yes { .. } => (CheckSeverity::Warning, Outcome::Repaired),
        };
        self.add(severity, outcome, path, sentence);
    }

    fn add(&mut self, severity: CheckSeverity, outcome: Outcome, path: &Path, sentence: impl Into<String>) {
        self.findings.push(CheckFinding { severity, outcome, path: path.to_owned(), sentence: sentence.into() });
    }
}

/// Checks the files of one project.
pub fn check(disk: &Arc<dyn Disk>, places: &ProjectFiles, repair: Repair) -> Result<Report, StoreError> {
    let mut report = Report::default();
    let sessions = Sessions::new(disk.clone(), &places.sessions);
    let blobs = Blobs::new(disk.clone(), &places.blobs);
    let mut referenced = BTreeSet::new();
    for task in sessions.list()? {
        let checked = sessions::check(disk.as_ref(), &sessions, task, repair, &mut report, &mut referenced);
        if let Err(error) = checked {
            report.add(CheckSeverity::Error, Outcome::Remains, &sessions.path(task), format!("not checked: {error}"));
        }
    }
    check_tree(disk, places, &sessions, repair, &mut report)?;
    check_blobs(disk.as_ref(), &blobs, &referenced, repair, &mut report)?;
    for folder in [places.tree.parent().unwrap_or(Path::new(".")), &places.sessions, &places.blobs] {
        remove_unfinished(disk.as_ref(), folder, repair, &mut report)?;
    }
    Ok(report)
}

/// Compares the tree with the recorded changes of the sessions. Sessions are written first, so they win.
fn check_tree(
    disk: &Arc<dyn Disk>,
    places: &ProjectFiles,
    sessions: &Sessions,
    repair: Repair,
    report: &mut Report,
) -> Result<(), StoreError> {
    let mut file = TreeFile::new(disk.clone(), &places.tree);
    let mut recorded = tree_file::nodes_in(sessions)?;
    let (mut root, mut notes, mut damaged) = (None, Vec::new(), None);
    let mut last_number = recorded.last_number;
    match file.load() {
        Ok(None) if recorded.nodes.is_empty() => return Ok(()),
        Ok(None) => notes.push("the tree file is missing; it can be rebuilt from the sessions".to_owned()),
        Ok(Some(loaded)) => {
            root = Some(loaded.tree.root_id());
            last_number = last_number.max(Some(loaded.tree.last_number()));
            notes.extend(loaded.notes);
            remove_unfinished_changes(&mut file, sessions, &mut recorded, repair, report)?;
            merge(&loaded.tree, &mut recorded, &mut notes);
        }
        Err(StoreError::Newer { found, known, .. }) => {
            let sentence = format!(
                "written by a newer version (format {found}, this version reads up to {known}); use that version, or \
                 move the file away and repair: the tree is rebuilt from the sessions"
            );
            report.add(CheckSeverity::Error, Outcome::Remains, &places.tree, sentence);
            return Ok(());
        }
        Err(StoreError::Corrupt { problem, .. }) => {
            damaged = Some(format!("the tree cannot be read ({problem})"));
        }
        Err(error) => return Err(error),
    }
    let Some(rebuilt) = Tree::from_nodes_after(last_number, root, recorded.nodes.into_values()) else {
        let problem = damaged.unwrap_or_else(|| "every task in it was removed".to_owned());
        let sentence = format!("{problem}, and no session has a task to rebuild it from; a repair moves it aside");
        report.add_repairable(repair_of_tree(repair), &places.tree, sentence);
        if let Repair::Yes { .. } = repair
            && let Some(copy) = file.move_aside()?
        {
            report.add(CheckSeverity::Note, Outcome::Noted, &copy, "the tree before it was moved aside");
        }
        return Ok(());
    };
    notes.extend(rebuilt.notes);
    if notes.is_empty() && damaged.is_none() {
        return Ok(());
    }
    if let Some(problem) = damaged {
        report.add_repairable(
            repair_of_tree(repair),
            &places.tree,
            format!("{problem}; it can be rebuilt from the sessions"),
        );
    }
    for note in notes {
        report.add_repairable(repair, &places.tree, note);
    }
    if let Repair::Yes { .. } = repair
        && let Some(copy) = file.overwrite(&rebuilt.tree)?
    {
        report.add(CheckSeverity::Note, Outcome::Noted, &copy, "the tree before it was rebuilt");
    }
    Ok(())
}

/// Removes the remains of an interrupted delete or import from the recorded tree, and deletes empty sessions.
fn remove_unfinished_changes(
    file: &mut TreeFile,
    sessions: &Sessions,
    recorded: &mut RecordedTree,
    repair: Repair,
    report: &mut Report,
) -> Result<(), StoreError> {
    let UnfinishedChanges { removed, importing, numbered: _ } = file.unfinished_changes().clone();
    recorded.nodes.retain(|task, _| !removed.contains(task) && !importing.contains(task));
    recorded.removed.extend(removed);
    let unfinished = match repair {
        Repair::Yes { .. } => file.remove_unfinished(sessions)?,
        Repair::No | Repair::Busy => file.unfinished(sessions)?,
    };
    for path in unfinished {
        report.add_repairable(repair, &path, "left over from an interrupted import or change; it belongs to no task");
    }
    Ok(())
}

/// The tree is replaced atomically: damage in it is real, even while another process works on the project.
fn repair_of_tree(repair: Repair) -> Repair {
    match repair {
        Repair::No | Repair::Busy => Repair::No,
        Repair::Yes { .. } => repair,
    }
}

/// Adds the nodes of `tree` that no session has a newer version of, and describes the differences.
fn merge(tree: &Tree, recorded: &mut RecordedTree, notes: &mut Vec<String>) {
    let RecordedTree { nodes, removed, last_number: _ } = recorded;
    for (id, node) in nodes.iter() {
        match tree.get(*id) {
            None => notes.push(format!("task {id} (\"{}\") has a session and is not in the tree", node.title)),
            Some(known) if node.updated_at > known.updated_at => {
                notes.push(format!("task {id} (\"{}\") changed after the tree was last saved", node.title));
            }
            Some(_) => {}
        }
    }
    for known in tree.all() {
        if removed.contains(&known.id) {
            notes.push(format!("task {} (\"{}\") was removed after the tree was last saved", known.id, known.title));
            continue;
        }
        let newer = nodes.get(&known.id).is_some_and(|node| node.updated_at > known.updated_at);
        if !newer {
            nodes.insert(known.id, known.clone());
        }
    }
}

fn check_blobs(
    disk: &dyn Disk,
    blobs: &Blobs,
    referenced: &BTreeSet<BlobId>,
    _repair: Repair,
    report: &mut Report,
) -> Result<(), StoreError> {
    let folder = blobs.folder();
    let names = disk.list(folder).map_err(StoreError::io("list", folder))?;
    let present: BTreeSet<BlobId> = names.iter().filter_map(|name| name.to_str()?.parse().ok()).collect();
    report.blobs = present.len();
    for blob in &present {
        let sentence = match blobs.is_intact(blob) {
            Ok(true) => continue,
            Ok(false) => "its content does not match its name; the original content is lost".to_owned(),
            Err(error) => format!("not checked: {error}"),
        };
        report.add(CheckSeverity::Error, Outcome::Remains, &blobs.path(blob), sentence);
    }
    for blob in referenced.difference(&present) {
        let sentence = "a session refers to it, but it does not exist; that output or image is lost";
        report.add(CheckSeverity::Error, Outcome::Remains, &blobs.path(blob), sentence);
    }
    Ok(())
}

fn remove_unfinished(disk: &dyn Disk, folder: &Path, repair: Repair, report: &mut Report) -> Result<(), StoreError> {
    let names = disk.list(folder).map_err(StoreError::io("list", folder))?;
    for name in names.iter().filter(|name| replace::is_unfinished(name)) {
        let path = folder.join(name);
        if let Repair::Yes { .. } = repair {
            disk.remove(&path).map_err(StoreError::io("remove", &path))?;
        }
        report.add_repairable(repair, &path, "left over from an unfinished write; it holds no data");
    }
    Ok(())
}
