//! Commands that only read, with any of the arguments they are given.

use crate::permit::shell::{Command, Role, Script, Word};

/// Programs that only read or print, whatever their arguments.
const READERS: [&str; 55] = [
    "ls",
    "cat",
    "head",
    "tail",
    "wc",
    "diff",
    "cmp",
    "stat",
    "du",
    "df",
    "pwd",
    "echo",
    "basename",
    "dirname",
    "realpath",
    "readlink",
    "which",
    "type",
    "true",
    "false",
    ":",
    "uname",
    "whoami",
    "id",
    "grep",
    "egrep",
    "fgrep",
    "cut",
    "tr",
    "nl",
    "tac",
    "rev",
    "column",
    "comm",
    "join",
    "paste",
    "seq",
    "sleep",
    "test",
    "[",
    "cd",
    "md5sum",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "b2sum",
    "cksum",
    "od",
    "hexdump",
    "strings",
    "fold",
    "expand",
    "jq",
    "exit",
    "set",
];
/// Programs that only read unless [`crate::permit::shell::Command::whole_only`] says otherwise.
const USUAL_READERS: [&str; 8] = ["file", "rg", "find", "sort", "tree", "date", "sed", "printf"];
/// Commands of git that only read.
const GIT: [&str; 15] = [
    "status",
    "log",
    "diff",
    "show",
    "rev-parse",
    "ls-files",
    "ls-tree",
    "blame",
    "grep",
    "describe",
    "shortlog",
    "cat-file",
    "merge-base",
    "rev-list",
    "name-rev",
];

/// Returns true if nothing that the script runs changes anything.
pub(super) fn is_read_only(script: &Script) -> bool {
    script.opaque.is_none() && script.commands.iter().all(|command| command.role != Role::Runs || reads(command))
}

/// Returns true if the command only reads.
pub(super) fn reads(command: &Command) -> bool {
    if !command.assignments.is_empty() || command.whole_only.is_some() {
        return false;
    }
    let Some(name) = command.name() else { return false };
    if READERS.contains(&name) {
        return true;
    }
    // An expansion could be an option that writes.
    if !command.words.iter().all(Word::is_certain) {
        return false;
    }
    match name {
        "uniq" => command.arguments().iter().filter(|word| !word.text.starts_with('-')).count() < 2,
        "hostname" => command.arguments().is_empty(),
        "git" => match command.arguments().first() {
            Some(first) if GIT.contains(&first.text.as_str()) => true,
            Some(first) if first.text == "branch" => {
                let list = ["--list", "-a", "-r", "-v", "-vv", "--show-current", "--all"];
                command.arguments()[1..].iter().all(|word| list.contains(&word.text.as_str()))
            }
            Some(first) if first.text == "remote" => {
                matches!(command.arguments(), [_] | [_, Word { .. }] if command.arguments()[1..].iter().all(|word| word.text == "-v"))
            }
            _ => false,
        },
        name => USUAL_READERS.contains(&name),
    }
}
