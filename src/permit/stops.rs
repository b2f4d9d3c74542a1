//! Stops that no mode and no allow rule passes: removals of everything, and writes to names that make programs run
//! something.

use std::fmt;
use std::path::{Component, Path};

use crate::permit::call::{Call, Places, Subject};
use crate::permit::shell::{Command, DYNAMIC, Role, Script, Word};

/// Why a call is stopped, whatever the mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It removes the home folder, the file system, or a folder above the worktree.
    CriticalRemoval { target: String },
    /// It may remove one of these, if a variable is empty.
    PossibleRemoval { target: String },
    /// It writes to a file or folder that decides what programs run.
    ProtectedName { name: String },
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CriticalRemoval { target } => write!(f, "it removes {target}"),
            Self::PossibleRemoval { target } => {
                write!(f, "it removes {}, which may be everything", target.replace(DYNAMIC, "$…"))
            }
            Self::ProtectedName { name } => write!(f, "it writes to {name}, which can make programs run commands"),
        }
    }
}

/// Names that decide what programs run. Writes to them, or below them, are stopped.
const PROTECTED: [&str; 27] = [
    ".git",
    ".husky",
    ".vscode",
    ".idea",
    ".devcontainer",
    ".mvn",
    ".yarn",
    ".claude",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".npmrc",
    ".envrc",
    ".gitconfig",
    ".gitmodules",
    ".pre-commit-config.yaml",
    ".mcp.json",
    ".ripgreprc",
    ".ssh",
    ".gnupg",
    "authorized_keys",
    ".direnv",
];

/// Returns why the call is stopped.
pub(super) fn find(call: &Call<'_>, places: &Places) -> Option<Stop> {
    match &call.subject {
        Subject::Command { script } => in_script(script, places),
        Subject::Edits { paths } => paths.iter().find_map(|path| protected(path, places)),
        Subject::Reads { .. } | Subject::Network { .. } | Subject::Coordinates { .. } | Subject::External => None,
    }
}

fn in_script(script: &Script, places: &Places) -> Option<Stop> {
    let removal = script.commands.iter().find_map(|command| removal(command, places, script.changes_folder));
    let written = || {
        let mut writes = script.redirects.iter().filter(|redirect| redirect.writes);
        writes.find_map(|redirect| protected(&places.resolve(&redirect.target.text), places))
    };
    let touched = || {
        let writers = script.commands.iter().filter(|command| is_writer(command));
        writers.flat_map(Command::arguments).find_map(|word| protected(&places.resolve(&word.text), places))
    };
    removal.or_else(written).or_else(touched)
}

fn is_writer(command: &Command) -> bool {
    const WRITERS: [&str; 10] = ["tee", "cp", "mv", "rm", "ln", "touch", "mkdir", "install", "dd", "truncate"];
    let name = command.name().unwrap_or_default();
    WRITERS.contains(&name) || (name == "sed" && command.words.iter().any(|word| word.text.starts_with("-i")))
}

/// Returns the stop for a write to `path`. The folders above the worktree do not count.
fn protected(path: &Path, places: &Places) -> Option<Stop> {
    let below = path.strip_prefix(&places.root).unwrap_or(path);
    let mut parts = below.components().filter_map(|component| match component {
        Component::Normal(name) => name.to_str(),
        _ => None,
    });
    let name = parts.find(|part| PROTECTED.contains(part))?;
    Some(Stop::ProtectedName { name: name.to_owned() })
}

/// Returns the stop for a recursive removal of something that must not go.
fn removal(command: &Command, places: &Places, moved: bool) -> Option<Stop> {
    let arguments = command.arguments();
    let is_recursive = |word: &Word| {
        let text = word.text.as_str();
        text == "--recursive" || (text.starts_with('-') && !text.starts_with("--") && text.contains(['r', 'R']))
    };
    let name = command.name().map(|name| name.rsplit('/').next().unwrap_or(name))?;
    let removes = match name {
        "rm" => arguments.iter().any(is_recursive),
        "find" => arguments.iter().any(|word| word.text == "-delete"),
        _ => false,
    };
    if !removes {
        return None;
    }
    let targets = arguments.iter().filter(|word| !word.text.starts_with('-'));
    let targets = targets.take(if name == "find" { 1 } else { usize::MAX });
    // `find . -name x -delete` removes some files of the worktree.
    let is_selective = name == "find" && arguments.len() > 2;
    let mut stops = targets.filter_map(|word| {
        let target = word.text.clone();
        if is_selective && places.resolve(&target) == places.root {
            return None;
        }
        if let Some((before, rest)) = word.text.rsplit_once(DYNAMIC) {
            let leads_to_root = before.is_empty() && rest.starts_with('/');
            let is_all = leads_to_root && matches!(rest.trim_start_matches('/'), "" | "*" | ".*");
            return is_all.then_some(Stop::PossibleRemoval { target });
        }
        is_critical(&word.text, places, moved).then_some(if command.role == Role::Guess {
            Stop::PossibleRemoval { target }
        } else {
            Stop::CriticalRemoval { target }
        })
    });
    stops.next()
}

/// Returns true for the file system, a folder directly in it, the home folder, or a folder above the worktree.
fn is_critical(target: &str, places: &Places, moved: bool) -> bool {
    let folder = target.strip_suffix("/*").or_else(|| target.strip_suffix("/.*")).unwrap_or(target);
    let is_absolute = target.starts_with(['/', '~']);
    if moved && !is_absolute {
        return false;
    }
    let folder = if folder.is_empty() && target.starts_with('/') { "/" } else { folder };
    let path = places.resolve(folder);
    let depth = path.components().count();
    // `/tmp/x` is two below the root; `/usr` is one.
    depth <= 2
        || places.home.as_ref().is_some_and(|home| home.starts_with(&path))
        || (places.root.starts_with(&path) && (places.root != path || !target.ends_with('*')))
}
