//! Small JSON files with a format version: read with care, replaced as a whole, never overwritten blindly.
//!
//! A file that a newer version wrote, or that no longer parses, is somebody's data. Saving over it is refused, and a
//! copy is put beside it, so that the refusal cannot be answered by deleting the only one.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::{DeserializeOwned, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer as _, Serialize};

use crate::store::disk::{self, Disk};
use crate::store::{StoreError, log, replace};

/// A file at a place, with the newest format this program reads.
#[derive(Clone)]
pub struct VersionedFile {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    known: u64,
}

#[derive(Deserialize)]
struct Probe {
    version: u64,
}

impl VersionedFile {
    pub fn new(disk: Arc<dyn Disk>, path: impl Into<PathBuf>, known: u64) -> Self {
        Self { disk, path: path.into(), known }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the content, or nothing if there is no file.
    pub fn load<T: DeserializeOwned>(&self) -> Result<Option<T>, StoreError> {
        let Some(text) = self.read()? else { return Ok(None) };
        self.parse(&text).map(Some)
    }

    /// As [`VersionedFile::load`], for a change that is to be saved: what cannot be read is kept beside the file.
    pub fn load_to_change<T: DeserializeOwned>(&self) -> Result<Option<T>, StoreError> {
        let Some(text) = self.read()? else { return Ok(None) };
        self.parse(&text).map(Some).or_else(|error| Err(self.refused(&text, error)?))
    }

    /// Keeps a copy of what will not be overwritten, and adds to the reason where it is.
    fn refused(&self, text: &[u8], error: StoreError) -> Result<StoreError, StoreError> {
        let backup = Some(self.keep(text)?);
        Ok(match error {
            StoreError::Corrupt { path, problem, .. } => StoreError::Corrupt { path, problem, backup },
            error => error,
        })
    }

    /// Replaces the content, unless what is there is newer than this program or damaged.
    pub fn save<T: Serialize + DeserializeOwned>(&self, value: &T) -> Result<(), StoreError> {
        if let Some(text) = self.read()?
            && let Err(error) = self.parse::<T>(&text)
        {
            return Err(self.refused(&text, error)?);
        }
        self.write(value)
    }

    /// Replaces the content whatever it is, after keeping a copy of it. Returns where the copy is.
    pub fn overwrite<T: Serialize>(&self, value: &T) -> Result<Option<PathBuf>, StoreError> {
        let kept = self.read()?.map(|text| self.keep(&text)).transpose()?;
        self.write(value)?;
        Ok(kept)
    }

    /// Takes the file away, after keeping a copy of it. Returns where the copy is.
    pub fn set_aside(&self) -> Result<Option<PathBuf>, StoreError> {
        let Some(text) = self.read()? else { return Ok(None) };
        let kept = self.keep(&text)?;
        self.disk.remove(&self.path).map_err(StoreError::io("remove", &self.path))?;
        Ok(Some(kept))
    }

    fn write<T: Serialize>(&self, value: &T) -> Result<(), StoreError> {
        let mut text = serde_json::to_vec_pretty(value)?;
        text.push(b'\n');
        if let Some(folder) = self.path.parent() {
            self.disk.create_dirs(folder).map_err(StoreError::io("create", folder))?;
        }
        replace::replace(self.disk.as_ref(), &self.path, &text)
    }

    fn read(&self) -> Result<Option<Vec<u8>>, StoreError> {
        disk::read_all(self.disk.as_ref(), &self.path).map_err(StoreError::io("read", &self.path))
    }

    fn parse<T: DeserializeOwned>(&self, text: &[u8]) -> Result<T, StoreError> {
        let found = match first_version(text) {
            Some(version) => version,
            None => self.understood::<Probe>(text)?.version,
        };
        if found > self.known {
            return Err(StoreError::Newer { path: self.path.clone(), found, known: self.known });
        }
        self.understood(text)
    }

    fn understood<T: DeserializeOwned>(&self, text: &[u8]) -> Result<T, StoreError> {
        serde_json::from_slice(text).map_err(|error| StoreError::Corrupt {
            path: self.path.clone(),
            problem: match text.trim_ascii_start().first() {
                None => "it is empty".to_owned(),
                Some(b'{') => error.to_string(),
                Some(_) => "it does not hold a JSON object".to_owned(),
            },
            backup: None,
        })
    }

    fn keep(&self, text: &[u8]) -> Result<PathBuf, StoreError> {
        keep_beside(self.disk.as_ref(), &self.path, text)
    }
}

/// Returns the version if it is the first thing that a file says, as it is in every file that we write. The rest is not read.
fn first_version(text: &[u8]) -> Option<u64> {
    struct First(Option<u64>);

    impl<'de> Visitor<'de> for &mut First {
        type Value = IgnoredAny;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<IgnoredAny, A::Error> {
            if map.next_key::<Cow<'_, str>>()?.as_deref() == Some("version") {
                self.0 = Some(map.next_value()?);
            }
            Ok(IgnoredAny)
        }
    }

    let mut first = First(None);
    // Of course there is more behind it: that it was not read to its end is not to be complained of.
    let _ = serde_json::Deserializer::from_slice(text).deserialize_map(&mut first);
    first.0
}

/// Puts a copy of `text`, the content of the file at `path`, beside it. The same content is kept once, however often it
/// is refused. Returns where the copy is.
pub fn keep_beside(disk: &dyn Disk, path: &Path, text: &[u8]) -> Result<PathBuf, StoreError> {
    let hash = blake3::hash(text).to_hex();
    let ending = format!("kept-{}", &hash[..12]);
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{ending}"));
    let kept = PathBuf::from(name);
    let existing = disk::read_all(disk, &kept).map_err(StoreError::io("read", &kept))?;
    if existing.as_deref() == Some(text) {
        return Ok(kept);
    }
    let (kept, mut file) = log::create_beside(disk, path, &ending)?;
    file.append(text).map_err(StoreError::io("write", &kept))?;
    file.sync().map_err(StoreError::io("save", &kept))?;
    let folder = kept.parent().unwrap_or(Path::new("."));
    disk.sync_dir(folder).map_err(StoreError::io("save", folder))?;
    Ok(kept)
}
