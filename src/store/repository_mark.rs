//! `<git folder>/mxd/owners.json`: which projects work on a repository, and in which data folder each is kept.
//!
//! The file goes where the repository goes, so a repository that was moved is recognised by it, and whoever frees unused refs
//! knows who else may own them. It is no part of the repository's content: git never tracks what lies in its own folder.
//! Whoever wrote the repository wrote this file too, perhaps: it is read in bounds, and never through a link.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::base::ProjectId;
use crate::config::paths::repository_mark;
use crate::store::files::VersionedFile;
use crate::store::{RealDisk, StoreError};

/// The newest format that this program reads and the one it writes.
pub const VERSION: u64 = 1;
/// A mark holds one line for each data folder; a larger file is none of ours.
const MOST_BYTES: u64 = 256 * 1024;

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

/// Returns the projects that a repository is marked with. `common` is its git folder.
pub fn owners(common: &Path) -> Result<Vec<Owner>, StoreError> {
    Ok(load(common)?.owners)
}

/// Marks a repository with a project, and brings the mark of that project up to date.
pub fn add(common: &Path, owner: &Owner) -> Result<(), StoreError> {
    let mut format = load(common)?;
    if format.owners.contains(owner) {
        return Ok(());
    }
    format.owners.retain(|known| known.project != owner.project);
    format.owners.push(owner.clone());
    save(common, &format)
}

/// Marks a repository with one project only: a copy has the mark of what it was copied from.
pub fn replace(common: &Path, owner: &Owner) -> Result<(), StoreError> {
    save(common, &Format { owners: vec![owner.clone()], ..Format::default() })
}

fn load(common: &Path) -> Result<Format, StoreError> {
    let path = repository_mark(common);
    let refused = |problem: &str| StoreError::Corrupt { path: path.clone(), problem: problem.to_owned(), backup: None };
    for part in [path.parent().unwrap_or(common), &path] {
        match fs::symlink_metadata(part) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Format::default()),
            Err(error) => return Err(StoreError::io("look at", part)(error)),
            Ok(found) if part == path && (!found.is_file() || found.len() > MOST_BYTES) => {
                return Err(refused("it is not a small file"));
            }
            Ok(found) if part != path && !found.is_dir() => return Err(refused("its folder is not a folder")),
            Ok(_) => {}
        }
    }
    Ok(file(path).load()?.unwrap_or_default())
}

fn save(common: &Path, format: &Format) -> Result<(), StoreError> {
    file(repository_mark(common)).save(format)
}

fn file(path: PathBuf) -> VersionedFile {
    VersionedFile::new(Arc::new(RealDisk), path, VERSION)
}

#[cfg(test)]
#[path = "repository_mark_tests.rs"]
mod tests;
