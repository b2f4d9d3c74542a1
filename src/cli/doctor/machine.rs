//! The machine: its terminal, its git, its disk.

use std::fs;
use std::io::{self, IsTerminal as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rustix::fs::Access;

use super::Finding;
use crate::app::{Charset, Colours, Emulator, Multiplexer, Surroundings, surroundings};
use crate::base::{Fault, text};
use crate::cli::place::shell_word;
use crate::config::paths::{HOME_VARIABLE, Home};
use crate::engine::secrets;
use crate::git::health;

/// How much room there must be for work to go on, and from where on it is getting scarce.
const ROOM_NEEDED: u64 = 100 << 20;
const ROOM_WANTED: u64 = 1 << 30;

pub(super) fn terminal() -> Finding {
    judge_terminal(&surroundings(), io::stdin().is_terminal() && io::stdout().is_terminal())
}

fn judge_terminal(around: &Surroundings, is_terminal: bool) -> Finding {
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
    let away = if around.is_remote { ", over SSH" } else { "" };
    let text = format!("{}{inside}{away}, {colours}, {charset}", name(around.emulator));
    if !is_terminal {
        return Finding::ok(
            "terminal",
            format!("no screen can be opened here: input or output is not a terminal (from the environment: {text})"),
        );
    }
    if around.is_dumb {
        let text = "it understands no sequences (TERM is empty or \"dumb\"), so there is no screen";
        return Finding::warning("terminal", text).run("mxd --plain");
    }
    if around.charset == Charset::Ascii {
        let text = format!("{text}: the locale has no Unicode, so lines and marks are drawn with ASCII signs");
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

/// Says what it means that agents run as root.
pub(super) fn account() -> Finding {
    let (text, advice) = secrets::ROOT_WARNING.split_once("; ").unwrap_or((secrets::ROOT_WARNING, ""));
    Finding::warning("account", text).advise(advice)
}

pub(super) async fn git() -> Finding {
    match health::version().await {
        Err(error) => Finding::of_fault("git", &Fault::from(error)),
        Ok(None) => Finding::warning("git", "it does not say which version it is")
            .advise(format!("install git {} or newer", health::WANTED)),
        Ok(Some(version)) => judge_git(version),
    }
}

fn judge_git(version: health::Version) -> Finding {
    let newer = format!("install git {} or newer", health::WANTED);
    if version < health::NEEDED {
        Finding::error("git", format!("{version} is too old to make worktrees for tasks")).advise(newer)
    } else if version < health::WANTED {
        let text = format!("{version} works, but archives of files with filters or line endings may not be exact");
        Finding::warning("git", text).advise(newer)
    } else {
        Finding::ok("git", version.to_string())
    }
}

/// Looks at the folder that everything is kept in: what it is, who may see it, how much room there is.
pub(super) fn data_folder(home: &Home) -> Vec<Finding> {
    let root = home.root();
    let shown = root.display();
    let mut findings = Vec::new();
    let existing = root.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    let elsewhere = format!("set {HOME_VARIABLE} to the absolute path of a folder that is yours");
    if !existing.is_dir() {
        let text = format!("{} is not a folder, so nothing can be kept", existing.display());
        return vec![Finding::error("data folder", text).advise(elsewhere)];
    }
    if let Err(error) = rustix::fs::access(existing, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK) {
        let text = format!("{} cannot be written: {}", existing.display(), io::Error::from(error));
        let repair = format!("chmod u+rwx {}", shell_word(&existing.display().to_string()));
        return vec![Finding::error("data folder", text).run(repair).advise(elsewhere)];
    }
    let mode = fs::metadata(root).map_or(0o700, |found| found.permissions().mode());
    findings.push(if existing != root {
        Finding::ok("data folder", format!("{shown} (made when something is kept for the first time)"))
    } else if mode & 0o077 != 0 {
        Finding::warning("data folder", format!("{shown} can be opened by others on this machine"))
            .run(format!("chmod go-rwx {}", shell_word(&shown.to_string())))
    } else {
        Finding::ok("data folder", shown.to_string())
    });
    findings.push(match rustix::fs::statvfs(existing) {
        Ok(found) => judge_room(found.f_bavail.saturating_mul(found.f_frsize)),
        Err(error) => Finding::warning("disk", format!("its free space is not known: {}", io::Error::from(error))),
    });
    findings
}

fn judge_room(free: u64) -> Finding {
    let text = format!("{} free", text::size(free));
    if free < ROOM_NEEDED {
        Finding::error("disk", format!("{text}: too little to work with")).run("mxd gc --all")
    } else if free < ROOM_WANTED {
        Finding::warning("disk", text).run("mxd gc --all")
    } else {
        Finding::ok("disk", text)
    }
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
