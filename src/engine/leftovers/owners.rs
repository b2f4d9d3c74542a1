//! Who else may own what lies in a repository: the other projects of this data folder, and those of other data folders that
//! the repository is marked with.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use crate::base::TaskId;
use crate::config::paths::{Home, ProjectFolder};
use crate::engine::projects;
use crate::git::place::Place;
use crate::model::Project;
use crate::store::tree_file::TreeFile;
use crate::store::{RealDisk, Sessions};

/// Another project, and the tasks that are its own.
struct Other {
    called: String,
    /// `None`: its data cannot be read, so that anything may be its own.
    tasks: Option<BTreeSet<TaskId>>,
}

/// The other projects that may own something in a repository. Read when the first question is asked.
pub(super) struct Owners {
    folders: Vec<(String, ProjectFolder)>,
    others: OnceLock<Vec<Other>>,
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
        let marked = Place::of(&project.path).map(|place| projects::marks(&place)).unwrap_or_default();
        for owner in marked.into_iter().filter(|owner| owner.project != project.id) {
            let folder = Home::at(&owner.home).project(owner.project);
            if !folders.iter().any(|(_, known)| *known == folder) {
                folders
                    .push((format!("project {} of the data folder {}", owner.project, owner.home.display()), folder));
            }
        }
        Self { folders, others: OnceLock::new() }
    }

    /// Returns why something of a task that this project does not know has to stay: it is, or may be, another project's.
    pub(super) fn claim(&self, task: TaskId) -> Option<String> {
        let others = self.others.get_or_init(|| self.folders.iter().map(Other::read).collect());
        let owner = others.iter().find(|other| other.tasks.as_ref().is_some_and(|tasks| tasks.contains(&task)));
        let owner = owner.map(|other| format!("it belongs to {}", other.called));
        let unread = others.iter().find(|other| other.tasks.is_none());
        owner.or_else(|| unread.map(|other| format!("it may belong to {}, which cannot be read now", other.called)))
    }
}

impl Other {
    fn read((called, folder): &(String, ProjectFolder)) -> Self {
        Self { called: called.clone(), tasks: tasks(folder) }
    }
}

/// Returns every task that a project knows. `None`: it cannot be read.
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
