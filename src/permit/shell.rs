//! What a shell command would run: every simple command, with wrappers unwrapped and substitutions followed.
//!
//! Covers a decidable subset of bash. Outside of it a script is opaque, and then its list of commands may be
//! incomplete. Invariant, tested against bash itself: whatever runs is in the list, or the script is opaque.

mod hazards;
mod parser;
mod rough;
mod words;
mod wrappers;

use std::borrow::Cow;
use std::fmt::Write as _;

pub(super) use hazards::WRITES as WRITES_FILES;

/// Scripts longer than this are opaque.
const MAX_LENGTH: usize = 10_000;
/// The nesting of `bash -c` and of substitutions that is followed.
const MAX_DEPTH: usize = 8;
/// Stands for the value of an expansion in the text of a word.
pub const DYNAMIC: char = '\u{FFFC}';

/// What a shell script would run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    pub commands: Vec<Command>,
    pub redirects: Vec<Redirect>,
    /// Why the list of commands may be incomplete. `None` if it is complete.
    pub opaque: Option<Opaque>,
    /// The script changes its folder, so relative paths are not known.
    pub changes_folder: bool,
}

/// A simple command: assignments, a name, arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    pub assignments: Vec<(String, Word)>,
    /// The name and the arguments. Empty for a bare assignment.
    pub words: Vec<Word>,
    pub role: Role,
    /// Why only a rule with the whole command may allow it. `None` if a prefix may.
    pub whole_only: Option<&'static str>,
}

/// How a command takes part in a script.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    #[default]
    Runs,
    /// Only runs another command of the list, such as `timeout`. It needs no allow rule of its own.
    Wrapper,
    /// Run by another command of the list that needs the permission, such as `sudo`. Only deny and ask rules look.
    Inner,
    /// A sequence of words in a script that is not understood.
    Guess,
}

/// A word after quote removal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts about one word")]
pub struct Word {
    /// Expansions are [`DYNAMIC`].
    pub text: String,
    /// Contains an expansion that is only known when it runs.
    pub is_dynamic: bool,
    /// May become several words, or none.
    pub splits: bool,
    /// Contains an unquoted wildcard.
    pub is_glob: bool,
    pub is_quoted: bool,
}

/// A redirection to or from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    pub target: Word,
    pub writes: bool,
}

/// Why a script is not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opaque {
    TooLong,
    TooDeep,
    /// A quote, a bracket or a keyword without its end.
    Unbalanced,
    /// Syntax outside the subset.
    Syntax(&'static str),
    /// The name of a command is only known when it runs.
    DynamicName,
    /// A command that runs text or changes how the shell reads commands.
    Builtin(String),
    /// A program that runs another command in a way that is not followed.
    Runner(String),
    /// A shell that reads its commands from standard input or a start-up file.
    ShellInput,
    /// A variable that makes a shell run something.
    Variable(String),
}

impl std::fmt::Display for Opaque {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TooLong => write!(f, "it is longer than {MAX_LENGTH} characters"),
            Self::TooDeep => f.write_str("it is nested too deep"),
            Self::Unbalanced => f.write_str("a quote or bracket has no end"),
            Self::Syntax(what) => write!(f, "it contains {what}"),
            Self::DynamicName => f.write_str("the name of a command is only known when it runs"),
            Self::Builtin(name) => write!(f, "`{name}` can run anything"),
            Self::Runner(name) => write!(f, "what `{name}` runs cannot be followed"),
            Self::ShellInput => f.write_str("a shell reads commands from its input or from files"),
            Self::Variable(name) => write!(f, "the variable {name} makes shells run commands"),
        }
    }
}

impl Word {
    pub fn literal(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Returns the text, or `None` if it is only known when it runs.
    pub fn known(&self) -> Option<&str> {
        (!self.is_dynamic && !self.is_glob).then_some(self.text.as_str())
    }

    /// Returns true if the word is what it looks like, or the name of a file.
    pub fn is_certain(&self) -> bool {
        !self.is_dynamic && (!self.is_glob || !self.may_be_option())
    }

    /// Returns true if the word may turn out to be an option, whatever it looks like.
    pub fn may_be_option(&self) -> bool {
        self.text.starts_with(['-', DYNAMIC])
            || (self.is_dynamic && self.text.starts_with('~'))
            || (self.is_glob && self.text.starts_with(['*', '?', '[']))
    }

    /// Returns the word as it is written in rules: quoted if it needs to be.
    pub fn normal(&self) -> Cow<'_, str> {
        let is_plain = |c: char| c.is_alphanumeric() || "-_./=:,@%+~^#{}!*?[]".contains(c) || c == DYNAMIC;
        if !self.text.is_empty() && self.text.chars().all(is_plain) {
            return Cow::Borrowed(&self.text);
        }
        Cow::Owned(format!("'{}'", self.text.replace('\'', r"'\''")))
    }
}

impl Command {
    /// Returns the name, or `None` for a bare assignment.
    pub fn name(&self) -> Option<&str> {
        self.words.first().map(|word| word.text.as_str())
    }

    pub fn arguments(&self) -> &[Word] {
        self.words.get(1..).unwrap_or_default()
    }

    /// Returns the words in the form that rules match, without assignments.
    pub fn text(&self) -> String {
        let words: Vec<Cow<'_, str>> = self.words.iter().map(Word::normal).collect();
        words.join(" ")
    }

    /// Returns the whole command in the form that rules match.
    pub fn whole_text(&self) -> String {
        let mut text = String::new();
        for (name, value) in &self.assignments {
            let _ = write!(text, "{name}={} ", if value.text.is_empty() { "".into() } else { value.normal() });
        }
        text.push_str(&self.text());
        text.trim_end().to_owned()
    }

    pub fn is_literal(&self) -> bool {
        self.words.iter().all(|word| !word.is_dynamic)
    }
}

/// Returns what `text` would run if bash executed it.
pub fn parse(text: &str) -> Script {
    let mut script = Script::default();
    if text.chars().count() > MAX_LENGTH {
        script.refuse(Opaque::TooLong);
    } else {
        parser::parse(text, 0, &mut script);
    }
    if script.opaque.is_some() {
        rough::add(text, &mut script);
    }
    script
}

impl Script {
    /// Marks the script as opaque. The first reason is kept.
    fn refuse(&mut self, why: Opaque) {
        self.opaque.get_or_insert(why);
    }
}

/// Returns the last component of a program's path.
pub(super) fn base_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

#[cfg(test)]
#[path = "shell_tests.rs"]
mod tests;
