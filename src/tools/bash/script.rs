//! How a command reaches bash unharmed, and how the folder it ends in comes back.
//!
//! The command is data for `eval`, never text inside a wrapper: a trailing comment, an open heredoc or an unbalanced
//! bracket can break nothing but itself. A folder that is not the one it started in is written to a side file after the
//! command and in an EXIT trap. Where a command may lose both (it says `exec`, sets traps, or reads scripts that could),
//! a DEBUG trap also writes it whenever it has changed; that costs a little per command, so only those get it. What runs
//! around the command is kept out of the trace of a command that says `set -x`.
//!
//! The files are small and ours, so they are read and written in place: a hop to another thread costs more.

use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::process;

/// No path of a folder is longer.
const LONGEST_PATH: u64 = 64 << 10;

/// What runs before and after the command. One line, so that bash's own line numbers are those of the command.
/// `$1` is the command (`$2` is empty) or a file that holds it (`$2` is `file`), `$3` the side file, `$4` what watches the
/// folder, or nothing.
const AROUND: &str = concat!(
    "__mxd_side=$3; __mxd_last=$PWD; __mxd_save() { [[ . -ef $__mxd_last ]] || ",
    "{ __mxd_last=$PWD; builtin pwd -P >|\"$__mxd_side\"; }; } 2>/dev/null; ",
    "if [[ $2 == file ]]; then __mxd_command=$(<\"$1\"); else __mxd_command=$1; fi; ",
    "trap '{ __mxd_save; } 2>/dev/null' EXIT; ",
    "if [[ -n $4 ]]; then set -T; trap \"$4\" DEBUG; fi; ",
    "set --; eval \"$__mxd_command\"; ",
    "{ __mxd_status=$?; set +xv; trap - DEBUG; __mxd_save || :; } 2>/dev/null; exit $__mxd_status",
);

/// The DEBUG trap. It runs before every command that is watched.
const WATCH: &str = "[[ $BASH_SUBSHELL == 0 && $PWD != \"$__mxd_last\" ]] && __mxd_save || :";
/// The same where it would be traced, too. It costs twice as much.
const WATCH_UNTRACED: &str = "{ [[ $BASH_SUBSHELL == 0 && $PWD != \"$__mxd_last\" ]] && __mxd_save || :; } 2>/dev/null";

/// A single argument may have 128 KiB on Linux.
const LONGEST_ARGUMENT: usize = 100 << 10;

/// Words after which neither the EXIT trap nor the line after the command can be counted on.
const LOSES_TRAPS: &[&str] = &["exec", "trap", "source", ".", "eval", "kill"];

/// A command on its way to bash. Its files go with it, so it has to live as long as the command runs.
pub(super) struct Script {
    argument: OsString,
    is_file: bool,
    side: PathBuf,
    watch: &'static str,
}

impl Script {
    /// Prepares `command`; its files are named after `id` and lie in `folder`.
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
            // A command may hold anything: only its owner reads it.
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

    /// Returns the folder in which the command ended, if it moved and the folder is there.
    pub(super) fn folder_at_the_end(&self) -> Option<PathBuf> {
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

/// Returns what watches the folder while a command runs. Nothing: its end tells where it is.
fn watch(command: &str) -> &'static str {
    let mut words = command.split(|c: char| c.is_whitespace() || ";&|(){}`$\"'\\".contains(c));
    match (words.any(|word| LOSES_TRAPS.contains(&word)), command.contains("set -")) {
        (false, _) => "",
        (true, false) => WATCH,
        (true, true) => WATCH_UNTRACED,
    }
}
