//! Git settings for agent processes, set through their environment alone.
//!
//! The repository's hooks and its other settings that run programs are off. Commits carry the trailer `Task-Id`.
//! Nothing prompts, signs or runs garbage collection. The user's repository and settings are not changed. The only hook
//! that runs is ours, in the data folder.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::error::{Error, blocking};
use super::exec_settings;
use super::program::Checkout;
use crate::process::Environment;

/// The hook that adds the trailer. Plain `sh`, and silent: it never blocks a commit.
const HOOK: &str = include_str!("agent_env/prepare-commit-msg.sh");
const HOOK_NAME: &str = "prepare-commit-msg";
/// The identity for commits if git has none configured.
pub(super) const FALLBACK_IDENTITY: (&str, &str) = ("Matrix agent", "agent@mxd.invalid");

/// Settings for agent processes besides the hooks. Garbage collection in one worktree while another commits loses
/// objects, and an unattended signature would wait for a passphrase.
const SETTINGS: &[(&str, &str)] = &[
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("commit.gpgSign", "false"),
    ("tag.gpgSign", "false"),
    ("core.fsmonitor", "false"),
    // By default git does not fsync new objects, so a power loss could lose a commit.
    ("core.fsync", "committed,loose-object,reference"),
    ("core.fsyncMethod", "batch"),
    ("core.pager", "cat"),
    ("core.editor", "true"),
];

/// Git settings for agent processes, determined once per project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentGit {
    hooks: PathBuf,
    /// Replacements for repository settings that would run programs.
    overrides: exec_settings::Overrides,
    has_name: bool,
    has_email: bool,
}

impl AgentGit {
    /// Writes the hooks folder at `hooks` (in the data folder) and checks whether git has a user identity.
    pub async fn prepare(main: &Checkout, hooks: &Path) -> Result<Self, Error> {
        let (main, hooks) = (main.clone(), hooks.to_owned());
        blocking(move || {
            write_hooks(&hooks)?;
            let hooks = fs::canonicalize(&hooks).map_err(Error::disk("find", &hooks))?;
            let repository = main.open()?;
            let settings = repository.config().map_err(Error::read(&main.path))?;
            let overrides = exec_settings::overrides(&repository)?;
            let has = |name: &str| settings.get_string(name).is_ok_and(|value| !value.trim().is_empty());
            Ok(Self { hooks, overrides, has_name: has("user.name"), has_email: has("user.email") })
        })
        .await
    }

    /// Adds the git settings to the environment of an agent process. `inherited` is our own environment: the git
    /// settings in it are passed on, except secrets. The caller sets `MXD_TASK`.
    pub fn environment(
        &self,
        mut environment: Environment,
        inherited: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Environment {
        let inherited: Vec<_> = inherited.into_iter().collect();
        let mut settings = inherited_settings(&inherited);
        let mut add = |key: &str, value: &OsStr| settings.push((key.into(), value.to_owned()));
        add("core.hooksPath", self.hooks.as_os_str());
        for (key, value) in &self.overrides.settings {
            add(key, OsStr::new(value));
        }
        for (key, value) in SETTINGS {
            add(key, OsStr::new(value));
        }
        let (name, email) = FALLBACK_IDENTITY;
        if !self.has_name && !has(&inherited, "GIT_AUTHOR_NAME") {
            add("user.name", OsStr::new(name));
        }
        if !self.has_email && !has(&inherited, "GIT_AUTHOR_EMAIL") && !has(&inherited, "EMAIL") {
            add("user.email", OsStr::new(email));
        }
        if self.overrides.own_proxy {
            let (name, value) = exec_settings::NO_PROXY;
            environment = environment.with(name, value);
        }
        if self.overrides.own_transport.is_some() {
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

/// Returns the git settings in our own environment.
fn inherited_settings(inherited: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
    let get = |name: &str| inherited.iter().find(|(found, _)| found == name).map(|(_, value)| value);
    let count = get("GIT_CONFIG_COUNT").and_then(|count| count.to_str()?.parse::<usize>().ok()).unwrap_or(0);
    let entry = |at: usize| {
        let key = get(&format!("GIT_CONFIG_KEY_{at}"))?;
        let value = get(&format!("GIT_CONFIG_VALUE_{at}"))?;
        (!is_blocked(&key.to_string_lossy(), &value.to_string_lossy())).then(|| (key.clone(), value.clone()))
    };
    // Bounded, because the count may be bogus.
    (0..count.min(1_000)).filter_map(entry).collect()
}

/// Returns true if a setting is a secret, or would undo the settings above.
fn is_blocked(key: &str, value: &str) -> bool {
    let key = key.to_ascii_lowercase();
    let last = key.rsplit('.').next().unwrap_or_default();
    key.starts_with("credential.")
        || (key.starts_with("http.") && matches!(last, "extraheader" | "cookiefile" | "sslkey" | "proxy"))
        || key == "core.hookspath"
        || [&key, value].iter().any(|text| text.contains("://") && text.contains('@'))
}

/// Writes the hooks folder. Our file appears atomically; other files are removed, because git would run them.
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
