//! Replaces repository settings that make git run a program.
//!
//! A repository that came as a folder (an archive, a shared disk, the work of an earlier agent) can have any settings
//! in its `.git/config`. The user's own global settings are trusted. A repository setting that would run a program is
//! replaced by the user's global value, or by a harmless one. Settings that are the same for every repository are set
//! where git is called (`program`, `agent_env`). The whole list with reasons is in docs/security.md.
//!
//! Content filters and merge drivers stay: without them Git LFS would not work, and encrypted files would be committed
//! in the clear.

use git2::{ConfigLevel, Repository};

use super::error::Error;

/// The ordinary diff. Git passes the file name first, then the old version and three facts about it.
const PLAIN_DIFF: &str = "sh -c 'diff -u -- \"$2\" \"$5\" || :' sh";
/// Git's own default.
const GZIP: &str = "gzip -cn";

/// Full name and value of a setting.
pub(super) type Setting = (String, String);

/// Replacements for a repository's settings that run programs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Overrides {
    /// To be passed to git in the environment, where they override every file.
    pub(super) settings: Vec<Setting>,
    /// A repository setting that names a program to fetch with. It cannot be overridden, because its first value
    /// counts. Missing objects must not be fetched automatically then.
    pub(super) own_transport: Option<String>,
    /// The repository sets `core.gitProxy`. It cannot be overridden either, but [`NO_PROXY`] takes precedence.
    pub(super) own_proxy: bool,
}

/// The variable that disables `core.gitProxy`.
pub(super) const NO_PROXY: (&str, &str) = ("GIT_PROXY_COMMAND", "");

/// Returns the replacements for the repository's settings that run programs.
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
    Ok(Overrides { settings: replacements(&own, &users), own_transport, own_proxy })
}

/// Returns the replacements for the repository's `own` settings. `users` are the user's global settings.
fn replacements(own: &[Setting], users: &[Setting]) -> Vec<Setting> {
    let mut replaced: Vec<Setting> = Vec::new();
    if own.iter().any(|(key, _)| is_helper(key)) {
        // The helpers of all levels form one list, which an empty value clears.
        replaced.push(("credential.helper".to_owned(), String::new()));
        replaced.extend(users.iter().filter(|(key, _)| is_helper(key)).cloned());
    }
    for (key, value) in own {
        let Some((key, harmless)) = harmless(key, value) else { continue };
        if replaced.iter().any(|(known, _)| *known == key) {
            continue;
        }
        let users_value = users.iter().rev().find(|(known, _)| *known == key).map(|(_, value)| value.clone());
        replaced.push((key, users_value.unwrap_or_else(|| harmless.to_owned())));
    }
    replaced
}

fn is_transport(key: &str) -> bool {
    key.starts_with("remote.") && (key.ends_with(".uploadpack") || key.ends_with(".receivepack"))
}

fn is_helper(key: &str) -> bool {
    key.starts_with("credential.") && key.ends_with(".helper")
}

/// Returns the setting and value that keep git from running what this one names. `None` if it runs nothing, or is
/// allowed to.
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
