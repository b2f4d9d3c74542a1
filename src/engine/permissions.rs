//! The permission policy of a project's agents: the settings, read again when a file has changed.

use std::os::unix::fs::MetadataExt as _;
use std::sync::{Arc, Mutex, PoisonError};

use crate::config::Merged;
use crate::engine::settings_files::SettingsFiles;
use crate::permit::{Mode, ProfileMode, Sandbox, mode};
use crate::process;
use crate::tools::{ActivePolicy, PolicySource};

/// The identity and age of a settings file. `None` if it does not exist.
type Stamp = Option<(u64, u64, i64, i64)>;

/// The policy of the settings.
pub(in crate::engine) struct Permissions {
    files: SettingsFiles,
    sandbox: Sandbox,
    read: Mutex<(Vec<Stamp>, Arc<ActivePolicy>)>,
}

impl Permissions {
    pub(super) fn new(files: SettingsFiles, policy: ActivePolicy) -> Self {
        // No stamp: the first call reads the files again, which may have changed since.
        Self { files, sandbox: policy.sandbox, read: Mutex::new((Vec::new(), Arc::new(policy))) }
    }
}

impl PolicySource for Permissions {
    fn current(&self) -> Arc<ActivePolicy> {
        let stamps: Vec<Stamp> = self.files.paths().iter().map(|(_, path)| stamp(path)).collect();
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if read.0 != stamps {
            // While a file is broken, the last policy that could be read applies.
            match self.files.merged() {
                Ok(merged) if merged.fault().is_none() => {
                    *read = (stamps, Arc::new(active_policy(&merged, self.sandbox)));
                }
                Ok(_) | Err(_) => tracing::warn!("the settings cannot be read; the permissions stay as they were"),
            }
        }
        Arc::clone(&read.1)
    }
}

/// The policy of one task: that of the settings, limited by the profiles of the task and of those above it.
pub(in crate::engine) struct TaskPermissions {
    pub(in crate::engine) project: Arc<Permissions>,
    pub(in crate::engine) modes: Vec<ProfileMode>,
}

impl PolicySource for TaskPermissions {
    fn current(&self) -> Arc<ActivePolicy> {
        let settings = self.project.current();
        let mode = allowed_to_root(mode::effective(settings.mode, &self.modes));
        if mode == settings.mode {
            return settings;
        }
        Arc::new(ActivePolicy { mode, ..(*settings).clone() })
    }
}

/// Returns the mode that counts for this user: root can do anything to the machine.
fn allowed_to_root(mode: Mode) -> Mode {
    if mode == Mode::Bypass && process::is_root() { Mode::Edits } else { mode }
}

fn stamp(path: &std::path::Path) -> Stamp {
    let file = std::fs::metadata(path).ok()?;
    Some((file.ino(), file.size(), file.mtime(), file.mtime_nsec()))
}

/// Returns the policy of the settings.
pub fn active_policy(merged: &Merged, sandbox: Sandbox) -> ActivePolicy {
    let mode = match merged.settings.permissions.mode {
        Some(mode) => allowed_to_root(mode),
        None if sandbox == Sandbox::Holds => Mode::Sandboxed,
        None => Mode::Open,
    };
    ActivePolicy { mode, rules: merged.rules.clone(), sandbox }
}

#[cfg(test)]
#[path = "permissions_tests.rs"]
mod tests;
