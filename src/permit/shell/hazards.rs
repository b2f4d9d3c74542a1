//! Options with which a harmless program runs commands or writes files: such a command may only be allowed as a whole.

use super::{Command, Word};

const RUNS: &str = "it can run other commands";
pub(in crate::permit) const WRITES: &str = "it writes a file named in its options";

/// Options and words of a program that need the whole command to be allowed.
struct Hazard {
    name: &'static str,
    /// Short options, by their letters. They may be joined with others.
    short: &'static str,
    /// Long options, or words that begin with one dash. Abbreviations count.
    long: &'static [&'static str],
    /// Arguments anywhere.
    words: &'static [&'static str],
    why: &'static str,
}

const HAZARDS: &[Hazard] = &[
    Hazard {
        name: "find",
        short: "",
        long: &["-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls"],
        words: &[],
        why: RUNS,
    },
    Hazard { name: "rg", short: "", long: &["--pre", "--hostname-bin"], words: &[], why: RUNS },
    Hazard { name: "sort", short: "o", long: &["--output", "--compress-program"], words: &[], why: WRITES },
    Hazard {
        name: "tar",
        short: "IF",
        long: &[
            "--to-command",
            "--checkpoint-action",
            "--use-compress-program",
            "--info-script",
            "--new-volume-script",
            "--rsh-command",
            "--rmt-command",
        ],
        words: &[],
        why: RUNS,
    },
    Hazard {
        name: "curl",
        short: "oOKTDc",
        long: &[
            "--output",
            "--output-dir",
            "--remote-name",
            "--remote-name-all",
            "--config",
            "--upload-file",
            "--dump-header",
            "--cookie-jar",
            "--trace",
            "--trace-ascii",
            "--stderr",
            "--etag-save",
            "--hsts",
            "--alt-svc",
            "--libcurl",
            "--engine",
        ],
        words: &[],
        why: WRITES,
    },
    Hazard {
        name: "wget",
        short: "oOaiPe",
        long: &[
            "--output-document",
            "--output-file",
            "--use-askpass",
            "--execute",
            "--config",
            "--append-output",
            "--directory-prefix",
            "--input-file",
        ],
        words: &[],
        why: WRITES,
    },
    Hazard { name: "tree", short: "o", long: &[], words: &[], why: WRITES },
    Hazard { name: "file", short: "C", long: &["--compile"], words: &[], why: WRITES },
    Hazard { name: "date", short: "s", long: &["--set"], words: &[], why: WRITES },
    Hazard { name: "zip", short: "T", long: &["--unzip-command"], words: &[], why: RUNS },
    Hazard { name: "rsync", short: "e", long: &["--rsh", "--rsync-path"], words: &[], why: RUNS },
    Hazard {
        name: "make",
        short: "fCEI",
        long: &["--eval", "--file", "--makefile", "--directory", "--include-dir"],
        words: &[],
        why: RUNS,
    },
    Hazard { name: "cargo", short: "Z", long: &["--config", "--manifest-path"], words: &[], why: RUNS },
    Hazard { name: "ripgrep", short: "", long: &["--pre"], words: &[], why: RUNS },
    Hazard { name: "man", short: "PH", long: &["--pager", "--html"], words: &[], why: RUNS },
];

/// Programs that fetch or enter something and run a command there.
const REMOTE: [&str; 9] = ["ssh", "npx", "bunx", "pnpx", "uvx", "devbox", "kubectl", "nix-shell", "chronic"];
/// Programs with a first argument that makes them run a command.
const REMOTE_WORDS: [(&str, &[&str]); 6] = [
    ("docker", &["exec", "run", "compose"]),
    ("podman", &["exec", "run", "compose"]),
    ("uv", &["run", "tool"]),
    ("pnpm", &["dlx", "exec"]),
    ("npm", &["exec", "x"]),
    ("nix", &["run", "shell", "develop"]),
];

/// Returns why only the whole command may be allowed.
pub(super) fn find(name: &str, command: &Command) -> Option<&'static str> {
    let arguments = command.arguments();
    if REMOTE.contains(&name) {
        return Some(RUNS);
    }
    if let Some((_, words)) = REMOTE_WORDS.iter().find(|(program, _)| *program == name)
        && arguments.iter().any(|word| word.splits || words.contains(&word.text.as_str()))
    {
        return Some(RUNS);
    }
    match name {
        "awk" | "gawk" | "mawk" | "nawk" | "ed" | "ex" | "vi" | "vim" => return Some(RUNS),
        "sed" | "gsed" => return sed(arguments),
        "git" => return git(arguments),
        _ => {}
    }
    let hazard = HAZARDS.iter().find(|hazard| hazard.name == name)?;
    // What an expansion turns out to be is not known; it could be one of the options.
    let is_hazardous =
        |word: &Word| (word.may_be_option() && (word.is_dynamic || word.is_glob)) || word.splits || hazard.has(word);
    arguments.iter().any(is_hazardous).then_some(hazard.why)
}

impl Hazard {
    fn has(&self, word: &Word) -> bool {
        let text = word.text.as_str();
        if self.words.contains(&text) {
            return true;
        }
        let option = text.split_once('=').map_or(text, |(option, _)| option);
        if option.starts_with("--") && option.len() > 3 && self.long.iter().any(|long| long.starts_with(option)) {
            return true;
        }
        if self.long.contains(&option) {
            return true;
        }
        // Joined short options: `-uo file`.
        text.len() > 1
            && text.starts_with('-')
            && !text.starts_with("--")
            && text.chars().skip(1).any(|flag| self.short.contains(flag))
    }
}

/// Returns the hazard of a call of git.
fn git(arguments: &[Word]) -> Option<&'static str> {
    const GLOBAL: [&str; 3] = ["-c", "--exec-path", "--config-env"];
    const COMMANDS: [&str; 9] =
        ["bisect", "submodule", "config", "difftool", "mergetool", "filter-branch", "send-email", "daemon", "archive"];
    const OPTIONS: [&str; 9] = [
        "--exec",
        "--upload-pack",
        "--receive-pack",
        "--output",
        "--open-files-in-pager",
        "--ext-diff",
        "--textconv",
        "--extcmd",
        "--template",
    ];
    let mut is_global = true;
    for word in arguments {
        let text = word.text.as_str();
        if word.splits || (word.may_be_option() && (word.is_dynamic || word.is_glob)) {
            return Some(RUNS);
        }
        let option = text.split_once('=').map_or(text, |(option, _)| option);
        if is_global && (GLOBAL.contains(&option) || text.starts_with("-c")) {
            return Some(RUNS);
        }
        if is_global && !text.starts_with('-') {
            is_global = false;
            if COMMANDS.contains(&text) {
                return Some(RUNS);
            }
        }
        let is_abbreviated = option.len() > 3 && option.starts_with("--");
        if (is_abbreviated && OPTIONS.iter().any(|long| long.starts_with(option)))
            || text == "-x"
            || text.starts_with("-O")
        {
            return Some(RUNS);
        }
    }
    None
}

/// Returns the hazard of a call of sed: anything but printing, deleting and plain replacing.
fn sed(arguments: &[Word]) -> Option<&'static str> {
    let mut script = None;
    let mut is_in_place = false;
    let mut arguments = arguments.iter();
    while let Some(word) = arguments.next() {
        match word.text.as_str() {
            _ if word.is_dynamic && word.may_be_option() || word.splits => return Some(RUNS),
            "-n" | "-E" | "-r" | "-s" | "-u" => {}
            "-i" | "--in-place" => is_in_place = true,
            "-e" if script.is_none() => script = arguments.next(),
            text if text.starts_with('-') => return Some(RUNS),
            _ if script.is_none() => script = Some(word),
            _ => {}
        }
    }
    let is_plain = script.is_some_and(|script| !script.is_dynamic && is_plain_sed(&script.text));
    match (is_plain, is_in_place) {
        (false, _) => Some(RUNS),
        (true, true) => Some(WRITES),
        (true, false) => None,
    }
}

/// Returns true for one command of sed that prints, deletes or replaces, and runs and writes nothing.
fn is_plain_sed(script: &str) -> bool {
    let command = script.trim_start_matches(|c: char| c.is_ascii_digit() || c == ',' || c == '$');
    if matches!(command, "p" | "d" | "q") {
        return true;
    }
    let Some(rest) = command.strip_prefix('s') else { return false };
    let Some(delimiter) = rest.chars().next().filter(char::is_ascii_punctuation).filter(|c| *c != '\\') else {
        return false;
    };
    let (mut parts, mut is_escaped) = (vec![String::new()], false);
    for c in rest.chars().skip(1) {
        if c == delimiter && !is_escaped {
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(c);
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    // A delimiter inside a bracket expression gives more parts.
    let [_, _, flags] = parts.as_slice() else { return false };
    flags.chars().all(|flag| flag.is_ascii_digit() || "gpiI".contains(flag)) && !script.contains('\n')
}
