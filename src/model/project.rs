//! A project: a git repository that Matrix works on, and how one is recognised after it was moved.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::base::{ProjectId, Timestamp};

/// A registered repository.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Project {
    pub id: ProjectId,
    pub name: String,
    /// The top folder of its main checkout.
    pub path: PathBuf,
    /// The branch that the root works on and finished work goes to.
    pub base_branch: String,
    pub created_at: Timestamp,
    /// Folders that the repository or its worktrees were in before they were moved. Conversations may still name them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former: Vec<PathBuf>,
    /// Fields of a newer version, kept as they are.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Project {
    /// Returns the project after its repository was moved to `top`. A name that came from the folder follows it.
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

    /// Notes a folder that is no longer in use.
    pub fn note_former(&mut self, folder: &Path) {
        if !self.former.iter().any(|known| known == folder) {
            self.former.push(folder.to_owned());
        }
    }
}

/// How a repository relates to the projects of a data folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recognised {
    /// This project is registered for it, at its path.
    Registered(ProjectId),
    /// It belongs to this project, whose registered path no longer has it.
    Moved(ProjectId),
    /// It belongs to this project, whose data is there and which the registry lacks.
    Unlisted(ProjectId),
    /// It is a copy of the repository of this project, and has none itself.
    Copy(ProjectId),
    Unknown,
}

/// What is known about the repository at `top` and about the projects that could own it.
pub struct Evidence<'a> {
    pub top: &'a Path,
    /// The projects that the mark in its git folder names.
    pub marked: &'a [ProjectId],
    pub registered: &'a [Project],
    /// Projects with data whose entry in the registry is missing.
    pub unlisted: &'a [Project],
}

impl Evidence<'_> {
    /// Decides whose repository it is. `is_elsewhere` tells whether the path of a project still holds its repository, as
    /// a different one than this. The mark goes with a repository that is moved, so it counts more than the path.
    pub fn recognise(&self, is_elsewhere: impl Fn(&Project) -> bool) -> Recognised {
        let by_mark = |projects: &[Project]| -> Vec<Project> {
            let marked = self.marked.iter().filter_map(|id| projects.iter().find(|project| project.id == *id));
            marked.cloned().collect()
        };
        let (registered, unlisted) = (by_mark(self.registered), by_mark(self.unlisted));
        if let Some(project) = registered.iter().find(|project| project.path == self.top) {
            return Recognised::Registered(project.id);
        }
        if let Some(project) = registered.iter().find(|project| !is_elsewhere(project)) {
            return Recognised::Moved(project.id);
        }
        if let Some(project) = self.registered.iter().find(|project| project.path == self.top) {
            return Recognised::Registered(project.id);
        }
        if let Some(project) = unlisted.iter().find(|project| project.path == self.top || !is_elsewhere(project)) {
            return Recognised::Unlisted(project.id);
        }
        match registered.first().or(unlisted.first()) {
            Some(project) => Recognised::Copy(project.id),
            None => Recognised::Unknown,
        }
    }
}

#[cfg(test)]
#[path = "project_tests.rs"]
mod tests;
