//! Checks of the machine: terminal, git, data folder, disk space.

use std::fs;
use std::io::{self, IsTerminal as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rustix::fs::Access;

use super::Finding;
use crate::app::{Charset, Colours, Emulator, Multiplexer, TerminalEnv, terminal_env};
use crate::base::{Fault, text};
use crate::cli::locate::shell_word;
use crate::config::paths::{HOME_VARIABLE, Home};
use crate::engine::secrets;
use crate::git::health;

/// Less free space than this is an error.
const MIN_FREE: u64 = 100 << 20;
/// Less free space than this is a warning.
const LOW_FREE: u64 = 1 << 30;

pub(super) fn terminal() -> Finding {
    judge_terminal(&terminal_env(), io::stdin().is_terminal() && io::stdout().is_terminal())
}

fn judge_terminal(around: &TerminalEnv, is_terminal: bool) -> Finding {
    let inside = match around.multiplexer {
        None => "",
        Some(Multiplexer::Tmux) => " inside tmux",
        Some(Multiplexer::Screen) => " inside screen",
        Some(Multiplexer::Zellij) => " inside zellij",
    };
    let colours = match around.colours {
        _ if around.no_color => "no colours (NO_COLOR is set)",
        Colours::None => "no colours",
        Colours::Ansi16 => "16 colours",
        Colours::Ansi256 => "256 colours",
        Colours::True => "full colours",
    };
    let charset = match around.charset {
        Charset::Ascii => "ASCII only",
        Charset::Unicode => "Unicode",
    };
    let remote = if around.is_remote { ", over SSH" } else { "" };
    let text = format!("{}{inside}{remote}, {colours}, {charset}", name(around.emulator));
    if !is_terminal {
        return Finding::note(
            "terminal",
            format!("stdin or stdout is not a terminal, so the screen cannot open here (environment: {text})"),
        );
    }
    if around.is_dumb {
        let text = "TERM is empty or \"dumb\", so the screen cannot open";
        return Finding::warning("terminal", text).run("mxd --plain");
    }
    if around.charset == Charset::Ascii {
        let text = format!("{text}: the locale is not UTF-8, so the screen uses ASCII");
        return Finding::warning("terminal", text).run("export LC_ALL=C.UTF-8");
    }
    if around.multiplexer == Some(Multiplexer::Screen) && around.colours < Colours::Ansi256 {
        return Finding::warning("terminal", text).run("export TERM=screen-256color");
    }
    Finding::ok("terminal", text)
}

fn name(emulator: Emulator) -> &'static str {
    match emulator {
        Emulator::Kitty => "kitty",
        Emulator::Ghostty => "Ghostty",
        Emulator::WezTerm => "WezTerm",
        Emulator::ITerm => "iTerm2",
        Emulator::Foot => "foot",
        Emulator::Alacritty => "Alacritty",
        Emulator::Vte => "a VTE terminal",
        Emulator::Urxvt => "urxvt",
        Emulator::VsCode => "VS Code",
        Emulator::WindowsTerminal => "Windows Terminal",
        Emulator::AppleTerminal => "Terminal.app",
        Emulator::LinuxConsole => "the Linux console",
        Emulator::Other => "a terminal",
    }
}

/// Warns that agents run as root.
pub(super) fn account() -> Finding {
    let (text, advice) = secrets::ROOT_WARNING.split_once("; ").unwrap_or((secrets::ROOT_WARNING, ""));
    Finding::warning("account", text).advise(advice)
}

pub(super) async fn git() -> Finding {
    match health::version().await {
        Err(error) => Finding::from_fault("git", &Fault::from(error)),
        Ok(None) => Finding::warning("git", "unknown version")
            .advise(format!("install git {} or newer", health::RECOMMENDED_VERSION)),
        Ok(Some(version)) => judge_git(version),
    }
}

fn judge_git(version: health::Version) -> Finding {
    let newer = format!("install git {} or newer", health::RECOMMENDED_VERSION);
    if version < health::MINIMUM_VERSION {
        Finding::error("git", format!("{version} is too old to create worktrees for tasks")).advise(newer)
    } else if version < health::RECOMMENDED_VERSION {
        let text = format!("{version} works, but archives of files with filters or line endings may not be exact");
        Finding::warning("git", text).advise(newer)
    } else {
        Finding::ok("git", version.to_string())
    }
}

/// Checks the data folder: its type, its permissions and its free space.
pub(super) fn data_folder(home: &Home) -> Vec<Finding> {
    let root = home.root();
    let shown = root.display();
    let mut findings = Vec::new();
    let existing = root.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    let elsewhere = format!("set {HOME_VARIABLE} to the absolute path of a folder that is yours");
    if !existing.is_dir() {
        let text = format!("{} is not a folder, so nothing can be saved", existing.display());
        return vec![Finding::error("data folder", text).advise(elsewhere)];
    }
    if let Err(error) = rustix::fs::access(existing, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK) {
        let text = format!("{} cannot be written: {}", existing.display(), io::Error::from(error));
        let repair = format!("chmod u+rwx {}", shell_word(&existing.display().to_string()));
        return vec![Finding::error("data folder", text).run(repair).advise(elsewhere)];
    }
    let mode = fs::metadata(root).map_or(0o700, |found| found.permissions().mode());
    findings.push(if existing != root {
        Finding::ok("data folder", format!("{shown} (created on first use)"))
    } else if mode & 0o077 != 0 {
        Finding::warning("data folder", format!("{shown} is readable by other users"))
            .run(format!("chmod go-rwx {}", shell_word(&shown.to_string())))
    } else {
        Finding::ok("data folder", shown.to_string())
    });
    findings.push(match rustix::fs::statvfs(existing) {
        Ok(found) => judge_free_space(found.f_bavail.saturating_mul(found.f_frsize)),
        Err(error) => Finding::warning("disk", format!("cannot read the free space: {}", io::Error::from(error))),
    });
    findings
}

fn judge_free_space(free: u64) -> Finding {
    let text = format!("{} free", text::size(free));
    if free < MIN_FREE {
        Finding::error("disk", format!("{text}: too little to work")).run("mxd gc --all")
    } else if free < LOW_FREE {
        Finding::warning("disk", text).run("mxd gc --all")
    } else {
        Finding::ok("disk", text)
    }
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
