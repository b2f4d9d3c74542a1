//! Passes a command to bash unchanged, and returns the folder in which it ended.
//!
//! The command is data for `eval`, never text inside a wrapper: a trailing comment, an open heredoc or an unbalanced
//! bracket affects only itself. If the folder changed, it is written to a side file after the command and in an EXIT
//! trap. A command that may lose both (it says `exec`, sets traps, or reads scripts that could) also gets a DEBUG
//! trap, which writes every change; that costs a little per command, so only those get it. The wrapper is kept out of
//! the trace of a command that says `set -x`.
//!
//! The files are small and private, so they are read and written in place: a hop to another thread costs more.

use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::process;

/// The longest path of a folder.
const LONGEST_PATH: u64 = 64 << 10;

/// The wrapper of the command. One line, so that bash reports the line numbers of the command. `$1` is the command
/// (`$2` is empty) or a file with it (`$2` is `file`), `$3` the side file, `$4` the DEBUG trap, or empty.
const AROUND: &str = concat!(
    "__mxd_side=$3; __mxd_last=$PWD; __mxd_save() { [[ . -ef $__mxd_last ]] || ",
    "{ __mxd_last=$PWD; builtin pwd -P >|\"$__mxd_side\"; }; } 2>/dev/null; ",
    "if [[ $2 == file ]]; then __mxd_command=$(<\"$1\"); else __mxd_command=$1; fi; ",
    "trap '{ __mxd_save; } 2>/dev/null' EXIT; ",
    "if [[ -n $4 ]]; then set -T; trap \"$4\" DEBUG; fi; ",
    "set --; eval \"$__mxd_command\"; ",
    "{ __mxd_status=$?; set +xv; trap - DEBUG; __mxd_save || :; } 2>/dev/null; exit $__mxd_status",
);

/// The DEBUG trap. It runs before every command of a watched script.
const WATCH: &str = "[[ $BASH_SUBSHELL == 0 && $PWD != \"$__mxd_last\" ]] && __mxd_save || :";
/// The same where it would be traced. It costs twice as much.
const WATCH_UNTRACED: &str = "{ [[ $BASH_SUBSHELL == 0 && $PWD != \"$__mxd_last\" ]] && __mxd_save || :; } 2>/dev/null";

/// Linux limits a single argument to 128 KiB.
const LONGEST_ARGUMENT: usize = 100 << 10;

/// Words after which neither the EXIT trap nor the line after the command is reliable.
const LOSES_TRAPS: &[&str] = &["exec", "trap", "source", ".", "eval", "kill"];

/// A prepared command. It owns its files, so it must live as long as the command runs.
pub(super) struct Script {
    argument: OsString,
    is_file: bool,
    side: PathBuf,
    watch: &'static str,
}

impl Script {
    /// Prepares `command`; its files are named after `id` and are in `folder`.
    pub(super) fn new(command: &str, id: &str, folder: &Path) -> io::Result<Self> {
        if command.contains('\0') {
            return Err(io::Error::other("it contains a zero byte, which no command can"));
        }
        if !folder.is_dir() {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let is_file = command.len() > LONGEST_ARGUMENT;
        let argument = if is_file {
            let path = folder.join(format!("{id}.sh"));
            // A command may contain secrets: only its owner may read it.
            process::create_private(&path)?.write_all(command.as_bytes())?;
            path.into_os_string()
        } else {
            command.into()
        };
        Ok(Self { argument, is_file, side: folder.join(format!("{id}.cwd")), watch: watch(command) })
    }

    pub(super) fn arguments(&self) -> Vec<OsString> {
        let word = |word: &str| OsString::from(word);
        vec![
            word("--noprofile"),
            word("--norc"),
            word("-c"),
            word(AROUND),
            word("bash"),
            self.argument.clone(),
            word(if self.is_file { "file" } else { "" }),
            self.side.clone().into_os_string(),
            word(self.watch),
        ]
    }

    /// Returns the folder in which the command ended, if it moved and the folder exists.
    pub(super) fn final_folder(&self) -> Option<PathBuf> {
        // The command could have put anything there.
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let file = File::options().read(true).custom_flags(flags).open(&self.side).ok()?;
        let mut bytes = Vec::new();
        file.metadata().ok().filter(Metadata::is_file)?;
        file.take(LONGEST_PATH).read_to_end(&mut bytes).ok()?;
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        }
        let folder = PathBuf::from(OsString::from_vec(bytes));
        (folder.is_absolute() && folder.is_dir()).then_some(folder)
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.side);
        if self.is_file {
            let _ = std::fs::remove_file(&self.argument);
        }
    }
}

/// Returns the DEBUG trap for a command, or an empty text if it needs none.
fn watch(command: &str) -> &'static str {
    let mut words = command.split(|c: char| c.is_whitespace() || ";&|(){}`$\"'\\".contains(c));
    match (words.any(|word| LOSES_TRAPS.contains(&word)), command.contains("set -")) {
        (false, _) => "",
        (true, false) => WATCH,
        (true, true) => WATCH_UNTRACED,
    }
}
