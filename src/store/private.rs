//! Keeps the data folder private: what earlier versions made readable for others is closed again.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::config::paths::{Home, ProjectFolder};

/// Folders of a project that only their owner may enter. Worktrees themselves keep the modes that git gives them.
const FOLDERS: [&str; 8] = ["sessions", "blobs", "worktrees", "hooks", "inbox", "logs", "running", "spill"];

/// Takes the rights of others away from the folders and log files of one project. Best effort: what cannot be changed
/// stays as it is, and `mxd doctor` says whether the data folder can be opened by others.
pub fn tighten(home: &Home, project: &ProjectFolder) {
    let logs = home.root().join("logs");
    for folder in [home.root(), &home.project_folders(), &logs, project.root()] {
        close(folder);
    }
    for name in FOLDERS {
        close(&project.root().join(name));
    }
    for folder in [logs, project.logs()] {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            close(&entry.path());
        }
    }
}

/// Leaves a folder or a file its owner's rights only. Links are not followed: what they lead to may be anybody's.
fn close(path: &Path) {
    let closed = (|| {
        let found = fs::symlink_metadata(path)?;
        let mode = found.permissions().mode();
        if (found.is_dir() || found.is_file()) && mode & 0o077 != 0 {
            fs::set_permissions(path, Permissions::from_mode(mode & 0o700))?;
        }
        io::Result::Ok(())
    })();
    if let Err(error) = closed
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(%error, path = %path.display(), "the data folder could not be made private");
    }
}

#[cfg(test)]
#[path = "private_tests.rs"]
mod tests;
