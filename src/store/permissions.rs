//! Keeps the data folder private: removes permissions that earlier versions gave to others.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::config::paths::{Home, ProjectFolder};

/// Folders of a project that only their owner may enter. Worktrees keep the modes that git gives them.
const FOLDERS: [&str; 8] = ["sessions", "blobs", "worktrees", "hooks", "inbox", "logs", "running", "spill"];

/// Removes the permissions of others from the folders and log files of a project. Best effort: failures are logged,
/// and `mxd doctor` reports a data folder that others can open.
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

/// Removes all permissions but the owner's. Links are not followed: their target may belong to others.
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
#[path = "permissions_tests.rs"]
mod tests;
