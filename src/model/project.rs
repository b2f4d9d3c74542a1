//! A project: a git repository that Matrix works on, and how it is recognised after a move.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::base::{ProjectId, Timestamp};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Project {
    pub id: ProjectId,
    pub name: String,
    /// The root folder of its main checkout.
    pub path: PathBuf,
    /// The branch of the root task, into which finished work is merged.
    pub base_branch: String,
    pub created_at: Timestamp,
    /// Earlier folders of the repository or its worktrees. Conversations may still name them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former: Vec<PathBuf>,
    /// Fields of a newer version, preserved.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Project {
    /// Returns the project after its repository was moved to `top`. A name derived from the folder follows it.
    #[must_use]
    pub fn moved_to(&self, top: &Path) -> Self {
        let mut moved = self.clone();
        if self.path.file_name().is_some_and(|name| *name.to_string_lossy() == *self.name)
            && let Some(name) = top.file_name()
        {
            moved.name = name.to_string_lossy().into_owned();
        }
        moved.note_former(&self.path);
        top.clone_into(&mut moved.path);
        moved.former.retain(|folder| folder != top);
        moved
    }

    /// Records a folder that is no longer in use.
    pub fn note_former(&mut self, folder: &Path) {
        if !self.former.iter().any(|known| known == folder) {
            self.former.push(folder.to_owned());
        }
    }
}

/// The relation of a repository to the registered projects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProjectMatch {
    /// This project is registered at its path.
    Registered(ProjectId),
    /// It belongs to this project, whose registered path no longer has it.
    Moved(ProjectId),
    /// It belongs to this project, which has data but is missing from the registry.
    Unlisted(ProjectId),
    /// It is a copy of this project's repository, without a project of its own.
    Copy(ProjectId),
    Unknown,
}

/// The facts about the repository at `top` and the projects that could own it.
pub struct RepositoryEvidence<'a> {
    pub top: &'a Path,
    /// The projects in the owners file of its git folder.
    pub marked: &'a [ProjectId],
    pub registered: &'a [Project],
    /// Projects with data that are missing from the registry.
    pub unlisted: &'a [Project],
}

impl RepositoryEvidence<'_> {
    /// Decides whose repository it is. `is_elsewhere` returns true if the path of a project still has its repository
    /// and that is a different one. The owners file moves with a repository, so it counts more than the path.
    pub fn recognise(&self, is_elsewhere: impl Fn(&Project) -> bool) -> ProjectMatch {
        let by_mark = |projects: &[Project]| -> Vec<Project> {
            let marked = self.marked.iter().filter_map(|id| projects.iter().find(|project| project.id == *id));
            marked.cloned().collect()
        };
        let (registered, unlisted) = (by_mark(self.registered), by_mark(self.unlisted));
        if let Some(project) = registered.iter().find(|project| project.path == self.top) {
            return ProjectMatch::Registered(project.id);
        }
        if let Some(project) = registered.iter().find(|project| !is_elsewhere(project)) {
            return ProjectMatch::Moved(project.id);
        }
        if let Some(project) = self.registered.iter().find(|project| project.path == self.top) {
            return ProjectMatch::Registered(project.id);
        }
        if let Some(project) = unlisted.iter().find(|project| project.path == self.top || !is_elsewhere(project)) {
            return ProjectMatch::Unlisted(project.id);
        }
        match registered.first().or(unlisted.first()) {
            Some(project) => ProjectMatch::Copy(project.id),
            None => ProjectMatch::Unknown,
        }
    }
}

#[cfg(test)]
#[path = "project_tests.rs"]
mod tests;
