//! Finds the project of a repository, even after the repository or the data folder was moved, and restores a lost
//! registry.
//!
//! A project is recognised by its path in the registry, by the mark in the repository's git folder, by the entry in
//! its own folder, and, if an old version left none of these, by the refs of its tasks. [`identify`] and
//! [`find_for_reading`] change nothing; the other functions update all of these.

mod lost;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::base::{Clock as _, Fault, IdSource, ProjectId, SystemClock};
use crate::config::paths::Home;
use crate::engine::queries;
use crate::engine::query::ProjectEntry;
use crate::git::discover::RepoLocation;
use crate::git::worktree::repair_links;
use crate::model::Project;
use crate::model::project::{ProjectMatch, RepositoryEvidence};
use crate::store::RealDisk;
use crate::store::registry::Registry;
use crate::store::repository_owners::{self, Owner};

pub use lost::{LostProject, lost_projects, restore};

/// The relation of a repository to a data folder.
#[derive(Clone, Debug, PartialEq)]
pub enum RepositoryStatus {
    /// The repository belongs to this project, which may be registered with an old path.
    Project(Box<Project>),
    /// The repository belongs to this project, which is not in the registry.
    Unlisted(ProjectId),
    /// The repository is a copy of this project's repository and has no project itself.
    Copy(Box<Project>),
    Unknown,
}

/// Returns the projects of a data folder, with what waits for the user there. Reads files.
pub fn entries(home: &Home) -> Result<Vec<ProjectEntry>, Fault> {
    queries::projects(home)
}

pub fn registry(home: &Home) -> Registry {
    Registry::new(Arc::new(RealDisk), home.projects())
}

/// Finds the project of a repository. Changes nothing.
pub fn identify(home: &Home, place: &RepoLocation) -> Result<RepositoryStatus, Fault> {
    let registry = registry(home);
    let registered = registry.list()?;
    let marked: Vec<ProjectId> = marks(place).into_iter().map(|owner| owner.project).collect();
    let is_known = |id: &ProjectId| registered.iter().any(|project| project.id == *id);
    let unlisted = if marked.iter().all(is_known) { Vec::new() } else { lost::entries(&registry, &registered)? };
    let evidence =
        RepositoryEvidence { top: &place.top, marked: &marked, registered: &registered, unlisted: &unlisted };
    let mut recognised = evidence.recognise(|project| is_elsewhere(project, place));
    if recognised == ProjectMatch::Unknown {
        recognised = lost::by_refs(home, &registry, &registered, place)?;
    }
    let listed = |id: ProjectId| {
        let known = registered.iter().chain(&unlisted).find(|project| project.id == id);
        known.cloned().map(Box::new).ok_or_else(|| Fault::internal("a project was recognised that is not known"))
    };
    Ok(match recognised {
        ProjectMatch::Registered(id) | ProjectMatch::Moved(id) => RepositoryStatus::Project(listed(id)?),
        ProjectMatch::Unlisted(id) => RepositoryStatus::Unlisted(id),
        ProjectMatch::Copy(id) => RepositoryStatus::Copy(listed(id)?),
        ProjectMatch::Unknown => RepositoryStatus::Unknown,
    })
}

/// Finds the project of a repository for reading, with its current path. Changes nothing.
pub fn find_for_reading(home: &Home, place: &RepoLocation) -> Result<Option<Project>, Fault> {
    Ok(match identify(home, place)? {
        RepositoryStatus::Project(project) if is_at(&project, place) => Some(*project),
        RepositoryStatus::Project(project) => Some(project.moved_to(&place.top)),
        RepositoryStatus::Unlisted(_) | RepositoryStatus::Copy(_) | RepositoryStatus::Unknown => None,
    })
}

/// Finds the project of a repository. If the repository was moved, updates the registered path and relinks the
/// worktrees. Adds missing marks.
pub fn find(home: &Home, place: &RepoLocation) -> Result<Option<Project>, Fault> {
    match identify(home, place)? {
        RepositoryStatus::Project(project) => attach(home, place, &project).map(Some),
        RepositoryStatus::Unlisted(id) => Err(unlisted(home, id)),
        RepositoryStatus::Copy(_) | RepositoryStatus::Unknown => Ok(None),
    }
}

/// Like [`find`], but registers a project if the repository has none. `base` provides its base branch. The second part
/// of the result is true if the project is new.
pub fn find_or_register(
    home: &Home,
    place: &RepoLocation,
    base: impl FnOnce() -> Result<String, Fault>,
) -> Result<(Project, bool), Fault> {
    let status = identify(home, place)?;
    let is_copy = match status {
        RepositoryStatus::Project(project) => return Ok((attach(home, place, &project)?, false)),
        RepositoryStatus::Unlisted(id) => return Err(unlisted(home, id)),
        RepositoryStatus::Copy(_) => true,
        RepositoryStatus::Unknown => false,
    };
    let project = registry(home).register(new_project(&place.top, &base()?))?;
    let owner = Owner { project: project.id, home: canonical(home.root()) };
    let marked = if is_copy {
        repository_owners::replace(&place.common, &owner)
    } else {
        repository_owners::add(&place.common, &owner)
    };
    if let Err(error) = marked {
        tracing::warn!(%error, "the repository could not be marked; if it is moved, it is not recognised");
    }
    Ok((project, true))
}

/// Returns the owners that have marked a repository. Empty if the mark cannot be read.
pub fn marks(place: &RepoLocation) -> Vec<Owner> {
    repository_owners::owners(&place.common).unwrap_or_else(|error| {
        tracing::warn!(%error, "the mark of the repository cannot be read");
        Vec::new()
    })
}

fn attach(home: &Home, place: &RepoLocation, project: &Project) -> Result<Project, Fault> {
    let registry = registry(home);
    let owner = Owner { project: project.id, home: canonical(home.root()) };
    let mut current = if is_at(project, place) { project.clone() } else { project.moved_to(&place.top) };
    let owners = marks(place);
    let mark = owners.iter().find(|known| known.project == owner.project);
    let former = mark.filter(|mark| mark.home != owner.home).map(|mark| Home::at(&mark.home).project(project.id));
    let is_copied = former.as_ref().is_some_and(|former| former.root().is_dir());
    if let Some(former) = former.filter(|_| !is_copied) {
        current.note_former(former.root());
    }
    if current != *project {
        registry.change(|projects| {
            projects.iter_mut().filter(|known| known.id == current.id).for_each(|known| known.clone_from(&current));
        })?;
        tracing::info!(from = %project.path.display(), to = %current.path.display(), "the project was moved");
        match repair_links(&place.common, &home.project(project.id).worktrees()) {
            Ok(repaired) => tracing::info!(count = repaired.len(), "worktrees were linked again"),
            Err(error) => tracing::warn!(%error, "worktrees could not be linked again"),
        }
    }
    // Both only help later. A repository or a data folder that is read-only can still be used.
    if !is_copied && let Err(error) = repository_owners::add(&place.common, &owner) {
        tracing::warn!(%error, "the repository could not be marked; if it is moved, it is not recognised");
    }
    if let Err(error) = registry.write_entry(&current) {
        tracing::warn!(%error, "the project's own entry could not be written");
    }
    Ok(current)
}

/// Returns true if a project is registered for this repository, possibly with another spelling of the path.
fn is_at(project: &Project, place: &RepoLocation) -> bool {
    project.path == place.top || RepoLocation::of(&project.path).is_ok_and(|there| there.is_same(place))
}

/// Returns true if the project's own repository still exists and is not the one at `place`.
fn is_elsewhere(project: &Project, place: &RepoLocation) -> bool {
    let there = RepoLocation::of(&project.path).ok().filter(|there| there.top == project.path && !there.is_same(place));
    there.is_some_and(|there| match repository_owners::owners(&there.common) {
        Ok(owners) => owners.iter().any(|owner| owner.project == project.id),
        Err(_) => true,
    })
}

fn unlisted(home: &Home, id: ProjectId) -> Fault {
    let (list, folder) = (home.projects(), home.project(id));
    let message = format!(
        "this repository belongs to project {id}, which {} does not list; its data is in {}",
        list.display(),
        folder.root().display()
    );
    Fault::config(message).hint("restore it: `mxd check --repair`")
}

fn canonical(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn new_project(top: &Path, branch: &str) -> Project {
    let id = ProjectId::fresh(&IdSource::new(Arc::new(SystemClock)));
    Project {
        id,
        name: folder_name(top),
        path: top.to_owned(),
        base_branch: branch.to_owned(),
        created_at: SystemClock.now(),
        former: Vec::new(),
        extra: serde_json::Map::new(),
    }
}

fn folder_name(top: &Path) -> String {
    top.file_name().map_or_else(|| "project".to_owned(), |name| name.to_string_lossy().into_owned())
}
