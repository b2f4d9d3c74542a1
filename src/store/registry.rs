//! `projects.json`: the list of projects. Any process may change it, one at a time.
//!
//! Each project's folder repeats its own entry (`project.json`), written after the list. A lost or damaged list is
//! rebuilt from those.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::base::ProjectId;
use crate::config::paths::ProjectFolder;
use crate::model::project::Project;
use crate::store::disk::Disk;
use crate::store::files::VersionedFile;
use crate::store::{StoreError, lock};

/// The format version that this program writes, and the newest that it reads.
pub const VERSION: u64 = 1;

/// The list of projects on disk.
pub struct Registry {
    disk: Arc<dyn Disk>,
    file: VersionedFile,
    lock: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Format {
    version: u64,
    projects: Vec<Project>,
    #[serde(flatten)]
    extra: Map<String, Value>,
}

impl Default for Format {
    fn default() -> Self {
        Self { version: VERSION, projects: Vec::new(), extra: Map::new() }
    }
}

/// A project's own entry, in its folder.
#[derive(Serialize, Deserialize)]
struct Entry {
    version: u64,
    #[serde(flatten)]
    project: Project,
}

impl Registry {
    pub fn new(disk: Arc<dyn Disk>, path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let file = VersionedFile::new(Arc::clone(&disk), path.clone(), VERSION);
        Self { disk, lock: path.with_extension("lock"), file }
    }

    pub fn path(&self) -> &Path {
        self.file.path()
    }

    pub fn list(&self) -> Result<Vec<Project>, StoreError> {
        Ok(self.file.load::<Format>()?.unwrap_or_default().projects)
    }

    pub fn find(&self, id: ProjectId) -> Result<Option<Project>, StoreError> {
        Ok(self.list()?.into_iter().find(|project| project.id == id))
    }

    pub fn find_path(&self, path: &Path) -> Result<Option<Project>, StoreError> {
        Ok(self.list()?.into_iter().find(|project| project.path == path))
    }

    /// Adds a project, unless its path is already registered. Returns the registered one.
    pub fn register(&self, project: Project) -> Result<Project, StoreError> {
        self.change(|projects| {
            if let Some(known) = projects.iter().find(|known| known.path == project.path) {
                return known.clone();
            }
            projects.push(project.clone());
            project
        })
    }

    /// Reads, changes and saves the list under an exclusive lock.
    pub fn change<T>(&self, change: impl FnOnce(&mut Vec<Project>) -> T) -> Result<T, StoreError> {
        let _guard = lock::exclusive(&self.lock)?;
        let mut format = self.file.load_to_change::<Format>()?.unwrap_or_default();
        let before = format.projects.clone();
        let result = change(&mut format.projects);
        if format.projects != before {
            self.file.save(&format)?;
            for project in format.projects.iter().filter(|project| !before.contains(project)) {
                self.write_entry(project)?;
            }
        }
        Ok(result)
    }

    /// Adds missing projects to the list. Replaces an unreadable list after saving a copy, and returns the path of
    /// the copy. A list of a newer version is not changed.
    pub fn restore(&self, missing: &[Project]) -> Result<Option<PathBuf>, StoreError> {
        let _guard = lock::exclusive(&self.lock)?;
        let (mut format, is_damaged) = match self.file.load::<Format>() {
            Ok(format) => (format.unwrap_or_default(), false),
            Err(StoreError::Corrupt { .. }) => (Format::default(), true),
            Err(error) => return Err(error),
        };
        let known: Vec<ProjectId> = format.projects.iter().map(|project| project.id).collect();
        format.projects.extend(missing.iter().filter(|project| !known.contains(&project.id)).cloned());
        format.projects.sort_by_key(|project| project.id);
        let copy = if is_damaged {
            self.file.overwrite(&format)?
        } else {
            self.file.save(&format)?;
            None
        };
        for project in missing {
            self.write_entry(project)?;
        }
        Ok(copy)
    }

    /// Returns the projects that have a folder, including those missing from the list.
    pub fn folders(&self) -> Result<Vec<(ProjectId, ProjectFolder)>, StoreError> {
        let folder = self.path().with_extension("");
        let names = self.disk.list(&folder).map_err(StoreError::io("list", &folder))?;
        let mut ids: Vec<ProjectId> = names.iter().filter_map(|name| name.to_str()?.parse().ok()).collect();
        ids.sort();
        Ok(ids.into_iter().map(|id| (id, self.folder(id))).collect())
    }

    /// Returns the entry in the folder of a project, or `None` if it is missing or unreadable.
    pub fn entry(&self, id: ProjectId) -> Option<Project> {
        let entry = self.entry_file(id).load::<Entry>().ok()??;
        Some(entry.project).filter(|project| project.id == id)
    }

    /// Writes a project's entry to its folder, unless it is already there.
    pub fn write_entry(&self, project: &Project) -> Result<(), StoreError> {
        if self.entry(project.id).as_ref() == Some(project) {
            return Ok(());
        }
        let file = self.entry_file(project.id);
        let entry = Entry { version: VERSION, project: project.clone() };
        match file.save(&entry) {
            // It is only a copy of the list's entry.
            Err(StoreError::Corrupt { .. }) => file.overwrite(&entry).map(drop),
            saved => saved,
        }
    }

    fn folder(&self, id: ProjectId) -> ProjectFolder {
        ProjectFolder::at(&self.path().with_extension("").join(id.to_string()))
    }

    fn entry_file(&self, id: ProjectId) -> VersionedFile {
        VersionedFile::new(Arc::clone(&self.disk), self.folder(id).entry(), VERSION)
    }
}
