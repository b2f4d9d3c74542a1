//! Detects the colours of a terminal from environment variables and its background colour, which the caller provides.

use super::colour::Rgb;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ColourDepth {
    None,
    Ansi16,
    Ansi256,
    True,
}

/// Terminals that show true colour, recognised by name.
const TRUE_TERMS: [&str; 7] = ["xterm-kitty", "xterm-ghostty", "alacritty", "wezterm", "foot", "contour", "rio"];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Appearance {
    #[default]
    Dark,
    Light,
}

impl Appearance {
    /// Returns the appearance of a terminal with that background.
    pub fn of(background: Rgb) -> Self {
        if background.oklab()[0] > 0.6 { Self::Light } else { Self::Dark }
    }
}

impl ColourDepth {
    /// Detects the depth from the environment. `var` reads one variable; an empty value counts as unset.
    pub fn detect(var: impl Fn(&str) -> Option<String>) -> Self {
        let var = |name: &str| var(name).filter(|value| !value.is_empty());
        if var("NO_COLOR").is_some() {
            return Self::None;
        }
        let term = var("TERM").unwrap_or_default().to_ascii_lowercase();
        let colorterm = var("COLORTERM").unwrap_or_default().to_ascii_lowercase();
        let program = var("TERM_PROGRAM").unwrap_or_default().to_ascii_lowercase();
        if term == "dumb" || term.starts_with("vt1") || term.starts_with("vt2") || term.ends_with("-mono") {
            return Self::None;
        }
        // Inside a multiplexer the outer terminal's COLORTERM says nothing about the colours that get through; only
        // the terminal name does.
        let screen = term == "screen" || term.starts_with("screen.") || term.starts_with("screen-");
        if screen && var("TMUX").is_none() && !term.contains("truecolor") && !term.contains("direct") {
            return if term.contains("256") { Self::Ansi256 } else { Self::Ansi16 };
        }
        if matches!(colorterm.as_str(), "truecolor" | "24bit")
            || term.ends_with("-direct")
            || term.contains("truecolor")
        {
            return Self::True;
        }
        if TRUE_TERMS.iter().any(|name| term.starts_with(name)) {
            return Self::True;
        }
        match program.as_str() {
            "iterm.app" | "wezterm" | "ghostty" | "vscode" | "hyper" | "rio" | "warpterminal" => return Self::True,
            "apple_terminal" => return Self::Ansi256,
            _ => {}
        }
        if var("WT_SESSION").is_some() || var("KITTY_WINDOW_ID").is_some() {
            return Self::True;
        }
        if term.contains("256") {
            return Self::Ansi256;
        }
        match term.as_str() {
            "" => Self::None,
            _ => Self::Ansi16,
        }
    }

    /// Parses a setting.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "none" | "mono" => Some(Self::None),
            "16" => Some(Self::Ansi16),
            "256" => Some(Self::Ansi256),
            "true" | "24bit" => Some(Self::True),
            _ => None,
        }
    }
}

#[cfg(test)]
#[path = "depth_tests.rs"]
mod tests;
