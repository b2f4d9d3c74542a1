//! Folders in the system's temporary folder in which a demo is played.
//!
//! Each holds a file that is locked for as long as its process lives. A folder whose file nobody holds belongs to a demo
//! that was killed, and can go.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use super::disk_use::inside;

/// How the name of such a folder begins.
const NAME: &str = "mxd-demo-";
const IN_USE: &str = "in-use";

/// A folder to play in. Everything in it goes when this is dropped.
#[derive(Debug)]
pub struct Stage {
    folder: PathBuf,
    /// Held, so that nobody takes the folder for abandoned.
    _in_use: File,
}

impl Stage {
    /// Makes a folder of the given name below `temporary`, for the person alone.
    pub fn make(temporary: &Path, name: &str) -> io::Result<Self> {
        let folder = temporary.join(format!("{NAME}{name}"));
        fs::DirBuilder::new().mode(0o700).create(&folder)?;
        let claimed = File::create_new(folder.join(IN_USE)).and_then(|file| file.lock().map(|()| file));
        match claimed {
            Ok(in_use) => Ok(Self { folder, _in_use: in_use }),
            Err(error) => {
                let _ = fs::remove_dir_all(&folder);
                Err(error)
            }
        }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // What cannot be removed now is found by the next demo, and by `mxd gc`.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Returns the folders of demos that were killed. Only the person's own, and never through a link: anybody can write
/// where they lie.
pub fn abandoned(temporary: &Path) -> Vec<PathBuf> {
    let me = rustix::process::geteuid().as_raw();
    let is_abandoned = |folder: &PathBuf| {
        let named = folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with(NAME));
        named && folder.symlink_metadata().is_ok_and(|found| found.is_dir() && found.uid() == me) && is_free(folder)
    };
    inside(temporary).into_iter().filter(is_abandoned).collect()
}

fn is_free(folder: &Path) -> bool {
    let mark = folder.join(IN_USE);
    let is_file = mark.symlink_metadata().is_ok_and(|found| found.is_file());
    is_file && File::open(mark).is_ok_and(|file| file.try_lock().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_folder_that_nobody_holds_is_abandoned_and_what_is_in_use_goes_by_itself() {
        let temporary = tempfile::tempdir().unwrap();
        let stage = Stage::make(temporary.path(), "a").unwrap();
        let folder = stage.folder().to_owned();
        assert_eq!(folder.symlink_metadata().unwrap().mode() & 0o777, 0o700);
        // As a process leaves it that is killed: the folder stays, and nobody holds its file.
        let killed = temporary.path().join("mxd-demo-b");
        fs::create_dir(&killed).unwrap();
        fs::write(killed.join(IN_USE), "").unwrap();
        // Nobody's, or not ours to judge.
        fs::create_dir(temporary.path().join("mxd-demo-c")).unwrap();
        fs::create_dir(temporary.path().join("other")).unwrap();
        fs::write(temporary.path().join("other").join(IN_USE), "").unwrap();
        std::os::unix::fs::symlink(temporary.path().join("other"), temporary.path().join("mxd-demo-d")).unwrap();
        assert_eq!(abandoned(temporary.path()), [killed]);
        assert!(Stage::make(temporary.path(), "a").is_err(), "a folder is never shared");
        drop(stage);
        assert!(!folder.exists());
        assert_eq!(abandoned(&temporary.path().join("missing")), Vec::<PathBuf>::new());
    }
}
