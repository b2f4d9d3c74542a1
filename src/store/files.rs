//! Small JSON files with a format version: replaced atomically, never overwritten blindly.
//!
//! A file that was written by a newer version, or that no longer parses, is user data. Saving over it is refuse, and
//! a copy is saved next to it, so that deleting the file does not lose the only copy.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::{DeserializeOwned, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer as _, Serialize};

use crate::store::disk::{self, Disk};
use crate::store::{StoreError, log, replace};

/// A file and the newest format that this program reads.
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

    /// Returns the content, or `None` if there is no file.
    pub fn load<T: DeserializeOwned>(&self) -> Result<Option<T>, StoreError> {
        let Some(text) = self.read()? else { return Ok(None) };
        self.parse(&text).map(Some)
    }

    /// Like [`VersionedFile::load`], before a save: saves a copy of a file that cannot be read.
    pub fn load_to_change<T: DeserializeOwned>(&self) -> Result<Option<T>, StoreError> {
        let Some(text) = self.read()? else { return Ok(None) };
        self.parse(&text).map(Some).or_else(|error| Err(self.refuse(&text, error)?))
    }

    /// Saves a copy of a file that must not be overwritten, and adds its path to the error.
    fn refuse(&self, text: &[u8], error: StoreError) -> Result<StoreError, StoreError> {
        let backup = Some(self.back_up(text)?);
        Ok(match error {
            StoreError::Corrupt { path, problem, .. } => StoreError::Corrupt { path, problem, backup },
            error => error,
        })
    }

    /// Replaces the content, unless it is damaged or newer than this program.
    pub fn save<T: Serialize + DeserializeOwned>(&self, value: &T) -> Result<(), StoreError> {
        if let Some(text) = self.read()?
            && let Err(error) = self.parse::<T>(&text)
        {
            return Err(self.refuse(&text, error)?);
        }
        self.write(value)
    }

    /// Replaces any content after saving a copy of it. Returns the path of the copy.
    pub fn overwrite<T: Serialize>(&self, value: &T) -> Result<Option<PathBuf>, StoreError> {
        let copy = self.read()?.map(|text| self.back_up(&text)).transpose()?;
        self.write(value)?;
        Ok(copy)
    }

    /// Removes the file after saving a copy of it. Returns the path of the copy.
    pub fn move_aside(&self) -> Result<Option<PathBuf>, StoreError> {
        let Some(text) = self.read()? else { return Ok(None) };
        let copy = self.back_up(&text)?;
        self.disk.remove(&self.path).map_err(StoreError::io("remove", &self.path))?;
        Ok(Some(copy))
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
            None => self.decode::<Probe>(text)?.version,
        };
        if found > self.known {
            return Err(StoreError::Newer { path: self.path.clone(), found, known: self.known });
        }
        self.decode(text)
    }

    fn decode<T: DeserializeOwned>(&self, text: &[u8]) -> Result<T, StoreError> {
        serde_json::from_slice(text).map_err(|error| StoreError::Corrupt {
            path: self.path.clone(),
            problem: match text.trim_ascii_start().first() {
                None => "it is empty".to_owned(),
                Some(b'{') => error.to_string(),
                Some(_) => "it is not a JSON object".to_owned(),
            },
            backup: None,
        })
    }

    fn back_up(&self, text: &[u8]) -> Result<PathBuf, StoreError> {
        back_up_beside(self.disk.as_ref(), &self.path, text)
    }
}

/// Returns the version if it is the first field, as in every file that Matrix writes. The rest is not parsed.
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
    // An error only means that the rest was not parsed.
    let _ = serde_json::Deserializer::from_slice(text).deserialize_map(&mut first);
    first.0
}

/// Saves a copy of `text`, the content of the file at `path`, next to it. Equal content is copied once. Returns the
/// path of the copy.
pub fn back_up_beside(disk: &dyn Disk, path: &Path, text: &[u8]) -> Result<PathBuf, StoreError> {
    let hash = blake3::hash(text).to_hex();
    let ending = format!("kept-{}", &hash[..12]);
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{ending}"));
    let copy = PathBuf::from(name);
    let existing = disk::read_all(disk, &copy).map_err(StoreError::io("read", &copy))?;
    if existing.as_deref() == Some(text) {
        return Ok(copy);
    }
    let (copy, mut file) = log::create_beside(disk, path, &ending)?;
    file.append(text).map_err(StoreError::io("write", &copy))?;
    file.sync().map_err(StoreError::io("save", &copy))?;
    let folder = copy.parent().unwrap_or(Path::new("."));
    disk.sync_dir(folder).map_err(StoreError::io("save", folder))?;
    Ok(copy)
}
