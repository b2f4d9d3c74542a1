//! Settings of a repository that make git run a program, and what is said in their place.
//!
//! A repository that came as a folder (an archive, a shared disk, a work of an earlier agent) can have any settings in its
//! `.git/config`. Those of the user, for all repositories, are theirs and hold. Where the repository has one of its own
//! that would run a program, the user's value takes its place, or a harmless one. Settings that are the same for every
//! repository are pinned where git is called (`program`, `agent_env`). The whole list with reasons is in docs/security.md.
//!
//! Content filters and merge drivers stay: without them Git LFS would not work, and what is encrypted would be committed in
//! the clear.

use git2::{ConfigLevel, Repository};

use super::error::Error;

/// Compares two files as the ordinary diff does. Git names the file first, then the old version and three facts about it.
const PLAIN_DIFF: &str = "sh -c 'diff -u -- \"$2\" \"$5\" || :' sh";
/// Compresses as git does by itself.
const GZIP: &str = "gzip -cn";

/// A setting, by its full name.
pub(super) type Setting = (String, String);

/// What takes the place of a repository's settings that run programs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Overrides {
    /// To be said to git in the environment, where they win over every file.
    pub(super) settings: Vec<Setting>,
    /// A setting of the repository that names a program to fetch with, and cannot be replaced: of this one the first value
    /// counts and not the last. Missing objects must not be fetched by themselves then.
    pub(super) own_transport: Option<String>,
    /// The repository has a `core.gitProxy` of its own. It cannot be replaced either, but [`NO_PROXY`] wins over it.
    pub(super) own_proxy: bool,
}

/// The variable that switches `core.gitProxy` off.
pub(super) const NO_PROXY: (&str, &str) = ("GIT_PROXY_COMMAND", "");

/// Returns what takes the place of the settings with which the repository would run programs.
pub(super) fn overrides(repository: &Repository) -> Result<Overrides, Error> {
    let failed = Error::read(repository.path());
    let settings = repository.config().map_err(&failed)?;
    let (mut users, mut own) = (Vec::new(), Vec::new());
    let entries = settings.entries(None).map_err(&failed)?;
    let listed = entries.for_each(|entry| {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let value = if entry.has_value() { text(entry.value_bytes()) } else { String::new() };
        let setting = (text(entry.name_bytes()), value);
        match entry.level() {
            ConfigLevel::Local | ConfigLevel::Worktree => own.push(setting),
            _ => users.push(setting),
        }
    });
    listed.map_err(&failed)?;
    let own_transport = own.iter().map(|(key, _)| key).find(|key| is_transport(key)).cloned();
    let own_proxy = own.iter().any(|(key, _)| key == "core.gitproxy");
    Ok(Overrides { settings: in_place_of(&own, &users), own_transport, own_proxy })
}

/// Returns what is said in the place of the repository's `own` settings. `users`: those of the user, for all repositories.
fn in_place_of(own: &[Setting], users: &[Setting]) -> Vec<Setting> {
    let mut instead: Vec<Setting> = Vec::new();
    if own.iter().any(|(key, _)| is_helper(key)) {
        // The helpers of all levels make up one list, which an empty one clears.
        instead.push(("credential.helper".to_owned(), String::new()));
        instead.extend(users.iter().filter(|(key, _)| is_helper(key)).cloned());
    }
    for (key, value) in own {
        let Some((key, harmless)) = harmless(key, value) else { continue };
        if instead.iter().any(|(known, _)| *known == key) {
            continue;
        }
        let theirs = users.iter().rev().find(|(known, _)| *known == key).map(|(_, value)| value.clone());
        instead.push((key, theirs.unwrap_or_else(|| harmless.to_owned())));
    }
    instead
}

fn is_transport(key: &str) -> bool {
    key.starts_with("remote.") && (key.ends_with(".uploadpack") || key.ends_with(".receivepack"))
}

fn is_helper(key: &str) -> bool {
    key.starts_with("credential.") && key.ends_with(".helper")
}

/// Returns the setting that keeps git from running what this one says, and a value for it that runs nothing of the
/// repository's; `None` if it runs nothing, or may.
fn harmless(key: &str, value: &str) -> Option<(String, &'static str)> {
    let (section, rest) = key.split_once('.')?;
    let (name, variable) = match rest.rsplit_once('.') {
        Some((name, variable)) => (Some(name), variable),
        None => (None, rest),
    };
    let harmless = match (section, name, variable) {
        ("core", None, "fsmonitor") => "false",
        ("core", None, "sshcommand") => "ssh",
        ("core", None, "alternaterefscommand") | ("trailer", Some(_), "command" | "cmd") => "true",
        ("diff", None, "external") | ("diff", Some(_), "command") => PLAIN_DIFF,
        ("diff", Some(_), "textconv") | ("interactive", None, "difffilter") => "cat",
        ("gpg", Some("x509"), "program") => "gpgsm",
        ("gpg", Some("ssh"), "program") => "ssh-keygen",
        ("gpg", None | Some(_), "program") => "gpg",
        ("gpg", Some("ssh"), "defaultkeycommand") => "false",
        ("protocol", Some("ext"), "allow") => "never",
        ("protocol", None, "allow") => "user",
        ("submodule", Some(_), "update") if value.trim_start().starts_with('!') => "checkout",
        ("tar", Some("tgz" | "tar.gz"), "command") => GZIP,
        ("tar", Some(_), "command") => "cat",
        ("hook", Some(name), "command") => return Some((format!("hook.{name}.enabled"), "false")),
        _ => return None,
    };
    Some((key.to_owned(), harmless))
}

#[cfg(test)]
#[path = "exec_settings_tests.rs"]
mod tests;
