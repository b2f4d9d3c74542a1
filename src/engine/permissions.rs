//! The permission policy of a project's agents: the settings, read again when a file has changed.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::sync::{Arc, Mutex, PoisonError};

use crate::base::TaskId;
use crate::config::Merged;
use crate::engine::machine::{JudgedCall, WaitingCall};
use crate::engine::settings_files::SettingsFiles;
use crate::permit::{List, Mode, ProfileMode, Rule, Sandbox, Source, mode};
use crate::process;
use crate::tools::{ActivePolicy, PolicySource, judge_again};

/// The identity and age of a settings file. `None` if it does not exist.
type Stamp = Option<(u64, u64, i64, i64)>;

/// The policy of the settings.
pub(in crate::engine) struct Permissions {
    files: SettingsFiles,
    sandbox: Sandbox,
    read: Mutex<(Vec<Stamp>, Arc<ActivePolicy>)>,
    tasks: Mutex<Arc<TaskPolicies>>,
    /// The policy that waiting calls were last judged by.
    judged: Mutex<Option<Arc<ActivePolicy>>>,
}

impl Permissions {
    pub(super) fn new(files: SettingsFiles, policy: ActivePolicy) -> Self {
        // No stamp: the first call reads the files again, which may have changed since.
        Self {
            files,
            sandbox: policy.sandbox,
            read: Mutex::new((Vec::new(), Arc::new(policy))),
            tasks: Mutex::default(),
            judged: Mutex::default(),
        }
    }

    /// Replaces what the tasks say.
    pub(super) fn set_tasks(&self, tasks: Arc<TaskPolicies>) {
        *self.tasks.lock().unwrap_or_else(PoisonError::into_inner) = tasks;
    }

    /// Returns true if the settings have changed since this was last asked.
    pub(super) fn have_changed(&self) -> bool {
        let now = self.current();
        let before = self.judged.lock().unwrap_or_else(PoisonError::into_inner).replace(Arc::clone(&now));
        before.is_none_or(|before| !Arc::ptr_eq(&before, &now))
    }

    /// Judges calls that wait for the user, and returns those that are decided now.
    pub(super) fn judge(&self, calls: Vec<WaitingCall>) -> Vec<JudgedCall> {
        let home = std::env::home_dir();
        let judge = |WaitingCall { task, ask, request }| {
            let note = judge_again(&request, &self.of_task(task), home.clone())?;
            Some(JudgedCall { task, ask, note })
        };
        calls.into_iter().filter_map(judge).collect()
    }

    /// Returns the policy of one task.
    pub(super) fn of_task(&self, task: TaskId) -> Arc<ActivePolicy> {
        let settings = self.current();
        let tasks = Arc::clone(&self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        let Some(policy) = tasks.get(&task) else { return settings };
        let mode = allowed_to_root(mode::effective(settings.mode, &policy.modes));
        if mode == settings.mode && policy.rules.is_empty() {
            return settings;
        }
        let mut rules = Arc::clone(&settings.rules);
        if !policy.rules.is_empty() {
            let parse = |text: &String| Rule::parse(text, List::Allow, Source::Task).ok();
            Arc::make_mut(&mut rules).0.extend(policy.rules.iter().filter_map(parse));
        }
        Arc::new(ActivePolicy { mode, rules, sandbox: settings.sandbox })
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

/// What a task of the tree says about its permissions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskPolicy {
    /// The modes from the root down to the task.
    pub modes: Vec<ProfileMode>,
    /// Rules that allow calls in this task.
    pub rules: Vec<String>,
}

/// The policies of all tasks. Replaced as a whole, so that a change counts at the next call.
pub type TaskPolicies = BTreeMap<TaskId, TaskPolicy>;

/// The policy of one task: that of the settings, with the rules of the task, limited by the modes of the task and of
/// those above it.
pub(in crate::engine) struct TaskPermissions {
    pub(in crate::engine) project: Arc<Permissions>,
    pub(in crate::engine) task: TaskId,
}

impl PolicySource for TaskPermissions {
    fn current(&self) -> Arc<ActivePolicy> {
        self.project.of_task(self.task)
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
    ActivePolicy { mode, rules: Arc::new(merged.rules.clone()), sandbox }
}

#[cfg(test)]
#[path = "permissions_tests.rs"]
mod tests;
