//! Finds and restores projects that have data but are missing in the registry.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::base::{Fault, ProjectId, Timestamp};
use crate::config::paths::{Home, ProjectFolder};
use crate::git::discover::RepoLocation;
use crate::model::Project;
use crate::model::event::Body;
use crate::model::message::MessageSource;
use crate::model::project::ProjectMatch;
use crate::model::stated_cwd;
use crate::store::registry::Registry;
use crate::store::tree_file::TreeFile;
use crate::store::{RealDisk, Sessions, line};

/// A project that is missing in the registry.
#[derive(Clone, Debug, PartialEq)]
pub struct LostProject {
    pub id: ProjectId,
    pub folder: ProjectFolder,
    /// Its entry, from its folder or derived. `None` if its repository cannot be found.
    pub entry: Option<Project>,
    /// The entry was derived, so its base branch is the branch that is checked out now.
    pub is_derived: bool,
}

/// Returns the projects that have data and are not in the registry, or all that have data if the registry cannot be
/// read. One of them may belong to the repository at `here`.
pub fn lost_projects(home: &Home, here: Option<&RepoLocation>) -> Result<Vec<LostProject>, Fault> {
    let registry = super::registry(home);
    let registered = registry.list().unwrap_or_default();
    let mut found = Vec::new();
    for (id, folder) in folders(&registry, &registered)? {
        let entry = registry.entry(id);
        let is_derived = entry.is_none();
        let entry = entry.or_else(|| derive(id, &folder, here));
        found.push(LostProject { id, folder, entry, is_derived });
    }
    Ok(found)
}

/// Puts projects back into the registry. Returns the backup of a damaged registry, if one was made.
pub fn restore(home: &Home, lost: &[LostProject]) -> Result<Option<PathBuf>, Fault> {
    let entries: Vec<Project> = lost.iter().filter_map(|lost| lost.entry.clone()).collect();
    Ok(super::registry(home).restore(&entries)?)
}

/// Returns the entries that unregistered projects have in their folders.
pub(super) fn entries(registry: &Registry, registered: &[Project]) -> Result<Vec<Project>, Fault> {
    let folders = folders(registry, registered)?;
    Ok(folders.into_iter().filter_map(|(id, _)| registry.entry(id)).collect())
}

/// Recognises a repository by the refs of its tasks, for a project that an old version registered. Considers only
/// projects whose registered repository is gone.
pub(super) fn by_refs(
    home: &Home,
    registry: &Registry,
    registered: &[Project],
    place: &RepoLocation,
) -> Result<ProjectMatch, Fault> {
    let is_there = |project: &Project| RepoLocation::of(&project.path).is_ok_and(|there| there.top == project.path);
    let moved = registered.iter().filter(|project| !is_there(project));
    let moved: Vec<_> = moved.map(|project| (ProjectMatch::Moved(project.id), home.project(project.id))).collect();
    let unlisted = folders(registry, registered)?.into_iter().filter(|(id, _)| registry.entry(*id).is_none());
    let unlisted = unlisted.map(|(id, folder)| (ProjectMatch::Unlisted(id), folder));
    let candidates: Vec<_> = moved.into_iter().chain(unlisted).collect();
    if candidates.is_empty() {
        return Ok(ProjectMatch::Unknown);
    }
    let tasks = place.tasks();
    let owns = |folder: &ProjectFolder| tasks.iter().any(|task| folder.session(*task).exists());
    let found = candidates.into_iter().find(|(_, folder)| owns(folder));
    Ok(found.map_or(ProjectMatch::Unknown, |(recognised, _)| recognised))
}

/// Returns the folders of unregistered projects that have data.
fn folders(registry: &Registry, registered: &[Project]) -> Result<Vec<(ProjectId, ProjectFolder)>, Fault> {
    let mut folders = registry.folders()?;
    folders.retain(|(id, _)| !registered.iter().any(|project| project.id == *id));
    folders.retain(|(_, folder)| folder.entry().exists() || folder.tree().exists() || folder.sessions().exists());
    Ok(folders)
}

/// Derives the entry of a project that an old version registered.
fn derive(id: ProjectId, folder: &ProjectFolder, here: Option<&RepoLocation>) -> Option<Project> {
    let owned = |place: &&RepoLocation| place.tasks().iter().any(|task| folder.session(*task).exists());
    let place = by_worktrees(folder).or_else(|| by_session(folder)).or_else(|| here.filter(owned).cloned())?;
    let created = i64::try_from(id.ulid().timestamp_ms()).unwrap_or(0);
    Some(Project {
        id,
        name: super::folder_name(&place.top),
        base_branch: place.branch().unwrap_or_else(|_| "main".to_owned()),
        path: place.top,
        created_at: Timestamp::from_millis(created),
        former: Vec::new(),
        extra: serde_json::Map::new(),
    })
}

/// Returns the repository that a worktree of the project is linked to.
fn by_worktrees(folder: &ProjectFolder) -> Option<RepoLocation> {
    let inside = std::fs::read_dir(folder.worktrees()).into_iter().flatten().flatten().map(|entry| entry.path());
    inside.filter(|path| path.join(".git").is_file()).find_map(|path| {
        let place = RepoLocation::of(&path).ok()?;
        (place.linked.as_deref() == Some(&path)).then_some(place)
    })
}

/// Returns the repository that the root's session names as its working directory.
fn by_session(folder: &ProjectFolder) -> Option<RepoLocation> {
    let sessions = Sessions::new(Arc::new(RealDisk), folder.sessions());
    let tree = TreeFile::new(Arc::new(RealDisk), folder.tree()).load().ok().flatten();
    let root = match tree {
        Some(loaded) => loaded.tree.root_id(),
        // The root has the oldest session.
        None => sessions.list().ok()?.first().copied()?,
    };
    let mut stated = None;
    let scanned = sessions.scan(root, |span| {
        let header = span.bytes.and_then(|bytes| line::parse(bytes).header()).filter(|header| header.kind == "message");
        if let Some(Body::Message(message)) = header.map(|header| header.into_event().body)
            && message.from == MessageSource::WorkContext
        {
            stated = stated_cwd::of(&message).map(PathBuf::from).or(stated.take());
        }
    });
    scanned.ok()?;
    let stated: PathBuf = stated?;
    RepoLocation::of(&stated).ok().filter(|place| place.top == Path::new(&stated))
}
