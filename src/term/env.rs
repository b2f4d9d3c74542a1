//! Terminal properties from environment variables: emulator, multiplexer, remote or local, colours.
//!
//! Pure. The terminal's own replies are in `query`.

/// The terminal, as described by environment variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TerminalEnv {
    pub emulator: Emulator,
    pub multiplexer: Option<Multiplexer>,
    /// The terminal is on another machine.
    pub is_remote: bool,
    /// The terminal understands no control sequences.
    pub is_dumb: bool,
    pub colours: Colours,
    /// `NO_COLOR` is set. Separate from `colours`, because a setting may override it.
    pub no_color: bool,
    /// True if the background is dark, `None` if no variable says.
    pub dark: Option<bool>,
    pub charset: Charset,
    /// The graphical session, for its clipboard program.
    pub display: Display,
}

/// The terminal program, where the difference matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Emulator {
    Kitty,
    Ghostty,
    WezTerm,
    ITerm,
    Foot,
    Alacritty,
    /// A terminal built on the VTE library.
    Vte,
    Urxvt,
    VsCode,
    WindowsTerminal,
    AppleTerminal,
    LinuxConsole,
    #[default]
    Other,
}

/// A program between this one and the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Multiplexer {
    Tmux,
    Screen,
    Zellij,
}

/// How many colours the terminal can show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Colours {
    None,
    #[default]
    Ansi16,
    Ansi256,
    True,
}

/// The characters that the locale can show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Charset {
    Ascii,
    #[default]
    Unicode,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Display {
    #[default]
    None,
    X11,
    Wayland,
    Mac,
}

impl TerminalEnv {
    /// Reads the variables through `lookup`. An empty variable counts as unset.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let get = |name: &str| lookup(name).filter(|value| !value.is_empty());
        let has = |name: &str| get(name).is_some();
        let term = get("TERM").unwrap_or_default();
        let program = get("TERM_PROGRAM").unwrap_or_default();
        let multiplexer = if has("TMUX") || program == "tmux" || term.starts_with("tmux") {
            Some(Multiplexer::Tmux)
        } else if has("ZELLIJ") {
            Some(Multiplexer::Zellij)
        } else if has("STY") || term.starts_with("screen") {
            Some(Multiplexer::Screen)
        } else {
            None
        };
        Self {
            emulator: emulator(&term, &program, &has),
            multiplexer,
            is_remote: has("SSH_CONNECTION") || has("SSH_TTY") || has("SSH_CLIENT"),
            is_dumb: term.is_empty() || term == "dumb",
            colours: colours(&term, &program, &get, multiplexer),
            no_color: has("NO_COLOR"),
            dark: get("COLORFGBG").and_then(|value| dark(&value)),
            charset: charset(&get),
            display: display(&has),
        }
    }
}

fn emulator(term: &str, program: &str, has: &impl Fn(&str) -> bool) -> Emulator {
    match program {
        "ghostty" => return Emulator::Ghostty,
        "WezTerm" => return Emulator::WezTerm,
        "iTerm.app" => return Emulator::ITerm,
        "Apple_Terminal" => return Emulator::AppleTerminal,
        "vscode" => return Emulator::VsCode,
        _ => {}
    }
    match term {
        "xterm-kitty" => Emulator::Kitty,
        "xterm-ghostty" => Emulator::Ghostty,
        "wezterm" => Emulator::WezTerm,
        "linux" => Emulator::LinuxConsole,
        term if term.starts_with("foot") => Emulator::Foot,
        term if term.starts_with("alacritty") => Emulator::Alacritty,
        term if term.starts_with("rxvt") => Emulator::Urxvt,
        _ if has("KITTY_WINDOW_ID") => Emulator::Kitty,
        _ if has("WT_SESSION") => Emulator::WindowsTerminal,
        _ if has("VTE_VERSION") => Emulator::Vte,
        _ => Emulator::Other,
    }
}

fn colours(
    term: &str,
    program: &str,
    get: &impl Fn(&str) -> Option<String>,
    multiplexer: Option<Multiplexer>,
) -> Colours {
    if term.is_empty() || term == "dumb" {
        return Colours::None;
    }
    let promised = get("COLORTERM").is_some_and(|value| matches!(value.as_str(), "truecolor" | "24bit"));
    // Inside screen the promise is the outer terminal's, and screen does not keep it.
    if promised && multiplexer != Some(Multiplexer::Screen) {
        return Colours::True;
    }
    match term {
        "xterm-kitty" | "xterm-ghostty" | "wezterm" => Colours::True,
        term if term.ends_with("-direct") || term.starts_with("foot") || term.starts_with("alacritty") => Colours::True,
        _ if multiplexer.is_none() && matches!(program, "iTerm.app" | "ghostty" | "WezTerm" | "vscode") => {
            Colours::True
        }
        _ if get("WT_SESSION").is_some() => Colours::True,
        term if term.contains("256color") || program == "Apple_Terminal" => Colours::Ansi256,
        term if term.starts_with("tmux") => Colours::Ansi256,
        // Old hardware terminals have no colours.
        term if term.starts_with("vt1")
            || term.starts_with("vt2")
            || term.ends_with("-m")
            || term.ends_with("-mono") =>
        {
            Colours::None
        }
        _ => Colours::Ansi16,
    }
}

/// Reads `15;0` or `15;default;0`: the last number is the background, an index into the sixteen colours.
fn dark(value: &str) -> Option<bool> {
    let background: u8 = value.rsplit(';').next()?.parse().ok()?;
    match background {
        0..=6 | 8 => Some(true),
        7 | 9..=15 => Some(false),
        16.. => None,
    }
}

fn charset(get: &impl Fn(&str) -> Option<String>) -> Charset {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(get).map(|locale| locale.to_ascii_lowercase());
    match locale.as_deref() {
        Some("c" | "posix") => Charset::Ascii,
        // Without a character set a locale says nothing.
        Some(locale) if locale.contains('.') && !locale.contains("utf") => Charset::Ascii,
        Some(_) | None => Charset::Unicode,
    }
}

fn display(has: &impl Fn(&str) -> bool) -> Display {
    if cfg!(target_os = "macos") {
        Display::Mac
    } else if has("WAYLAND_DISPLAY") {
        Display::Wayland
    } else if has("DISPLAY") {
        Display::X11
    } else {
        Display::None
    }
}

#[cfg(test)]
#[path = "env_tests.rs"]
mod tests;
