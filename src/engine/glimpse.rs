//! What a project looked like when it was last worked on: its tree, and what its sessions had come to, as both lie on the
//! disk. Something to show while the engine is opened. Nothing is locked, checked, mended or believed: the engine's own
//! snapshot follows, and has the last word.

use std::sync::Arc;

use crate::base::{Fault, SystemClock};
use crate::config::Settings;
use crate::config::paths::ProjectFolder;
use crate::engine::driver::models::{Choice, Models};
use crate::engine::snapshot::{ProjectView, Snapshot, TaskView};
use crate::model::Project;
use crate::store::tree_file::TreeFile;
use crate::store::{Digests, RealDisk};

/// Looks at a project without opening it. Nothing: nobody has worked on it yet.
pub fn glimpse(folder: &ProjectFolder, project: &Project, settings: &Settings) -> Result<Option<Snapshot>, Fault> {
    let Some(rebuilt) = TreeFile::new(Arc::new(RealDisk), folder.tree()).load()? else { return Ok(None) };
    let digests = Digests::load(Arc::new(RealDisk), folder.digests());
    let tasks = rebuilt.tree.all().map(|node| match digests.last_known(node.id) {
        Some(state) => TaskView::kept(node.clone(), &state),
        None => TaskView::of(node.clone()),
    });
    let model = Models::new(settings.clone(), Choice::default(), Arc::new(SystemClock)).of_root();
    let project = ProjectView { model, ..ProjectView::set_up(project, settings) };
    Ok(Some(Snapshot { project, root: rebuilt.tree.root_id(), tasks: tasks.collect(), quiet: true }))
}
