//! The rules that an answer offers to save: never wider than what is displayed, and none for commands that can run
//! anything.

use crate::permit::call::{Call, Places, Subject};
use crate::permit::read_only;
use crate::permit::shell::{Command, Role, Script, base_name};

/// The most rules that one answer saves.
const MAX_RULES: usize = 5;
/// A longer rule cannot be displayed whole.
const MAX_RULE_LENGTH: usize = 120;

/// Programs for which no prefix is offered: they can run anything, or remove it.
const NEVER: [&str; 30] = [
    "bash",
    "sh",
    "dash",
    "zsh",
    "fish",
    "ksh",
    "python",
    "python2",
    "python3",
    "node",
    "deno",
    "bun",
    "ruby",
    "perl",
    "php",
    "lua",
    "env",
    "sudo",
    "doas",
    "su",
    "eval",
    "exec",
    "xargs",
    "rm",
    "dd",
    "ssh",
    "osascript",
    "awk",
    "make",
    "curl",
];

/// The number of words that name what a program does. Flags never count.
const WORDS: [(&str, usize); 25] = [
    ("git", 2),
    ("cargo", 2),
    ("gh", 3),
    ("npm run", 3),
    ("npm", 2),
    ("pnpm run", 3),
    ("pnpm", 2),
    ("yarn run", 3),
    ("yarn", 2),
    ("docker compose", 3),
    ("docker", 2),
    ("kubectl", 2),
    ("go", 2),
    ("uv", 2),
    ("pip", 2),
    ("pip3", 2),
    ("poetry", 2),
    ("bundle exec", 3),
    ("bundle", 2),
    ("rails", 2),
    ("dotnet", 2),
    ("mvn", 2),
    ("terraform", 2),
    ("systemctl", 2),
    ("apt", 2),
];

/// Returns the rules that would allow the call and others like it, or an empty list if none should be offered.
pub fn for_project(call: &Call<'_>, places: &Places) -> Vec<String> {
    let rules = match &call.subject {
        Subject::Command { script } => prefixes(script),
        Subject::Edits { paths } => paths.first().and_then(|path| {
            let folder = path.strip_prefix(&places.root).ok()?.parent()?;
            Some(vec![if folder.as_os_str().is_empty() {
                format!("edit(/{})", path.strip_prefix(&places.root).ok()?.display())
            } else {
                format!("edit(/{}/**)", folder.display())
            }])
        }),
        Subject::Network { host } => Some(vec![format!("network({host})")]),
        Subject::External => Some(vec![call.tool.to_owned()]),
        Subject::Reads { .. } | Subject::Coordinates { .. } => None,
    };
    rules.filter(|rules| rules.iter().all(|rule| rule.chars().count() <= MAX_RULE_LENGTH)).unwrap_or_default()
}

/// Returns the rules that allow exactly this call.
pub fn exact(call: &Call<'_>) -> Vec<String> {
    match &call.subject {
        Subject::Command { script } if script.opaque.is_none() => {
            let needed: Vec<&Command> = needed(script).collect();
            let is_certain = needed.iter().all(|command| command.is_literal() && !command.whole_text().contains('*'));
            if is_certain {
                needed.iter().map(|command| format!("bash({})", command.whole_text())).collect()
            } else {
                Vec::new()
            }
        }
        Subject::Edits { paths } => paths.iter().map(|path| format!("edit(/{})", path.display())).collect(),
        Subject::Network { host } => vec![format!("network({host})")],
        Subject::External => vec![call.tool.to_owned()],
        Subject::Command { .. } | Subject::Reads { .. } | Subject::Coordinates { .. } => Vec::new(),
    }
}

/// The commands that need a rule.
fn needed(script: &Script) -> impl Iterator<Item = &Command> {
    script.commands.iter().filter(|command| command.role == Role::Runs && !read_only::reads(command))
}

fn prefixes(script: &Script) -> Option<Vec<String>> {
    if script.opaque.is_some() {
        return None;
    }
    let mut rules: Vec<String> = Vec::new();
    for command in needed(script) {
        let rule = format!("bash({})", prefix(command)?);
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    (!rules.is_empty() && rules.len() <= MAX_RULES).then_some(rules)
}

fn prefix(command: &Command) -> Option<String> {
    let name = command.name()?;
    if NEVER.contains(&base_name(name)) {
        return None;
    }
    if command.whole_only.is_some() || !command.assignments.is_empty() {
        let text = command.whole_text();
        return (command.is_literal() && !text.contains('*')).then_some(text);
    }
    let words: Vec<String> = command.words.iter().take(4).map(|word| word.normal().into_owned()).collect();
    let start = words.join(" ");
    let is_start = |known: &str| start == known || start.strip_prefix(known).is_some_and(|rest| rest.starts_with(' '));
    let count = WORDS.iter().find(|(known, _)| is_start(known)).map_or(1, |(_, count)| *count);
    let named = command.words.get(..count)?;
    if named.iter().any(|word| word.text.starts_with('-') || word.known().is_none()) {
        return None;
    }
    let named: Vec<_> = named.iter().map(|word| word.normal()).collect();
    Some(format!("{} *", named.join(" ")))
}

#[cfg(test)]
#[path = "suggest_tests.rs"]
mod tests;
