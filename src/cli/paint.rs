//! Colours and characters of the output of commands: whether to use them, and which.
//!
//! Only the sixteen colours that every terminal has, by their role and never by their shade. Colour never carries a
//! meaning alone. Text is sanitized before it is painted.

use clap::ValueEnum;

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless `NO_COLOR` is set or `TERM` is `dumb`.
    #[default]
    Auto,
    Always,
    Never,
}

/// The role of a piece of text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    #[default]
    Plain,
    Strong,
    Dim,
    Accent,
    Good,
    Warning,
    Bad,
}

impl Style {
    /// Returns the parameters of the control sequence, or `None` for plain text.
    fn parameters(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Strong => Some("1"),
            Self::Dim => Some("2"),
            Self::Accent => Some("36"),
            Self::Good => Some("32"),
            Self::Warning => Some("33"),
            Self::Bad => Some("31"),
        }
    }
}

/// A piece of text with one style.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Span {
    pub text: String,
    pub style: Style,
}

impl Span {
    pub fn new(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style }
    }

    pub fn plain(text: impl Into<String>) -> Self {
        Self::new(text, Style::Plain)
    }

    pub fn dim(text: impl Into<String>) -> Self {
        Self::new(text, Style::Dim)
    }
}

/// What the output can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paint {
    pub color: bool,
    pub ascii: bool,
}

impl Paint {
    /// Decides from the choice on the command line and the environment. An explicit choice wins over the variables.
    pub fn detect(choice: ColorChoice, is_terminal: bool, lookup: impl Fn(&str) -> Option<String>) -> Self {
        let get = |name: &str| lookup(name).filter(|value| !value.is_empty());
        let is_forced = get("CLICOLOR_FORCE").is_some_and(|value| value != "0");
        let is_off = get("NO_COLOR").is_some() || get("CLICOLOR").is_some_and(|value| value == "0");
        let color = match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto if get("NO_COLOR").is_some() => false,
            ColorChoice::Auto if is_forced => true,
            ColorChoice::Auto => is_terminal && !is_off && get("TERM").is_none_or(|term| term != "dumb"),
        };
        let locale = get("LC_ALL").or_else(|| get("LC_CTYPE")).or_else(|| get("LANG"));
        let is_utf8 = |name: &String| {
            let name = name.to_ascii_lowercase();
            name.contains("utf-8") || name.contains("utf8")
        };
        // Output to a program is the same everywhere.
        Self { color, ascii: is_terminal && !locale.as_ref().is_some_and(is_utf8) }
    }

    /// Returns sanitized text with the control sequences of its style.
    pub fn apply(self, text: &str, style: Style) -> String {
        let text = if self.ascii { to_ascii(text) } else { text.to_owned() };
        match style.parameters().filter(|_| self.color && !text.is_empty()) {
            Some(parameters) => format!("\u{1b}[{parameters}m{text}\u{1b}[0m"),
            None => text,
        }
    }
}

/// Replaces the characters that commands draw with ASCII of the same width. Letters of other scripts stay.
fn to_ascii(text: &str) -> String {
    let ascii = |c| match c {
        '◆' => '#',
        '●' => '*',
        '○' => 'o',
        '◌' | '·' => '.',
        '◐' => 'z',
        '✓' => '+',
        '✗' => 'x',
        '−' | '─' => '-',
        '├' | '│' => '|',
        '└' => '`',
        '…' => '~',
        '→' => '>',
        '↻' => '@',
        '“' | '”' => '"',
        '’' => '\'',
        other => other,
    };
    text.chars().map(ascii).collect()
}

#[cfg(test)]
#[path = "paint_tests.rs"]
mod tests;
