//! What git does in an agent's processes, through their environment alone: the repository's hooks are off, and so are its
//! other settings that run programs; commits carry the trailer `Task-Id`, nothing asks, signs or cleans up behind the back of
//! others.
//!
//! The person's repository and settings are not touched. The one hook that runs is ours, in a folder of ours.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::error::{Error, blocking};
use super::exec_settings;
use super::program::Checkout;
use crate::process::Environment;

/// The hook that adds the trailer. Plain `sh`, and silent: whatever goes wrong in it, the commit is made.
const HOOK: &str = include_str!("agent_env/prepare-commit-msg.sh");
const HOOK_NAME: &str = "prepare-commit-msg";
/// Who commits where nobody has told git who they are.
pub(super) const NOBODY: (&str, &str) = ("Matrix agent", "agent@mxd.invalid");

/// Settings for agents' processes besides the hooks. Cleaning up in one worktree while another commits loses objects, and
/// an unattended signature would wait for a passphrase.
const SETTINGS: &[(&str, &str)] = &[
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("commit.gpgSign", "false"),
    ("tag.gpgSign", "false"),
    ("core.fsmonitor", "false"),
    // A commit is work, and git by itself does not save new objects against a loss of power.
    ("core.fsync", "committed,loose-object,reference"),
    ("core.fsyncMethod", "batch"),
    ("core.pager", "cat"),
    ("core.editor", "true"),
];

/// What agents' processes need of git, found out once per project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentGit {
    hooks: PathBuf,
    /// What takes the place of settings with which the repository would run programs.
    instead: exec_settings::Overrides,
    has_name: bool,
    has_email: bool,
}

impl AgentGit {
    /// Writes the hooks folder at `hooks` (in the data folder) and finds out whether git knows the person.
    pub async fn prepare(main: &Checkout, hooks: &Path) -> Result<Self, Error> {
        let (main, hooks) = (main.clone(), hooks.to_owned());
        blocking(move || {
            write_hooks(&hooks)?;
            let hooks = fs::canonicalize(&hooks).map_err(Error::disk("find", &hooks))?;
            let repository = main.open()?;
            let settings = repository.config().map_err(Error::read(&main.path))?;
            let instead = exec_settings::overrides(&repository)?;
            let has = |name: &str| settings.get_string(name).is_ok_and(|value| !value.trim().is_empty());
            Ok(Self { hooks, instead, has_name: has("user.name"), has_email: has("user.email") })
        })
        .await
    }

    /// Adds what git needs to the environment of an agent's processes. `inherited` is our own environment: settings that
    /// it passes to git are passed on, except what would be a secret. The task is named by the caller, as `MXD_TASK`.
    pub fn environment(
        &self,
        mut environment: Environment,
        inherited: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Environment {
        let inherited: Vec<_> = inherited.into_iter().collect();
        let mut settings = passed_on(&inherited);
        let mut add = |key: &str, value: &OsStr| settings.push((key.into(), value.to_owned()));
        add("core.hooksPath", self.hooks.as_os_str());
        for (key, value) in &self.instead.settings {
            add(key, OsStr::new(value));
        }
        for (key, value) in SETTINGS {
            add(key, OsStr::new(value));
        }
        let (name, email) = NOBODY;
        if !self.has_name && !has(&inherited, "GIT_AUTHOR_NAME") {
            add("user.name", OsStr::new(name));
        }
        if !self.has_email && !has(&inherited, "GIT_AUTHOR_EMAIL") && !has(&inherited, "EMAIL") {
            add("user.email", OsStr::new(email));
        }
        if self.instead.own_proxy {
            let (name, value) = exec_settings::NO_PROXY;
            environment = environment.with(name, value);
        }
        if self.instead.own_transport.is_some() {
            environment = environment.with("GIT_NO_LAZY_FETCH", "1");
        }
        environment = environment.with("GIT_CONFIG_COUNT", settings.len().to_string());
        for (at, (key, value)) in settings.into_iter().enumerate() {
            environment = environment.with(format!("GIT_CONFIG_KEY_{at}"), key);
            environment = environment.with(format!("GIT_CONFIG_VALUE_{at}"), value);
        }
        environment
    }
}

fn has(variables: &[(OsString, OsString)], name: &str) -> bool {
    variables.iter().any(|(found, value)| found == name && !value.is_empty())
}

/// Returns the settings that our own environment passes to git.
fn passed_on(inherited: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
    let get = |name: &str| inherited.iter().find(|(found, _)| found == name).map(|(_, value)| value);
    let count = get("GIT_CONFIG_COUNT").and_then(|count| count.to_str()?.parse::<usize>().ok()).unwrap_or(0);
    let entry = |at: usize| {
        let key = get(&format!("GIT_CONFIG_KEY_{at}"))?;
        let value = get(&format!("GIT_CONFIG_VALUE_{at}"))?;
        (!is_withheld(&key.to_string_lossy(), &value.to_string_lossy())).then(|| (key.clone(), value.clone()))
    };
    // Nobody passes thousands of them; a number that claims so must not cost anything.
    (0..count.min(1_000)).filter_map(entry).collect()
}

/// Tells whether a setting is a secret, or would undo what the agents' environment is for.
fn is_withheld(key: &str, value: &str) -> bool {
    let key = key.to_ascii_lowercase();
    let last = key.rsplit('.').next().unwrap_or_default();
    key.starts_with("credential.")
        || (key.starts_with("http.") && matches!(last, "extraheader" | "cookiefile" | "sslkey" | "proxy"))
        || key == "core.hookspath"
        || [&key, value].iter().any(|text| text.contains("://") && text.contains('@'))
}

/// Writes the folder with the one hook. Every file of ours appears whole; other files in it are removed, because git
/// would run them.
fn write_hooks(folder: &Path) -> Result<(), Error> {
    let failed = || Error::disk("write the hooks in", folder);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed())?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).map_err(failed())?;
    for entry in fs::read_dir(folder).map_err(failed())?.flatten() {
        if entry.file_name() != HOOK_NAME {
            let _ = fs::remove_file(entry.path());
        }
    }
    let hook = folder.join(HOOK_NAME);
    if fs::read(&hook).is_ok_and(|text| text == HOOK.as_bytes())
        && fs::metadata(&hook).is_ok_and(|found| found.permissions().mode() & 0o777 == 0o700)
    {
        return Ok(());
    }
    let draft = folder.join(format!(".{HOOK_NAME}.{}", std::process::id()));
    fs::write(&draft, HOOK).map_err(failed())?;
    fs::set_permissions(&draft, fs::Permissions::from_mode(0o700)).map_err(failed())?;
    fs::rename(&draft, &hook).map_err(failed())
}

#[cfg(test)]
#[path = "agent_env_tests.rs"]
mod tests;
