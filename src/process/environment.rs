//! What a child sees of the environment: ours without secrets, plus what keeps programs from asking or paging.
//!
//! The rule, by name and regardless of case. Removed: every `MXD_*`, `ANTHROPIC_*`, `OPENAI_*`; every name that
//! contains `APIKEY`, `TOKEN`, `SECRET`, `PASSWORD`, `PASSWD`, `PASSPHRASE` or `CREDENTIAL`, or has the word `KEY`,
//! `KEYS`, `PASS`, `PWD`, `PAT`, `JWT` or `AUTH` (`SSH_AUTH_SOCK` is no secret); every value that looks like a credential
//! ([`secret_shape`]: a login in an address, a webhook, a connection string, a private key …) or contains one that this
//! process knows ([`known_secrets`]), whatever its name; and what
//! would redirect git or run code in every shell (`GIT_DIR`, `GIT_CONFIG_COUNT`, `BASH_ENV`, exported functions …), or
//! says where our own shell stands. A name that the caller [keeps](Environment::keep) is inherited whatever the rule says.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use crate::base::{known_secrets, secret_shape};

/// The variable that marks everything a child starts with the child's id.
pub const RUN_MARKER: &str = "MXD_RUN";
/// The variable that marks everything started on behalf of one task.
pub const TASK_MARKER: &str = "MXD_TASK";

/// The variable that tells everything started on behalf of a task which data folders it may not change.
pub const GUARDED_MARKER: &str = "MXD_GUARDED";

const SECRET_PREFIXES: &[&str] = &["MXD_", "ANTHROPIC_", "OPENAI_"];
const SECRET_PARTS: &[&str] = &["APIKEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL"];
/// Secret as a word between underscores; as a part of one they mean nothing (`KEYBOARD`, `PATH`, `AUTHOR`).
const SECRET_WORDS: &[&str] = &["KEY", "KEYS", "PASS", "PWD", "PAT", "JWT", "AUTH"];
/// Names that sound secret and hold the way to an agent that keeps the secrets to itself.
const HARMLESS: &[&str] = &["SSH_AUTH_SOCK"];
/// Variables that point git at another repository, or make a shell run something before its command.
const STEERING: &[&str] = &[
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
const STEERING_PREFIXES: &[&str] = &["GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_", "BASH_FUNC_"];

/// Nothing may ask, page, edit or paint: nobody is there to answer, and the reader is a model.
const QUIET: &[(&str, &str)] = &[
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", "true"),
    ("GIT_SEQUENCE_EDITOR", "true"),
    ("GIT_ASKPASS", "true"),
    ("GCM_INTERACTIVE", "Never"),
    // Without a terminal and with nobody to ask, ssh fails by itself. A command line for it is not set here: it would
    // win over the person's own `core.sshCommand`.
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
    /// As the repository says.
    Run,
    /// Never, through the environment alone: the repository's own configuration is not touched.
    #[default]
    Off,
}

/// The environment of a child, before its own id is added.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    hooks: GitHooks,
    kept: Vec<String>,
    added: BTreeMap<OsString, OsString>,
}

impl Environment {
    /// Returns the environment that agents get: scrubbed, quiet, git hooks off.
    pub fn new() -> Self {
        Self::default()
    }

    pub fn hooks(mut self, hooks: GitHooks) -> Self {
        self.hooks = hooks;
        self
    }

    /// Lets one inherited variable through although its name looks secret.
    pub fn keep(mut self, name: impl Into<String>) -> Self {
        self.kept.push(name.into());
        self
    }

    /// Adds a variable; it wins over everything inherited or preset.
    pub fn with(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.added.insert(name.into(), value.into());
        self
    }

    /// Returns every variable of a child whose parent had `inherited`.
    pub fn variables(&self, inherited: impl IntoIterator<Item = (OsString, OsString)>) -> BTreeMap<OsString, OsString> {
        let mut all: BTreeMap<OsString, OsString> =
            inherited.into_iter().filter(|(name, value)| self.is_inherited(name, value)).collect();
        for (name, value) in QUIET {
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
            // A name that is not text cannot be judged.
            return false;
        };
        self.kept.iter().any(|kept| kept == name)
            || !(is_secret(name) || is_steering(name) || is_secret_value(name, &value.to_string_lossy()))
    }
}

/// Returns the values among `variables` that are credentials by name or by form, so that they can be masked.
pub fn secret_values(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Vec<String> {
    let variables =
        variables.into_iter().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    variables
        .filter(|(name, value)| is_key_name(name) || is_secret_value(name, value))
        .map(|(_, value)| value)
        .collect()
}

/// Tells whether a variable's name says that its value is nobody's business.
pub fn is_secret(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    SECRET_PREFIXES.iter().any(|prefix| upper.starts_with(prefix)) || is_key_name(name)
}

/// Tells whether a variable's name says that its value is a credential.
fn is_key_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    !HARMLESS.contains(&name.as_str())
        && (SECRET_PARTS.iter().any(|part| name.contains(part))
            || name.split('_').any(|word| SECRET_WORDS.contains(&word)))
}

/// Tells whether a value is or holds a credential, whatever the variable is called.
fn is_secret_value(name: &str, value: &str) -> bool {
    let names_proxy = name.to_ascii_uppercase().ends_with("PROXY");
    secret_shape::holds_credential(value)
        || (names_proxy && secret_shape::is_bare_login(value))
        || known_secrets::is_in(value)
}

fn is_steering(name: &str) -> bool {
    STEERING.contains(&name) || STEERING_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
#[path = "environment_tests.rs"]
mod tests;
