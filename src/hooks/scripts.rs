//! The script files that a hook of a repository names: an approval covers their content.
//!
//! Errs on the side of too many: every word of the command that is the path of a file in the repository counts.

use std::path::{Component, Path, PathBuf};

use crate::config::HookDefinition;
use crate::config::hooks::HandlerKind;

/// The variable with the path of the repository.
pub const PROJECT_DIR: &str = "CLAUDE_PROJECT_DIR";
/// The same as a word of a command.
const PROJECT: &str = "$CLAUDE_PROJECT_DIR";
/// The largest script that is read. A larger one cannot be approved.
const LARGEST: u64 = 8 << 20;

/// A named file, with its content.
pub type Script = (String, Vec<u8>);

/// A script that cannot be read, so the hook cannot be approved or run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the script {path} cannot be read: {why}")]
pub struct UnreadableScript {
    pub path: String,
    pub why: String,
}

/// Returns the scripts that the hook names, if it runs in `cwd` and the repository is at `project`. Reads files.
pub fn read(hook: &HookDefinition, project: &Path, cwd: &Path) -> Result<Vec<Script>, UnreadableScript> {
    let mut found: Vec<Script> = Vec::new();
    for word in words(hook) {
        let Some(path) = resolve(&word, project, cwd) else { continue };
        let Ok(about) = path.metadata() else { continue };
        if !about.is_file() || found.iter().any(|(name, _)| *name == word) {
            continue;
        }
        let unreadable = |why: String| UnreadableScript { path: word.clone(), why };
        if about.len() > LARGEST {
            return Err(unreadable("it is too large".to_owned()));
        }
        let content = std::fs::read(&path).map_err(|error| unreadable(error.to_string()))?;
        found.push((word, content));
    }
    Ok(found)
}

/// Returns the words of the command, with the repository's path in place of its variable's name.
fn words(hook: &HookDefinition) -> Vec<String> {
    let handler = &hook.handler;
    if handler.kind != HandlerKind::Command {
        return Vec::new();
    }
    let texts = handler.command.iter().chain(handler.args.iter().flatten());
    let separators = |c: char| c.is_whitespace() || "\"'`;|&()<>=,{}".contains(c);
    let mut words = Vec::new();
    for text in texts {
        // Braces would split the path.
        let text = text.replace("${CLAUDE_PROJECT_DIR}", PROJECT);
        words.extend(text.split(separators).filter(|word| !word.is_empty()).map(str::to_owned));
        // A path with spaces in quotes, or as a whole argument.
        let quoted = text.split(['"', '\'']).filter(|part| part.contains(' ') && part.contains('/'));
        words.extend(quoted.map(str::to_owned));
        // Quotes may begin or end within a path.
        let unquoted: String = text.chars().filter(|c| !matches!(c, '"' | '\'')).collect();
        words.extend(unquoted.split(separators).filter(|word| word.contains('/')).map(str::to_owned));
    }
    words.dedup();
    words
}

/// Returns the file in the repository or in the worktree that a word names, or `None` if it names none there.
fn resolve(word: &str, project: &Path, cwd: &Path) -> Option<PathBuf> {
    let path = match word.strip_prefix(PROJECT) {
        Some(rest) => project.join(rest.trim_start_matches('/')),
        None if word.starts_with(['$', '~', '-']) => return None,
        None => cwd.join(word),
    };
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    (plain.starts_with(project) || plain.starts_with(cwd)).then_some(plain)
}

#[cfg(test)]
#[path = "scripts_tests.rs"]
mod tests;
