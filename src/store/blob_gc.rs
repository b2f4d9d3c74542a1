//! Finds blobs that nothing refers to.
//!
//! A reference is the blob's name anywhere in the given files, including unreadable lines, rewound events and the
//! rest of torn writes. Callers that delete the result must hold the project's lock.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::model::content::BlobId;
use crate::store::StoreError;
use crate::store::disk::{Disk, Open};

/// The number of hex digits of a name.
const NAME: usize = 64;
const CHUNK: usize = 256 << 10;

/// Returns the blobs in `folder` whose names are in none of `files`, with their sizes.
pub fn unused_blobs(disk: &dyn Disk, folder: &Path, files: &[PathBuf]) -> Result<BTreeMap<BlobId, u64>, StoreError> {
    let names = disk.list(folder).map_err(StoreError::io("list", folder))?;
    let mut unused = BTreeMap::new();
    for blob in names.iter().filter_map(|name| name.to_str()?.parse::<BlobId>().ok()) {
        let path = folder.join(blob.as_str());
        let size = disk.open(&path, Open::Read).and_then(|file| file.len()).map_err(StoreError::io("open", &path))?;
        unused.insert(blob, size);
    }
    for file in files {
        if unused.is_empty() {
            break;
        }
        names_in(disk, file, |name| {
            if let Ok(blob) = name.parse::<BlobId>() {
                unused.remove(&blob);
            }
        })?;
    }
    Ok(unused)
}

/// Calls `each` with every sequence of 64 hex digits in a file.
fn names_in(disk: &dyn Disk, path: &Path, mut each: impl FnMut(&str)) -> Result<(), StoreError> {
    let failed = || StoreError::io("read", path);
    let file = disk.open(path, Open::Read).map_err(failed())?;
    let mut chunk = vec![0; CHUNK];
    let (mut run, mut offset) = (String::new(), 0);
    loop {
        let read = file.read_at(&mut chunk, offset).map_err(failed())?;
        if read == 0 {
            return Ok(());
        }
        for byte in &chunk[..read] {
            if byte.is_ascii_digit() || matches!(byte, b'a'..=b'f') {
                // Any part of a longer sequence may be a name.
                if run.len() == NAME {
                    run.remove(0);
                }
                run.push(char::from(*byte));
                if run.len() == NAME {
                    each(&run);
                }
            } else {
                run.clear();
            }
        }
        offset += read as u64;
    }
}

#[cfg(test)]
#[path = "blob_gc_tests.rs"]
mod tests;
