//! Reads every file of a project, says in sentences what is wrong, and mends what can be mended without loss.

mod sessions;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::base::Timestamp;
use crate::model::content::BlobId;
use crate::model::tree::Tree;
use crate::store::disk::Disk;
use crate::store::session::Sessions;
use crate::store::tree_file::{self, Remembered, TreeFile, Unsettled};
use crate::store::{Blobs, StoreError, replace};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing; nothing is lost.
    Note,
    /// Something is not as it should be, and it can be mended.
    Warning,
    /// Something is lost or unreadable.
    Error,
}

/// What became of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing to do.
    Noted,
    /// `--repair` would mend it.
    Mendable,
    Mended,
    /// It has to stay as it is.
    Remains,
}

/// One thing that a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub severity: Severity,
    pub outcome: Outcome,
    pub path: PathBuf,
    pub sentence: String,
}

/// Whether to mend. Mending needs the project's lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    No,
    /// Another process works on the project: what it is in the middle of looks unfinished, and is none of our business.
    Busy,
    Yes {
        now: Timestamp,
    },
}

/// Where a project's files are.
#[derive(Clone, Debug)]
pub struct Places {
    pub tree: PathBuf,
    pub sessions: PathBuf,
    pub blobs: PathBuf,
}

/// What a check looked at and what it found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub findings: Vec<Finding>,
    pub sessions: usize,
    pub events: usize,
    pub blobs: usize,
}

impl Report {
    /// Tells whether something is wrong and was not mended.
    pub fn has_problems(&self) -> bool {
        self.findings.iter().any(|finding| {
            finding.severity > Severity::Note && matches!(finding.outcome, Outcome::Mendable | Outcome::Remains)
        })
    }

    /// Adds what a crash leaves behind and mending puts right.
    fn add_mendable(&mut self, repair: Repair, path: &Path, sentence: impl Into<String>) {
        let (severity, outcome) = match repair {
            Repair::No => (Severity::Warning, Outcome::Mendable),
            Repair::Busy => (Severity::Note, Outcome::Noted),
            Repair::Yes { .. } => (Severity::Warning, Outcome::Mended),
        };
        self.add(severity, outcome, path, sentence);
    }

    fn add(&mut self, severity: Severity, outcome: Outcome, path: &Path, sentence: impl Into<String>) {
        self.findings.push(Finding { severity, outcome, path: path.to_owned(), sentence: sentence.into() });
    }
}

/// Checks the files of one project.
pub fn check(disk: &Arc<dyn Disk>, places: &Places, repair: Repair) -> Result<Report, StoreError> {
    let mut report = Report::default();
    let sessions = Sessions::new(disk.clone(), &places.sessions);
    let blobs = Blobs::new(disk.clone(), &places.blobs);
    let mut referenced = BTreeSet::new();
    for task in sessions.list()? {
        let checked = sessions::check(disk.as_ref(), &sessions, task, repair, &mut report, &mut referenced);
        if let Err(error) = checked {
            report.add(Severity::Error, Outcome::Remains, &sessions.path(task), format!("not checked: {error}"));
        }
    }
    check_tree(disk, places, &sessions, repair, &mut report)?;
    check_blobs(disk.as_ref(), &blobs, &referenced, repair, &mut report)?;
    for folder in [places.tree.parent().unwrap_or(Path::new(".")), &places.sessions, &places.blobs] {
        remove_unfinished(disk.as_ref(), folder, repair, &mut report)?;
    }
    Ok(report)
}

/// Compares the tree with what the sessions remember of it. They are written first, so they win.
fn check_tree(
    disk: &Arc<dyn Disk>,
    places: &Places,
    sessions: &Sessions,
    repair: Repair,
    report: &mut Report,
) -> Result<(), StoreError> {
    let mut file = TreeFile::new(disk.clone(), &places.tree);
    let mut remembered = tree_file::nodes_in(sessions)?;
    let (mut root, mut notes, mut damaged) = (None, Vec::new(), None);
    match file.load() {
        Ok(None) if remembered.nodes.is_empty() => return Ok(()),
        Ok(None) => notes.push("the tree is missing; the sessions remember it".to_owned()),
        Ok(Some(loaded)) => {
            root = Some(loaded.tree.root_id());
            notes.extend(loaded.notes);
            settle(&mut file, sessions, &mut remembered, repair, report)?;
            merge(&loaded.tree, &mut remembered, &mut notes);
        }
        Err(StoreError::Newer { found, known, .. }) => {
            let sentence = format!(
                "a newer version wrote it (format {found}, this version reads up to {known}); use that one, or move the \
                 file away and repair: the sessions remember the tree"
            );
            report.add(Severity::Error, Outcome::Remains, &places.tree, sentence);
            return Ok(());
        }
        Err(StoreError::Corrupt { problem, .. }) => {
            damaged = Some(format!("the tree cannot be read ({problem})"));
        }
        Err(error) => return Err(error),
    }
    let Some(rebuilt) = Tree::from_nodes(root, remembered.nodes.into_values()) else {
        let problem = damaged.unwrap_or_else(|| "every task in it was removed".to_owned());
        let sentence = format!("{problem} and no session remembers a task to rebuild it from; mending moves it aside");
        report.add_mendable(certain(repair), &places.tree, sentence);
        if let Repair::Yes { .. } = repair
            && let Some(copy) = file.set_aside()?
        {
            report.add(Severity::Note, Outcome::Noted, &copy, "what the tree was before it was moved aside");
        }
        return Ok(());
    };
    notes.extend(rebuilt.notes);
    if notes.is_empty() && damaged.is_none() {
        return Ok(());
    }
    if let Some(problem) = damaged {
        report.add_mendable(certain(repair), &places.tree, format!("{problem}; the sessions remember it"));
    }
    for note in notes {
        report.add_mendable(repair, &places.tree, note);
    }
    if let Repair::Yes { .. } = repair
        && let Some(copy) = file.overwrite(&rebuilt.tree)?
    {
        report.add(Severity::Note, Outcome::Noted, &copy, "what the tree was before it was rebuilt");
    }
    Ok(())
}

/// Takes out of what the sessions remember what a killed delete or import left, and removes what holds nothing.
fn settle(
    file: &mut TreeFile,
    sessions: &Sessions,
    remembered: &mut Remembered,
    repair: Repair,
    report: &mut Report,
) -> Result<(), StoreError> {
    let Unsettled { removed, importing } = file.unsettled().clone();
    remembered.nodes.retain(|task, _| !removed.contains(task) && !importing.contains(task));
    remembered.removed.extend(removed);
    let unfinished = match repair {
        Repair::Yes { .. } => file.remove_unfinished(sessions)?,
        Repair::No | Repair::Busy => file.unfinished(sessions)?,
    };
    for path in unfinished {
        report.add_mendable(repair, &path, "left by an import or a change that was cut short; it belongs to no task");
    }
    Ok(())
}

/// The tree is replaced in one step: damage in it is damage, whoever works on the project.
fn certain(repair: Repair) -> Repair {
    match repair {
        Repair::No | Repair::Busy => Repair::No,
        Repair::Yes { .. } => repair,
    }
}

/// Adds the nodes of `tree` that no session knows better, and says where the two differ.
fn merge(tree: &Tree, remembered: &mut Remembered, notes: &mut Vec<String>) {
    let Remembered { nodes, removed } = remembered;
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
            Ok(false) => "its content is not what its name says; what it held is lost".to_owned(),
            Err(error) => format!("not checked: {error}"),
        };
        report.add(Severity::Error, Outcome::Remains, &blobs.path(blob), sentence);
    }
    for blob in referenced.difference(&present) {
        let sentence = "a session refers to it and it does not exist; that output or image is lost";
        report.add(Severity::Error, Outcome::Remains, &blobs.path(blob), sentence);
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
        report.add_mendable(repair, &path, "left behind by a write that never finished; it holds nothing that counts");
    }
    Ok(())
}
