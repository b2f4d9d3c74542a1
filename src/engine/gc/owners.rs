//! The other projects that may own data in a repository: those of this data folder, and those of other data folders
//! that have marked the repository.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use crate::base::TaskId;
use crate::config::paths::{Home, ProjectFolder};
use crate::engine::projects;
use crate::git::discover::RepoLocation;
use crate::model::Project;
use crate::store::tree_file::TreeFile;
use crate::store::{RealDisk, Sessions};

/// Another project and its tasks.
struct OtherProject {
    name: String,
    /// `None` if its data cannot be read, so that any task may be its own.
    tasks: Option<BTreeSet<TaskId>>,
}

/// The other projects that may own data in a repository. Reads them on first use.
pub(super) struct Owners {
    folders: Vec<(String, ProjectFolder)>,
    others: OnceLock<Vec<OtherProject>>,
}

impl Owners {
    pub(super) fn of(home: &Home, project: &Project) -> Self {
        let registry = projects::registry(home);
        let listed = registry.list().unwrap_or_default();
        let mut folders = Vec::new();
        for (id, folder) in registry.folders().unwrap_or_default() {
            if id != project.id {
                let name = listed.iter().find(|known| known.id == id).map(|known| known.name.clone());
                folders.push((format!("the project {}", name.unwrap_or_else(|| id.to_string())), folder));
            }
        }
        let marked = RepoLocation::of(&project.path).map(|place| projects::marks(&place)).unwrap_or_default();
        for owner in marked.into_iter().filter(|owner| owner.project != project.id) {
            let folder = Home::at(&owner.home).project(owner.project);
            if !folders.iter().any(|(_, known)| *known == folder) {
                folders
                    .push((format!("project {} of the data folder {}", owner.project, owner.home.display()), folder));
            }
        }
        Self { folders, others: OnceLock::new() }
    }

    /// Returns why data of a task that this project does not know must stay: it belongs, or may belong, to another
    /// project.
    pub(super) fn claim(&self, task: TaskId) -> Option<String> {
        let others = self.others.get_or_init(|| self.folders.iter().map(OtherProject::read).collect());
        let owner = others.iter().find(|other| other.tasks.as_ref().is_some_and(|tasks| tasks.contains(&task)));
        let owner = owner.map(|other| format!("it belongs to {}", other.name));
        let unread = others.iter().find(|other| other.tasks.is_none());
        owner.or_else(|| unread.map(|other| format!("it may belong to {}, which cannot be read now", other.name)))
    }
}

impl OtherProject {
    fn read((name, folder): &(String, ProjectFolder)) -> Self {
        Self { name: name.clone(), tasks: tasks(folder) }
    }
}

/// Returns every task that a project knows, or `None` if its data cannot be read.
fn tasks(folder: &ProjectFolder) -> Option<BTreeSet<TaskId>> {
    if !folder.root().is_dir() {
        return None;
    }
    let mut tasks: BTreeSet<TaskId> =
        Sessions::new(Arc::new(RealDisk), folder.sessions()).list().ok()?.into_iter().collect();
    if let Some(loaded) = TreeFile::new(Arc::new(RealDisk), folder.tree()).load().ok()? {
        tasks.extend(loaded.tree.all().map(|node| node.id));
    }
    Some(tasks)
}
