//! The permission policy of a project's agents: the settings, read again when a file has changed.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::sync::{Arc, Mutex, PoisonError};

use crate::base::TaskId;
use crate::config::Merged;
use crate::engine::machine::{JudgedCall, ModeSettings, WaitingCall};
use crate::engine::settings_files::SettingsFiles;
use crate::permit::{Bypass, List, Mode, ProfileMode, Rule, Sandbox, Source, mode};
use crate::process;
use crate::tools::{ActivePolicy, PolicySource, judge_again};

/// The identity and age of a settings file. `None` if it does not exist.
pub(in crate::engine) type Stamp = Option<(u64, u64, i64, i64)>;

/// The policy of the settings.
pub(in crate::engine) struct Permissions {
    files: SettingsFiles,
    sandbox: Sandbox,
    mode: Option<Mode>,
    read: Mutex<(Vec<Stamp>, Arc<ActivePolicy>)>,
    tasks: Mutex<Arc<TaskPolicies>>,
    /// The policy that waiting calls were last judged by.
    judged: Mutex<Option<Arc<ActivePolicy>>>,
}

impl Permissions {
    /// With a `mode`, that of the settings does not count.
    pub(super) fn new(files: SettingsFiles, policy: ActivePolicy, mode: Option<Mode>) -> Self {
        // No stamp: the first call reads the files again, which may have changed since.
        Self {
            files,
            sandbox: policy.sandbox,
            mode,
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

    /// Returns what the settings say about modes now.
    pub(super) fn modes(&self) -> ModeSettings {
        let now = self.current();
        ModeSettings { usual: now.mode, bypass: now.bypass }
    }

    /// Returns the policy of one task.
    pub(super) fn of_task(&self, task: TaskId) -> Arc<ActivePolicy> {
        let settings = self.current();
        let tasks = Arc::clone(&self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        let Some(policy) = tasks.get(&task) else { return settings };
        let mode = settings.bypass.limit(mode::effective(settings.mode, &policy.modes));
        if mode == settings.mode && policy.rules.is_empty() {
            return settings;
        }
        let mut rules = Arc::clone(&settings.rules);
        if !policy.rules.is_empty() {
            let parse = |text: &String| Rule::parse(text, List::Allow, Source::Task).ok();
            Arc::make_mut(&mut rules).0.extend(policy.rules.iter().filter_map(parse));
        }
        Arc::new(ActivePolicy { mode, rules, ..(*settings).clone() })
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
                    *read = (stamps, Arc::new(active_policy(&merged, self.sandbox).with_mode(self.mode)));
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

/// The variable with which a user says that root may use `bypass` here.
const ROOT_OK: &str = "MXD_ROOT_OK";

/// Returns whether agents may have the mode `bypass`, which needs the user's consent in each project.
fn bypass(merged: &Merged) -> Bypass {
    let is_root = process::is_root() && std::env::var_os(ROOT_OK).is_none_or(|value| value != "1");
    match merged.settings.bypass_consent {
        _ if is_root => Bypass::RefusedToRoot,
        Some(_) => Bypass::Allowed,
        None => Bypass::NeedsConsent,
    }
}

pub(in crate::engine) fn stamp(path: &std::path::Path) -> Stamp {
    let file = std::fs::metadata(path).ok()?;
    Some((file.ino(), file.size(), file.mtime(), file.mtime_nsec()))
}

/// Returns the policy of the settings.
pub fn active_policy(merged: &Merged, sandbox: Sandbox) -> ActivePolicy {
    let bypass = bypass(merged);
    let mode = match merged.settings.permissions.mode {
        Some(mode) => bypass.limit(mode),
        None if sandbox == Sandbox::Holds => Mode::Sandboxed,
        None => Mode::Open,
    };
    ActivePolicy { mode, bypass, rules: Arc::new(merged.rules.clone()), sandbox }
}

#[cfg(test)]
#[path = "permissions_tests.rs"]
mod tests;
