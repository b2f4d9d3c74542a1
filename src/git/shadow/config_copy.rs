//! The settings of a shadow: those of the repository, without logins and without what would lead out of it.
//!
//! Included files are part of the copy, because they are not readable or not the same inside. Settings that run
//! programs stay if they hold no secret: what they run, runs inside.

use git2::{ConfigLevel, Repository};
use std::fmt::Write as _;

use crate::git::error::Error;

/// The last part of an `http.*` setting that carries a login.
const HTTP_SECRETS: [&str; 5] = ["extraheader", "cookiefile", "sslkey", "sslcert", "proxy"];

/// The settings of the repository and those of the one worktree, as files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ConfigCopy {
    pub(super) shared: String,
    pub(super) worktree: String,
}

/// Copies the settings of a repository.
pub(super) fn copy(repository: &Repository) -> Result<ConfigCopy, Error> {
    let failed = Error::read(repository.path());
    let settings = repository.config().map_err(&failed)?;
    let mut copy = ConfigCopy::default();
    let entries = settings.entries(None).map_err(&failed)?;
    let listed = entries.for_each(|entry| {
        let file = match entry.level() {
            ConfigLevel::Local => &mut copy.shared,
            ConfigLevel::Worktree => &mut copy.worktree,
            _ => return,
        };
        let name = String::from_utf8_lossy(entry.name_bytes()).into_owned();
        if is_left_out(&name) {
            return;
        }
        let value = entry.has_value().then(|| String::from_utf8_lossy(entry.value_bytes()).into_owned());
        append(file, &name, value.as_deref().map(without_login).as_deref());
    });
    listed.map_err(&failed)?;
    Ok(copy)
}

/// Returns true for settings that hold secrets, or that lead out of the repository.
fn is_left_out(name: &str) -> bool {
    let section = name.split('.').next().unwrap_or_default();
    let last = name.rsplit('.').next().unwrap_or_default();
    match section {
        "include" | "includeif" | "credential" | "sendemail" | "imap" => true,
        "http" => HTTP_SECRETS.contains(&last),
        "core" => matches!(last, "hookspath" | "askpass"),
        // The address of a rule may hold a login.
        "url" => without_login(name) != name,
        _ => ["token", "password", "secret", "apikey"].contains(&last),
    }
}

/// Removes the login from each address in a text. The user name of an ssh address stays.
fn without_login(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let (authority, path) = rest.find(['/', '?', '#', ' ']).map_or((rest, ""), |end| rest.split_at(end));
    let host = match authority.rsplit_once('@') {
        None => authority.to_owned(),
        Some((login, host)) if scheme.ends_with("ssh") || scheme == "git" => {
            format!("{}@{host}", login.split(':').next().unwrap_or_default())
        }
        Some((_, host)) => host.to_owned(),
    };
    format!("{scheme}://{host}{}", without_login(path))
}

/// Appends one setting in the format of git's files.
fn append(file: &mut String, name: &str, value: Option<&str>) {
    let Some((section, rest)) = name.split_once('.') else { return };
    let header = match rest.rsplit_once('.') {
        Some((subsection, _)) => {
            format!("[{section} \"{}\"]\n", subsection.replace('\\', "\\\\").replace('"', "\\\""))
        }
        None => format!("[{section}]\n"),
    };
    let variable = rest.rsplit('.').next().unwrap_or_default();
    file.push_str(&header);
    match value {
        None => {
            let _ = writeln!(file, "\t{variable}");
        }
        Some(value) => {
            let escaped = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t");
            let _ = writeln!(file, "\t{variable} = \"{escaped}\"");
        }
    }
}

#[cfg(test)]
#[path = "config_copy_tests.rs"]
mod tests;
