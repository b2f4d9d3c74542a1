//! Blobs: large outputs and images next to the logs, named by the hash of their content.
//!
//! A blob is complete or absent: it gets its name only when its bytes are on the disk, and it is written before the
//! event that refers to it. Equal content is stored once.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::model::content::{BlobId, BlobRef};
use crate::store::disk::{self, Disk, Open};
use crate::store::{StoreError, replace};

/// The number of bytes read at a time.
const CHUNK: usize = 64 << 10;

#[derive(Clone)]
pub struct Blobs {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
}

impl Blobs {
    pub fn new(disk: Arc<dyn Disk>, folder: impl Into<PathBuf>) -> Self {
        Self { disk, folder: folder.into() }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn path(&self, blob: &BlobId) -> PathBuf {
        self.folder.join(blob.as_str())
    }

    /// Stores `bytes` and returns the reference to them. Returns once they are on the disk.
    pub fn put(&self, bytes: &[u8]) -> Result<BlobRef, StoreError> {
        let blob = name_of(bytes);
        let reference = BlobRef { blob, bytes: bytes.len() as u64 };
        let path = self.path(&reference.blob);
        if self.len(&path)? == Some(reference.bytes) {
            // The process that stored it may have died before its name was on the disk.
            self.disk.sync_dir(&self.folder).map_err(StoreError::io("save", &self.folder))?;
            return Ok(reference);
        }
        self.disk.create_dirs(&self.folder).map_err(StoreError::io("create", &self.folder))?;
        replace::replace(self.disk.as_ref(), &path, bytes)?;
        Ok(reference)
    }

    /// Moves the file at `path` into the blobs, without reading it into memory as a whole. It must be on the same
    /// file system.
    pub fn take(&self, path: &Path) -> Result<BlobRef, StoreError> {
        let mut file = self.disk.open(path, Open::Append).map_err(StoreError::io("open", path))?;
        let mut hasher = blake3::Hasher::new();
        let (mut chunk, mut bytes) = (vec![0; CHUNK], 0);
        loop {
            let read = file.read_at(&mut chunk, bytes).map_err(StoreError::io("read", path))?;
            if read == 0 {
                break;
            }
            hasher.update(&chunk[..read]);
            bytes += read as u64;
        }
        let reference = BlobRef { blob: BlobId::of_hash(hasher.finalize().as_bytes()), bytes };
        let blob_path = self.path(&reference.blob);
        let is_new = self.len(&blob_path)? != Some(bytes);
        if is_new {
            file.sync().map_err(StoreError::io("save", path))?;
            self.disk.create_dirs(&self.folder).map_err(StoreError::io("create", &self.folder))?;
            self.disk.rename(path, &blob_path).map_err(StoreError::io("move", path))?;
        }
        self.disk.sync_dir(&self.folder).map_err(StoreError::io("save", &self.folder))?;
        // Only now is an earlier blob of the same name certainly on the disk.
        if !is_new {
            self.disk.remove(path).map_err(StoreError::io("remove", path))?;
        }
        Ok(reference)
    }

    pub fn read(&self, blob: &BlobId) -> Result<Vec<u8>, StoreError> {
        let path = self.path(blob);
        let content = disk::read_all(self.disk.as_ref(), &path).map_err(StoreError::io("read", &path))?;
        content.ok_or_else(|| StoreError::io("read", &path)(io::ErrorKind::NotFound.into()))
    }

    /// Returns true if the content of a blob matches its name.
    pub fn is_intact(&self, blob: &BlobId) -> Result<bool, StoreError> {
        Ok(name_of(&self.read(blob)?) == *blob)
    }

    fn len(&self, path: &Path) -> Result<Option<u64>, StoreError> {
        match self.disk.open(path, Open::Read).and_then(|file| file.len()) {
            Ok(len) => Ok(Some(len)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::io("open", path)(error)),
        }
    }
}

fn name_of(bytes: &[u8]) -> BlobId {
    BlobId::of_hash(blake3::hash(bytes).as_bytes())
}

#[cfg(test)]
#[path = "blobs_tests.rs"]
mod tests;
