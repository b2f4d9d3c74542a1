//! `<git folder>/mxd/owners.json`: the projects that work on a repository, and their data folders.
//!
//! The file moves with the repository, so a moved repository is recognised by it, and gc of unused refs knows who
//! else may own them. git never tracks files in its own folder. The file is untrusted, like the repository: its size
//! is limited, and links are not followed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::base::ProjectId;
use crate::config::paths::owners_file;
use crate::store::files::VersionedFile;
use crate::store::{RealDisk, StoreError};

/// The format version that this program writes, and the newest that it reads.
pub const VERSION: u64 = 1;
/// The file has one line for each data folder; a larger file was not written by Matrix.
const MAX_BYTES: u64 = 256 * 1024;

/// A project that works on a repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    pub project: ProjectId,
    /// The data folder of that project when it was last opened.
    pub home: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Format {
    version: u64,
    owners: Vec<Owner>,
    #[serde(flatten)]
    extra: Map<String, Value>,
}

impl Default for Format {
    fn default() -> Self {
        Self { version: VERSION, owners: Vec::new(), extra: Map::new() }
    }
}

/// Returns the projects of a repository. `common` is its git folder.
pub fn owners(common: &Path) -> Result<Vec<Owner>, StoreError> {
    Ok(load(common)?.owners)
}

/// Adds a project to a repository, or updates its entry.
pub fn add(common: &Path, owner: &Owner) -> Result<(), StoreError> {
    let mut format = load(common)?;
    if format.owners.contains(owner) {
        return Ok(());
    }
    format.owners.retain(|known| known.project != owner.project);
    format.owners.push(owner.clone());
    save(common, &format)
}

/// Makes a project the only one of a repository. A copied repository has the owners of its original.
pub fn replace(common: &Path, owner: &Owner) -> Result<(), StoreError> {
    save(common, &Format { owners: vec![owner.clone()], ..Format::default() })
}

fn load(common: &Path) -> Result<Format, StoreError> {
    let path = owners_file(common);
    let refused = |problem: &str| StoreError::Corrupt { path: path.clone(), problem: problem.to_owned(), backup: None };
    for part in [path.parent().unwrap_or(common), &path] {
        match fs::symlink_metadata(part) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Format::default()),
            Err(error) => return Err(StoreError::io("look at", part)(error)),
            Ok(found) if part == path && (!found.is_file() || found.len() > MAX_BYTES) => {
                return Err(refused("it is not a small file"));
            }
            Ok(found) if part != path && !found.is_dir() => return Err(refused("its folder is not a folder")),
            Ok(_) => {}
        }
    }
    Ok(file(path).load()?.unwrap_or_default())
}

fn save(common: &Path, format: &Format) -> Result<(), StoreError> {
    file(owners_file(common)).save(format)
}

fn file(path: PathBuf) -> VersionedFile {
    VersionedFile::new(Arc::new(RealDisk), path, VERSION)
}

#[cfg(test)]
#[path = "repository_owners_tests.rs"]
mod tests;
