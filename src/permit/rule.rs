//! Rules: `bash(cargo test *)`, `edit(src/**)`, `read(~/.ssh/**)`, `network(*.docs.rs)`, `mcp__server__tool`.
//!
//! Claude Code's spelling is read as it is: `Bash(npm run:*)`, `Write`, `WebFetch(domain:docs.rs)`.

use std::fmt;
use std::path::Path;

use crate::permit::call::PathView;
use crate::permit::pattern::{self, matches_parts, matches_text};
use crate::permit::shell::{self, Command, DYNAMIC, base_name};

/// Which of the three lists a rule is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    Deny,
    Ask,
    Allow,
}

impl List {
    pub const ALL: [Self; 3] = [Self::Deny, Self::Ask, Self::Allow];

    pub fn word(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::Allow => "allow",
        }
    }
}

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// Where a rule comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The user's settings for all projects.
    Global,
    /// The settings in the repository.
    Repo,
    /// The user's settings for this project.
    Local,
    /// The profile of the task.
    Profile,
    /// An answer for this task.
    Task,
}

impl Source {
    pub fn word(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Repo => "repo",
            Self::Local => "local",
            Self::Profile => "profile",
            Self::Task => "task",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// A rule with its list and its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// As written.
    pub text: String,
    pub list: List,
    pub source: Source,
    matcher: Matcher,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Matcher {
    /// A tool, whatever its input. May have wildcards.
    Tool(String),
    Command(CommandPattern),
    Path {
        access: Access,
        pattern: PathPattern,
    },
    Host(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum CommandPattern {
    /// Exactly this command, in normal form.
    Exact(String),
    Wildcard(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct PathPattern {
    anchor: Anchor,
    parts: Vec<String>,
}

/// Where a path pattern begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Anchor {
    FileSystem,
    Home,
    Worktree,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    Edit,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    #[error("\"{0}\" has no closing parenthesis")]
    Unclosed(String),
    #[error("there is no tool \"{0}\"; a rule begins with bash, edit, read, network or mcp__SERVER__TOOL")]
    UnknownTool(String),
    #[error("\"{0}\" would allow a tool of any server; name the server: mcp__SERVER__*")]
    TooWide(String),
}

/// How surely a rule matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Match {
    No,
    /// It does if an expansion has a certain value.
    Maybe,
    Yes,
}

/// Variables that change the output of a program, and nothing else.
const HARMLESS_VARIABLES: [&str; 10] =
    ["LANG", "NO_COLOR", "CI", "RUST_BACKTRACE", "RUST_LOG", "NODE_ENV", "FORCE_COLOR", "TZ", "CLICOLOR", "TERM"];

impl Rule {
    pub fn parse(text: &str, list: List, source: Source) -> Result<Self, RuleError> {
        let text = text.trim();
        let (name, spec) = match text.split_once('(') {
            Some((name, spec)) => {
                let spec = spec.strip_suffix(')').ok_or_else(|| RuleError::Unclosed(text.to_owned()))?;
                (name.trim(), Some(spec.trim()).filter(|spec| !matches!(*spec, "" | "*" | ":*")))
            }
            None => (text, None),
        };
        let matcher = match (kind(name), spec) {
            (Some(Kind::Command), None) => Matcher::Tool("bash".to_owned()),
            (Some(Kind::Command), Some(spec)) => Matcher::Command(command_pattern(spec)),
            (Some(Kind::Path(access)), spec) => Matcher::Path { access, pattern: path_pattern(spec.unwrap_or("//**")) },
            (Some(Kind::Network), spec) => {
                let host = spec.unwrap_or("*");
                Matcher::Host(host.strip_prefix("domain:").unwrap_or(host).to_lowercase())
            }
            (Some(Kind::Tool), _) => Matcher::Tool(name.to_owned()),
            (None, _) => return Err(RuleError::UnknownTool(name.to_owned())),
        };
        if let (List::Allow, Matcher::Tool(tool)) = (list, &matcher)
            && tool
                .strip_prefix("mcp__")
                .is_some_and(|rest| rest.split("__").next().is_none_or(|server| server.contains('*')))
        {
            return Err(RuleError::TooWide(text.to_owned()));
        }
        Ok(Self { text: text.to_owned(), list, source, matcher })
    }

    /// Returns true if the rule is about the tool itself, whatever the input.
    pub fn matches_tool(&self, tool: &str) -> bool {
        matches!(&self.matcher, Matcher::Tool(pattern) if matches_text(pattern, tool))
    }

    pub fn matches_host(&self, host: &str) -> bool {
        let host = host.trim_end_matches('.').to_lowercase();
        match &self.matcher {
            Matcher::Host(pattern) => match pattern.strip_prefix("*.") {
                Some(suffix) => host.strip_suffix(suffix).is_some_and(|rest| rest.ends_with('.')),
                None => pattern == "*" || *pattern == host,
            },
            _ => false,
        }
    }

    /// Returns true if every command that `other` allows is also allowed by this rule.
    pub fn covers(&self, other: &Self) -> bool {
        if self.list != other.list || self.text == other.text {
            return false;
        }
        match (&self.matcher, &other.matcher) {
            (Matcher::Tool(own), Matcher::Tool(tool)) => own.contains('*') && matches_text(own, tool),
            (Matcher::Tool(own), Matcher::Command(_)) => own == "bash",
            (Matcher::Command(CommandPattern::Wildcard(own)), Matcher::Command(CommandPattern::Exact(text))) => {
                matches_text(own, text)
            }
            // A star in the text is matched as a word of its own: only prefixes are compared.
            (Matcher::Command(CommandPattern::Wildcard(own)), Matcher::Command(CommandPattern::Wildcard(text))) => {
                match (own.strip_suffix(" *"), text.strip_suffix(" *")) {
                    (Some(own), Some(text)) if !own.contains('*') && !text.contains('*') => {
                        text.strip_prefix(own).is_some_and(|rest| rest.starts_with(' '))
                    }
                    _ => false,
                }
            }
            _ => false,
        }
    }

    /// Returns true if the rule is about paths, with this access, and matches `path`.
    pub fn matches_path(&self, wanted: Access, path: &PathView) -> bool {
        let Matcher::Path { access, pattern } = &self.matcher else { return false };
        // Who may not read a file may not edit it.
        let covers = *access == wanted || (*access == Access::Read && self.list == List::Deny);
        let start = match pattern.anchor {
            Anchor::FileSystem => Some(0),
            Anchor::Home => path.home,
            Anchor::Worktree => path.root,
        };
        covers && start.is_some_and(|start| matches_parts(&pattern.parts, &path.parts[start..]))
    }

    /// Returns true if the rule allows a command.
    pub fn allows(&self, command: &Command) -> bool {
        let Matcher::Command(pattern) = &self.matcher else { return false };
        let is_harmless = |name: &str| HARMLESS_VARIABLES.contains(&name) || name.starts_with("LC_");
        let text = if command.assignments.iter().all(|(name, value)| is_harmless(name) && !value.is_dynamic) {
            command.text()
        } else {
            command.whole_text()
        };
        match pattern {
            CommandPattern::Exact(exact) => *exact == text && command.is_literal(),
            CommandPattern::Wildcard(pattern) => command.whole_only.is_none() && matches_text(pattern, &text),
        }
    }

    /// Returns whether a deny or ask rule matches a command.
    pub fn catches(&self, command: &CommandTexts<'_>) -> Match {
        let Matcher::Command(pattern) = &self.matcher else { return Match::No };
        let matches = |text: &String| match pattern {
            CommandPattern::Exact(exact) => exact == text,
            CommandPattern::Wildcard(pattern) => matches_text(pattern, text),
        };
        if command.texts.iter().any(matches) {
            return Match::Yes;
        }
        if command.command.is_literal() {
            return Match::No;
        }
        let (CommandPattern::Exact(start) | CommandPattern::Wildcard(start)) = pattern;
        may_begin_with(start, command.command)
    }
}

/// A command in the forms that deny and ask rules look at: with and without assignments, quotes, and the folder of the
/// program.
#[derive(Clone, Debug)]
pub struct CommandTexts<'c> {
    command: &'c Command,
    texts: Vec<String>,
}

impl<'c> CommandTexts<'c> {
    pub fn of(command: &'c Command) -> Self {
        let mut texts = Vec::new();
        if let Some((first, rest)) = command.words.split_first() {
            let name = base_name(&first.text);
            let unquoted = rest.iter().fold(name.to_owned(), |text, word| text + " " + &word.text);
            texts.push(unquoted);
            let mut add = |text: String| {
                if !texts.contains(&text) {
                    texts.push(text);
                }
            };
            let text = command.text();
            if name.len() != first.text.len() {
                let folder = first.normal().len() - name.len();
                add(text.get(folder..).unwrap_or_default().to_owned());
            }
            if !command.assignments.is_empty() {
                add(command.whole_text());
            }
            add(text);
        }
        Self { command, texts }
    }
}

/// Returns whether expansions could make the command begin with the literal words of a pattern.
fn may_begin_with(pattern: &str, command: &Command) -> Match {
    let literal = pattern.split('*').next().unwrap_or_default();
    let mut guessed = Match::No;
    let mut words = command.words.iter();
    for wanted in literal.split_whitespace() {
        match words.next() {
            // It may become all the words that follow.
            Some(word) if word.splits => return Match::Maybe,
            Some(word) if word.is_dynamic && matches_text(&word.text.replace(DYNAMIC, "*"), wanted) => {
                guessed = Match::Maybe;
            }
            Some(word) if word.text == wanted || base_name(&word.text) == wanted => {}
            _ => return Match::No,
        }
    }
    guessed
}

enum Kind {
    Command,
    Path(Access),
    Network,
    Tool,
}

fn kind(name: &str) -> Option<Kind> {
    match name {
        "bash" | "Bash" | "shell" => Some(Kind::Command),
        "read" | "Read" | "read_file" | "Grep" | "Glob" | "LS" | "search" | "list_files" => {
            Some(Kind::Path(Access::Read))
        }
        "edit" | "Edit" | "Write" | "write" | "MultiEdit" | "NotebookEdit" | "edit_file" | "write_file" => {
            Some(Kind::Path(Access::Edit))
        }
        "network" | "WebFetch" | "WebSearch" => Some(Kind::Network),
        name if name.starts_with("mcp__") && name.len() > 5 => Some(Kind::Tool),
        name => crate::permit::call::OWN_TOOLS.contains(&name).then_some(Kind::Tool),
    }
}

fn command_pattern(spec: &str) -> CommandPattern {
    let spec = match spec.strip_suffix(":*") {
        Some(prefix) => format!("{prefix} *"),
        None => spec.to_owned(),
    };
    if spec.contains('*') {
        return CommandPattern::Wildcard(spec);
    }
    // The same command may be quoted in another way.
    let script = shell::parse(&spec);
    match script.commands.as_slice() {
        [only] if script.opaque.is_none() => CommandPattern::Exact(only.whole_text()),
        _ => CommandPattern::Exact(spec),
    }
}

/// `//x` begins at the file system, `~/x` at the home folder, and `/x` or `x/y` at the worktree; a pattern without a
/// slash matches in every folder of the worktree.
fn path_pattern(text: &str) -> PathPattern {
    let (anchor, rest) = if let Some(rest) = text.strip_prefix("//") {
        (Anchor::FileSystem, rest)
    } else if let Some(rest) = text.strip_prefix("~/") {
        (Anchor::Home, rest)
    } else {
        (Anchor::Worktree, text.strip_prefix("./").unwrap_or(text))
    };
    let mut parts = pattern::parts(Path::new(rest));
    if anchor == Anchor::Worktree && !text.trim_end_matches('/').contains('/') {
        parts.insert(0, "**".to_owned());
    }
    // Equal neighbours mean the same, and would only cost time.
    parts.dedup_by(|a, b| a == b && a == "**");
    PathPattern { anchor, parts }
}

/// All rules that apply to a task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules(pub Vec<Rule>);

impl Rules {
    /// Returns true if there is a deny or ask rule.
    pub fn restrict(&self) -> bool {
        self.0.iter().any(|rule| rule.list != List::Allow)
    }

    pub fn of(&self, list: List) -> impl Iterator<Item = &Rule> {
        self.0.iter().filter(move |rule| rule.list == list)
    }
}

#[cfg(test)]
#[path = "rule_tests.rs"]
mod tests;
