//! Which project a repository belongs to, also after it, or the data folder, was moved; and a registry that was lost.
//!
//! A project is known by its path in the registry, by the mark in the repository's git folder, by its own entry in its folder,
//! and, where an earlier version left none of these, by the refs of its tasks. [`look`] changes nothing; the others bring
//! all of them up to date.

mod lost;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::base::{Clock as _, Fault, IdSource, ProjectId, SystemClock};
use crate::config::paths::Home;
use crate::git::place::Place;
use crate::git::worktree::repair_links;
use crate::model::Project;
use crate::model::project::{Evidence, Recognised};
use crate::store::RealDisk;
use crate::store::registry::Registry;
use crate::store::repository_mark::{self, Owner};

pub use lost::{Lost, lost, restore};

/// What a repository is to a data folder.
#[derive(Clone, Debug, PartialEq)]
pub enum Standing {
    /// It is the repository of this project, which may still be registered for another path.
    Project(Box<Project>),
    /// It is the repository of this project, which is not in the registry.
    Unlisted(ProjectId),
    /// It is a copy of the repository of this project, and has none itself.
    Copy(Box<Project>),
    Unknown,
}

pub fn registry(home: &Home) -> Registry {
    Registry::new(Arc::new(RealDisk), home.projects())
}

/// Finds the project of a repository. Changes nothing.
pub fn look(home: &Home, place: &Place) -> Result<Standing, Fault> {
    let registry = registry(home);
    let registered = registry.list()?;
    let marked: Vec<ProjectId> = marks(place).into_iter().map(|owner| owner.project).collect();
    let is_known = |id: &ProjectId| registered.iter().any(|project| project.id == *id);
    let unlisted = if marked.iter().all(is_known) { Vec::new() } else { lost::entries(&registry, &registered)? };
    let evidence = Evidence { top: &place.top, marked: &marked, registered: &registered, unlisted: &unlisted };
    let mut recognised = evidence.recognise(|project| is_elsewhere(project, place));
    if recognised == Recognised::Unknown {
        recognised = lost::by_refs(home, &registry, &registered, place)?;
    }
    let listed = |id: ProjectId| {
        let known = registered.iter().chain(&unlisted).find(|project| project.id == id);
        known.cloned().map(Box::new).ok_or_else(|| Fault::internal("a project was recognised that is not known"))
    };
    Ok(match recognised {
        Recognised::Registered(id) | Recognised::Moved(id) => Standing::Project(listed(id)?),
        Recognised::Unlisted(id) => Standing::Unlisted(id),
        Recognised::Copy(id) => Standing::Copy(listed(id)?),
        Recognised::Unknown => Standing::Unknown,
    })
}

/// Finds the project of a repository for reading: as it would be if it was attached. Changes nothing.
pub fn peek(home: &Home, place: &Place) -> Result<Option<Project>, Fault> {
    Ok(match look(home, place)? {
        Standing::Project(project) if is_at(&project, place) => Some(*project),
        Standing::Project(project) => Some(project.moved_to(&place.top)),
        Standing::Unlisted(_) | Standing::Copy(_) | Standing::Unknown => None,
    })
}

/// Finds the project of a repository. One whose repository was moved is registered for the new path, and its worktrees are
/// linked to it again; the marks of one that an earlier version registered are written.
pub fn find(home: &Home, place: &Place) -> Result<Option<Project>, Fault> {
    match look(home, place)? {
        Standing::Project(project) => attach(home, place, &project).map(Some),
        Standing::Unlisted(id) => Err(unlisted(home, id)),
        Standing::Copy(_) | Standing::Unknown => Ok(None),
    }
}

/// As [`find`]. A repository without a project gets one, with the base branch that `base` gives. Tells whether it is new.
pub fn find_or_register(
    home: &Home,
    place: &Place,
    base: impl FnOnce() -> Result<String, Fault>,
) -> Result<(Project, bool), Fault> {
    let standing = look(home, place)?;
    let is_copy = match standing {
        Standing::Project(project) => return Ok((attach(home, place, &project)?, false)),
        Standing::Unlisted(id) => return Err(unlisted(home, id)),
        Standing::Copy(_) => true,
        Standing::Unknown => false,
    };
    let project = registry(home).register(new_project(&place.top, &base()?))?;
    let owner = Owner { project: project.id, home: spelled(home.root()) };
    let marked = if is_copy {
        repository_mark::replace(&place.common, &owner)
    } else {
        repository_mark::add(&place.common, &owner)
    };
    if let Err(error) = marked {
        tracing::warn!(%error, "the repository could not be marked; if it is moved, it is not recognised");
    }
    Ok((project, true))
}

/// Returns the owners that a repository is marked with. A mark that cannot be read is none.
pub fn marks(place: &Place) -> Vec<Owner> {
    repository_mark::owners(&place.common).unwrap_or_else(|error| {
        tracing::warn!(%error, "the mark of the repository cannot be read");
        Vec::new()
    })
}

fn attach(home: &Home, place: &Place, project: &Project) -> Result<Project, Fault> {
    let registry = registry(home);
    let owner = Owner { project: project.id, home: spelled(home.root()) };
    let mut current = if is_at(project, place) { project.clone() } else { project.moved_to(&place.top) };
    let owners = marks(place);
    let mark = owners.iter().find(|known| known.project == owner.project);
    let was = mark.filter(|mark| mark.home != owner.home).map(|mark| Home::at(&mark.home).project(project.id));
    let is_copied = was.as_ref().is_some_and(|was| was.root().is_dir());
    if let Some(was) = was.filter(|_| !is_copied) {
        current.note_former(was.root());
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
    // Both only help later on: a repository or a data folder that cannot be written to can still be looked at.
    if !is_copied && let Err(error) = repository_mark::add(&place.common, &owner) {
        tracing::warn!(%error, "the repository could not be marked; if it is moved, it is not recognised");
    }
    if let Err(error) = registry.write_entry(&current) {
        tracing::warn!(%error, "the project's own entry could not be written");
    }
    Ok(current)
}

/// Tells whether a project is registered for this very repository, perhaps by another spelling of its path.
fn is_at(project: &Project, place: &Place) -> bool {
    project.path == place.top || Place::of(&project.path).is_ok_and(|there| there.is_same(place))
}

/// Tells whether the path of a project still has its repository, and that is not the one at `place`.
fn is_elsewhere(project: &Project, place: &Place) -> bool {
    let there = Place::of(&project.path).ok().filter(|there| there.top == project.path && !there.is_same(place));
    there.is_some_and(|there| match repository_mark::owners(&there.common) {
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
    Fault::config(message).hint("put it back into the list: `mxd check --repair`")
}

fn spelled(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Returns a project for the repository whose top folder is `top`.
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
