//! The environment of a child: ours without secrets, plus variables that keep programs from prompting or paging.
//!
//! Names are compared without case. Removed:
//! - every `MXD_*`, `ANTHROPIC_*`, `OPENAI_*`;
//! - every name that contains `APIKEY`, `TOKEN`, `SECRET`, `PASSWORD`, `PASSWD`, `PASSPHRASE` or `CREDENTIAL`, or has
//!   the word `KEY`, `KEYS`, `PASS`, `PWD`, `PAT`, `JWT` or `AUTH` (except `SSH_AUTH_SOCK`);
//! - every value that looks like a credential ([`secret_shape`]: a login in an address, a webhook, a connection string,
//!   a private key …) or contains one that this process knows ([`known_secrets`]);
//! - variables that redirect git, run code in every shell (`GIT_DIR`, `GIT_CONFIG_COUNT`, `BASH_ENV`, exported
//!   functions …) or describe the state of our own shell.
//!
//! A name passed to [`Environment::inherit`] is inherited regardless.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use crate::base::{known_secrets, secret_shape};

/// Marks everything a child starts with the child's id.
pub const RUN_MARKER: &str = "MXD_RUN";
/// Marks everything started on behalf of one task.
pub const TASK_MARKER: &str = "MXD_TASK";

/// Lists the data folders that processes of a task must not change.
pub const GUARDED_MARKER: &str = "MXD_GUARDED";

const SECRET_PREFIXES: &[&str] = &["MXD_", "ANTHROPIC_", "OPENAI_"];
const SECRET_PARTS: &[&str] = &["APIKEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL"];
/// Secret as a whole word between underscores, not as a part (`KEYBOARD`, `PATH`, `AUTHOR`).
const SECRET_WORDS: &[&str] = &["KEY", "KEYS", "PASS", "PWD", "PAT", "JWT", "AUTH"];
/// Names that look secret but are not: the socket of an agent that holds the keys.
const NOT_SECRET: &[&str] = &["SSH_AUTH_SOCK"];
/// Variables that point git at another repository, or make a shell run something before its command.
const UNSAFE_NAMES: &[&str] = &[
    "BASH_ENV",
    "ENV",
    "PROMPT_COMMAND",
    "SHELLOPTS",
    "BASHOPTS",
    "CDPATH",
    "PWD",
    "OLDPWD",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_CEILING_DIRECTORIES",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
];
const UNSAFE_PREFIXES: &[&str] = &["GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_", "BASH_FUNC_"];

/// Programs must not prompt, page, open an editor or use colours: a model reads the output.
const NON_INTERACTIVE: &[(&str, &str)] = &[
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", "true"),
    ("GIT_SEQUENCE_EDITOR", "true"),
    ("GIT_ASKPASS", "true"),
    ("GCM_INTERACTIVE", "Never"),
    // Without a terminal and askpass, ssh fails by itself. `GIT_SSH_COMMAND` is not set here: it would override the
    // user's `core.sshCommand`.
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("SSH_ASKPASS", "false"),
    ("PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("GH_PAGER", "cat"),
    ("SYSTEMD_PAGER", "cat"),
    ("EDITOR", "true"),
    ("VISUAL", "true"),
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("DEBIAN_FRONTEND", "noninteractive"),
];

/// Whether git runs the repository's hooks in a child.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GitHooks {
    /// Yes, as the repository is configured.
    Run,
    /// No, through the environment alone: the repository's configuration is not changed.
    #[default]
    Off,
}

/// The environment of a child, without its own id.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    hooks: GitHooks,
    inherited: Vec<String>,
    /// Names, or beginnings of names that end with `*`, that are not inherited.
    removed: Vec<String>,
    added: BTreeMap<OsString, OsString>,
}

impl Environment {
    /// Returns the environment for agents: scrubbed, non-interactive, git hooks off.
    pub fn new() -> Self {
        Self::default()
    }

    pub fn hooks(mut self, hooks: GitHooks) -> Self {
        self.hooks = hooks;
        self
    }

    /// Inherits a variable even if its name looks secret.
    pub fn inherit(mut self, name: impl Into<String>) -> Self {
        self.inherited.push(name.into());
        self
    }

    /// Does not inherit a variable. A name that ends with `*` stands for all that begin like it.
    pub fn without(mut self, name: impl Into<String>) -> Self {
        self.removed.push(name.into());
        self
    }

    /// Adds a variable, which overrides inherited and preset ones.
    pub fn with(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.added.insert(name.into(), value.into());
        self
    }

    /// Returns the variables of a child whose parent has `inherited`.
    pub fn variables(&self, inherited: impl IntoIterator<Item = (OsString, OsString)>) -> BTreeMap<OsString, OsString> {
        let mut all: BTreeMap<OsString, OsString> =
            inherited.into_iter().filter(|(name, value)| self.is_inherited(name, value)).collect();
        for (name, value) in NON_INTERACTIVE {
            all.insert((*name).into(), (*value).into());
        }
        if self.hooks == GitHooks::Off {
            for (name, value) in
                [("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "core.hooksPath"), ("GIT_CONFIG_VALUE_0", "/dev/null")]
            {
                all.insert(name.into(), value.into());
            }
        }
        all.extend(self.added.iter().map(|(name, value)| (name.clone(), value.clone())));
        all
    }

    fn is_inherited(&self, name: &OsStr, value: &OsStr) -> bool {
        let Some(name) = name.to_str() else {
            // A name that is not UTF-8 cannot be judged.
            return false;
        };
        let is_removed = |removed: &String| match removed.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == removed,
        };
        if self.removed.iter().any(is_removed) {
            return false;
        }
        self.inherited.iter().any(|inherited| inherited == name)
            || !(is_secret(name) || is_unsafe(name) || is_secret_value(name, &value.to_string_lossy()))
    }
}

/// Returns the values that are credentials by name or by form, for masking.
pub fn secret_values(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Vec<String> {
    let variables =
        variables.into_iter().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    variables
        .filter(|(name, value)| is_key_name(name) || is_secret_value(name, value))
        .map(|(_, value)| value)
        .collect()
}

/// Returns true if a variable with this name must not be passed on.
pub fn is_secret(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    SECRET_PREFIXES.iter().any(|prefix| upper.starts_with(prefix)) || is_key_name(name)
}

/// Returns true if the name suggests a credential.
fn is_key_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    !NOT_SECRET.contains(&name.as_str())
        && (SECRET_PARTS.iter().any(|part| name.contains(part))
            || name.split('_').any(|word| SECRET_WORDS.contains(&word)))
}

/// Returns true if a value is or contains a credential, whatever the variable's name.
fn is_secret_value(name: &str, value: &str) -> bool {
    let names_proxy = name.to_ascii_uppercase().ends_with("PROXY");
    secret_shape::holds_credential(value)
        || (names_proxy && secret_shape::is_bare_login(value))
        || known_secrets::is_in(value)
}

fn is_unsafe(name: &str) -> bool {
    UNSAFE_NAMES.contains(&name) || UNSAFE_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
#[path = "environment_tests.rs"]
mod tests;
