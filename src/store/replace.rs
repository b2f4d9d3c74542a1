//! Replaces files atomically: every reader and every restart sees the old content or the new, never a mixture.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::store::StoreError;
use crate::store::disk::{Disk, Open};
use crate::store::lock::is_alive;

/// The suffix of a file that is being written.
const UNFINISHED: &str = ".mxd-tmp";

/// Replaces the content of `path`. When it returns, the new content survives a power loss.
pub fn replace(disk: &dyn Disk, path: &Path, content: &[u8]) -> Result<(), StoreError> {
    replace_with(disk, path, |out| out(content))
}

/// Like [`replace`], with content that `produce` delivers in pieces.
pub fn replace_with<E: From<StoreError>>(
    disk: &dyn Disk,
    path: &Path,
    produce: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<(), StoreError>) -> Result<(), E>,
) -> Result<(), E> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let temporary = unfinished_name(path);
    let written = write(disk, &temporary, produce)
        .and_then(|()| Ok(disk.rename(&temporary, path).map_err(StoreError::io("replace", path))?));
    if let Err(error) = written {
        // A leftover file does no harm; the next start removes it.
        let _ = disk.remove(&temporary);
        return Err(error);
    }
    Ok(disk.sync_dir(folder).map_err(StoreError::io("save", folder))?)
}

fn write<E: From<StoreError>>(
    disk: &dyn Disk,
    path: &Path,
    produce: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<(), StoreError>) -> Result<(), E>,
) -> Result<(), E> {
    let mut file = match disk.open(path, Open::CreateNew) {
        // A crashed process with the same pid left it.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            disk.remove(path).and_then(|()| disk.open(path, Open::CreateNew))
        }
        opened => opened,
    }
    .map_err(StoreError::io("create", path))?;
    produce(&mut |content: &[u8]| file.append(content).map_err(StoreError::io("write", path)))?;
    Ok(file.sync().map_err(StoreError::io("save", path))?)
}

fn unfinished_name(path: &Path) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut name = path.file_name().unwrap_or(OsStr::new("file")).to_owned();
    name.push(format!(".{}-{number}{UNFINISHED}", std::process::id()));
    path.with_file_name(name)
}

/// Removes the unfinished files of dead processes from a folder. A file that cannot be removed does no harm.
pub fn sweep(disk: &dyn Disk, folder: &Path) {
    let names = disk.list(folder).unwrap_or_default();
    for name in names.iter().filter(|name| is_unfinished(name) && writer(name).is_none_or(|pid| !is_alive(pid))) {
        let _ = disk.remove(&folder.join(name));
    }
}

/// Returns the process that wrote an unfinished file.
fn writer(name: &OsStr) -> Option<u32> {
    let (_, mark) = name.to_str()?.strip_suffix(UNFINISHED)?.rsplit_once('.')?;
    mark.split_once('-')?.0.parse().ok()
}

/// Returns true if a file is left over from an unfinished replacement.
pub fn is_unfinished(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| name.ends_with(UNFINISHED))
}

#[cfg(test)]
#[path = "replace_tests.rs"]
mod tests;
