//! Demo folders in the system's temporary folder.
//!
//! Each has a file that its process keeps locked. A folder whose file is not locked belongs to a demo that was killed,
//! so it can be deleted.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use super::disk_use::entries;

/// The prefix of the folder names.
const NAME: &str = "mxd-demo-";
const IN_USE: &str = "in-use";

/// A demo folder. Dropping it deletes the folder.
#[derive(Debug)]
pub struct DemoDir {
    folder: PathBuf,
    /// Holds the lock.
    _in_use: File,
}

impl DemoDir {
    /// Creates a folder below `temporary` that only the user can access.
    pub fn make(temporary: &Path, name: &str) -> io::Result<Self> {
        let folder = temporary.join(format!("{NAME}{name}"));
        fs::DirBuilder::new().mode(0o700).create(&folder)?;
        let locked = File::create_new(folder.join(IN_USE)).and_then(|file| file.lock().map(|()| file));
        match locked {
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

impl Drop for DemoDir {
    fn drop(&mut self) {
        // If this fails, the next demo or `mxd gc` removes it.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Returns the folders of demos that were killed. Only real folders of the current user: everyone can write to the
/// temporary folder.
pub fn abandoned(temporary: &Path) -> Vec<PathBuf> {
    let me = rustix::process::geteuid().as_raw();
    let is_abandoned = |folder: &PathBuf| {
        let named = folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with(NAME));
        named && folder.symlink_metadata().is_ok_and(|found| found.is_dir() && found.uid() == me) && is_free(folder)
    };
    entries(temporary).into_iter().filter(is_abandoned).collect()
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
    fn a_folder_without_a_lock_is_abandoned_and_one_in_use_is_deleted_on_drop() {
        let temporary = tempfile::tempdir().unwrap();
        let demo = DemoDir::make(temporary.path(), "a").unwrap();
        let folder = demo.folder().to_owned();
        assert_eq!(folder.symlink_metadata().unwrap().mode() & 0o777, 0o700);
        // A killed process leaves the folder and a file that is not locked.
        let killed = temporary.path().join("mxd-demo-b");
        fs::create_dir(&killed).unwrap();
        fs::write(killed.join(IN_USE), "").unwrap();
        // Not demo folders.
        fs::create_dir(temporary.path().join("mxd-demo-c")).unwrap();
        fs::create_dir(temporary.path().join("other")).unwrap();
        fs::write(temporary.path().join("other").join(IN_USE), "").unwrap();
        std::os::unix::fs::symlink(temporary.path().join("other"), temporary.path().join("mxd-demo-d")).unwrap();
        assert_eq!(abandoned(temporary.path()), [killed]);
        assert!(DemoDir::make(temporary.path(), "a").is_err(), "a folder is never shared");
        drop(demo);
        assert!(!folder.exists());
        assert_eq!(abandoned(&temporary.path().join("missing")), Vec::<PathBuf>::new());
    }
}
