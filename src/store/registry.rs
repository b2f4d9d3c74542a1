//! `projects.json`: which repositories are worked on. Changed by any process, one at a time.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::base::ProjectId;
use crate::model::project::Project;
use crate::store::disk::Disk;
use crate::store::files::VersionedFile;
use crate::store::{StoreError, lock};

/// The newest format that this program reads and the one it writes.
pub const VERSION: u64 = 1;

/// The list of projects, on disk.
pub struct Registry {
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

impl Registry {
    pub fn new(disk: Arc<dyn Disk>, path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self { lock: path.with_extension("lock"), file: VersionedFile::new(disk, path, VERSION) }
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

    /// Adds a project, unless its path is registered already. Returns the one that is.
    pub fn register(&self, project: Project) -> Result<Project, StoreError> {
        self.change(|projects| {
            if let Some(known) = projects.iter().find(|known| known.path == project.path) {
                return known.clone();
            }
            projects.push(project.clone());
            project
        })
    }

    /// Reads, changes and saves the list while no other process does.
    pub fn change<T>(&self, change: impl FnOnce(&mut Vec<Project>) -> T) -> Result<T, StoreError> {
        let _guard = lock::exclusive(&self.lock)?;
        let mut format = self.file.load_to_change::<Format>()?.unwrap_or_default();
        let before = format.projects.clone();
        let result = change(&mut format.projects);
        if format.projects != before {
            self.file.save(&format)?;
        }
        Ok(result)
    }
}
