//! Commands that run other commands: unwraps those that are understood, refuses the rest.

use super::parser::{self, is_dangerous_variable, is_name};
use super::{Command, MAX_DEPTH, Opaque, Role, Script, Word, base_name, hazards};

/// Builtins that run text, change how the shell reads commands, or evaluate their arguments.
const OPAQUE_BUILTINS: [&str; 25] = [
    "eval",
    "source",
    ".",
    "trap",
    "alias",
    "unalias",
    "shopt",
    "enable",
    "hash",
    "compgen",
    "complete",
    "compopt",
    "bind",
    "mapfile",
    "readarray",
    "fc",
    "history",
    "declare",
    "typeset",
    "local",
    "let",
    "caller",
    "getopts",
    "suspend",
    "jobs",
];
/// Builtins that evaluate a subscript in the name of a variable.
const NAMING_BUILTINS: [&str; 9] = ["read", "unset", "export", "readonly", "printf", "test", "[", "wait", "set"];
/// Programs that run another command in ways that are not followed.
const RUNNERS: [&str; 34] = [
    "watch",
    "flock",
    "chroot",
    "unshare",
    "nsenter",
    "strace",
    "ltrace",
    "script",
    "su",
    "runuser",
    "busybox",
    "parallel",
    "entr",
    "start-stop-daemon",
    "systemd-run",
    "at",
    "batch",
    "crontab",
    "expect",
    "unbuffer",
    "proot",
    "fakeroot",
    "setpriv",
    "prlimit",
    "capsh",
    "run-parts",
    "gdb",
    "perf",
    "valgrind",
    "ld.so",
    "ksh",
    "zsh",
    "fish",
    "coproc",
];
/// The arguments of `set` that only make the shell stricter or more talkative.
const SAFE_SET: [&str; 14] =
    ["-e", "-u", "-x", "-f", "-o", "+e", "+x", "+u", "-eu", "-ex", "-eux", "-euo", "-euxo", "pipefail"];
const FOLDER_BUILTINS: [&str; 3] = ["cd", "pushd", "popd"];

/// A program that takes options and arguments of its own, and then a command.
struct Wrapper {
    name: &'static str,
    /// Options without and with a value. Any other option makes the script opaque.
    flags: &'static [&'static str],
    valued: &'static [&'static str],
    /// The number of its own arguments before the command.
    own: usize,
}

const WRAPPERS: &[Wrapper] = &[
    Wrapper { name: "command", flags: &["-p"], valued: &[], own: 0 },
    Wrapper { name: "builtin", flags: &[], valued: &[], own: 0 },
    Wrapper { name: "exec", flags: &["-c", "-l"], valued: &["-a"], own: 0 },
    Wrapper { name: "nohup", flags: &[], valued: &[], own: 0 },
    Wrapper { name: "nice", flags: &[], valued: &["-n", "--adjustment"], own: 0 },
    Wrapper {
        name: "timeout",
        flags: &["--preserve-status", "--foreground", "-v", "--verbose"],
        valued: &["-k", "-s", "--kill-after", "--signal"],
        own: 1,
    },
    Wrapper { name: "time", flags: &["-p"], valued: &[], own: 0 },
    Wrapper { name: "stdbuf", flags: &[], valued: &["-i", "-o", "-e", "--input", "--output", "--error"], own: 0 },
    Wrapper { name: "setsid", flags: &["-c", "-f", "-w", "--ctty", "--fork", "--wait"], valued: &[], own: 0 },
    Wrapper { name: "ionice", flags: &["-t", "--ignore"], valued: &["-c", "-n", "--class", "--classdata"], own: 0 },
    Wrapper {
        name: "xargs",
        flags: &["-0", "-r", "-t", "-x", "--null", "--no-run-if-empty", "--verbose", "--exit"],
        valued: &["-n", "-P", "-L", "-s", "-d", "-I", "-E", "-a"],
        own: 0,
    },
];

/// Adds a command, and every command that it would run.
pub(super) fn add(command: Command, depth: usize, script: &mut Script) {
    if depth > MAX_DEPTH {
        return script.refuse(Opaque::TooDeep);
    }
    if let Some((name, _)) = command.assignments.iter().find(|(name, _)| is_dangerous_variable(name)) {
        script.refuse(Opaque::Variable(name.clone()));
    }
    let Some(first) = command.words.first() else {
        script.commands.push(command);
        return;
    };
    if first.is_dynamic || first.is_glob && first.text != "[" {
        script.refuse(Opaque::DynamicName);
        script.commands.push(command);
        return;
    }
    let name = base_name(&first.text).to_owned();
    match name.as_str() {
        _ if first.text.is_empty() || first.text.starts_with('-') => script.refuse(Opaque::DynamicName),
        builtin if OPAQUE_BUILTINS.contains(&builtin) => add_text_runner(builtin, &command, depth, script),
        builtin if NAMING_BUILTINS.contains(&builtin) => check_names(builtin, &command, script),
        folder if FOLDER_BUILTINS.contains(&folder) => script.changes_folder = true,
        runner if RUNNERS.contains(&runner) || runner.starts_with("ld-linux") => {
            add_suffixes(&command, script);
            script.refuse(Opaque::Runner(name.clone()));
        }
        "bash" | "sh" | "dash" => return add_shell(command, depth, script),
        "env" => return add_env(command, depth, script),
        "sudo" | "doas" => {
            add_suffixes(&command, script);
            script.commands.push(Command { whole_only: Some("it changes the user"), ..command });
            return;
        }
        "find" => add_find_actions(&command, depth, script),
        _ => {
            if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.name == name) {
                return add_wrapped(wrapper, command, depth, script);
            }
        }
    }
    let whole_only = hazards::find(&name, &command);
    script.commands.push(Command { whole_only, ..command });
}

/// Refuses a builtin that can run anything. Its literal arguments are parsed, for deny rules.
fn add_text_runner(name: &str, command: &Command, depth: usize, script: &mut Script) {
    script.refuse(Opaque::Builtin(name.to_owned()));
    if name == "eval" && command.is_literal() {
        let text: Vec<&str> = command.arguments().iter().map(|word| word.text.as_str()).collect();
        parser::parse(&text.join(" "), depth + 1, script);
    } else {
        for word in command.arguments().iter().filter(|word| !word.is_dynamic && word.is_quoted) {
            parser::parse(&word.text, depth + 1, script);
        }
    }
}

/// Refuses arguments that could hold a subscript: bash evaluates it, and runs the substitutions in it.
fn check_names(name: &str, command: &Command, script: &mut Script) {
    let arguments = command.arguments();
    let dangerous = match name {
        // Only the variable after `-v` is a name.
        "printf" => arguments.first().is_some_and(Word::may_be_option),
        "test" | "[" => arguments.iter().any(|word| word.is_dynamic || matches!(word.text.as_str(), "-v" | "-R")),
        "set" => !arguments.iter().all(|word| !word.is_dynamic && SAFE_SET.contains(&word.text.as_str())),
        "read" | "unset" | "wait" => arguments.iter().any(|word| word.is_dynamic || word.text.contains('[')),
        _ => arguments.iter().any(|word| {
            let (name, value) = word.text.split_once('=').unwrap_or((&word.text, ""));
            let is_flag = matches!(word.text.as_str(), "-n" | "-p" | "--");
            let is_plain = is_name(name) && !(word.is_dynamic && (word.splits || name.contains(super::DYNAMIC)));
            is_dangerous_variable(name) || value.starts_with('(') || !(is_flag || is_plain)
        }),
    };
    if dangerous {
        script.refuse(Opaque::Builtin(name.to_owned()));
    }
}

/// Returns the role of a command that runs `inner`. A program of the same name in another folder could do anything.
fn wrapper_role(command: &Command, inner: &[Word]) -> Role {
    let name = command.name().unwrap_or_default();
    let folder = name.strip_suffix(base_name(name)).unwrap_or_default();
    if inner.is_empty() || !matches!(folder, "" | "/bin/" | "/usr/bin/") { Role::Runs } else { Role::Wrapper }
}

/// Adds every suffix of the arguments as a possible command.
fn add_suffixes(command: &Command, script: &mut Script) {
    for start in 1..command.words.len().min(16) {
        let words = command.words[start..].to_vec();
        script.commands.push(Command { words, role: Role::Inner, ..Command::default() });
    }
}

/// Adds the commands of `bash -c TEXT`.
fn add_shell(command: Command, depth: usize, script: &mut Script) {
    let mut arguments = command.arguments().iter();
    let mut takes_text = false;
    let mut operand = None;
    while let Some(word) = arguments.next() {
        let text = word.text.as_str();
        if word.may_be_option() && word.is_dynamic || word.splits || (word.is_glob && word.may_be_option()) {
            script.refuse(Opaque::ShellInput);
            break;
        }
        match text {
            "--norc" | "--noprofile" | "--posix" | "--version" => {}
            "-" | "--" => {
                operand = arguments.next();
                break;
            }
            "-o" | "+o" | "-O" | "+O" => {
                script.refuse(Opaque::ShellInput);
                break;
            }
            _ if text.starts_with("--") || text.starts_with('+') => {
                script.refuse(Opaque::ShellInput);
                break;
            }
            _ if text.starts_with('-') => {
                if !text[1..].chars().all(|flag| "ceuvh".contains(flag)) {
                    script.refuse(Opaque::ShellInput);
                    add_suffixes(&command, script);
                    takes_text |= text.contains('c');
                }
                takes_text |= text.contains('c');
            }
            _ => {
                operand = Some(word);
                break;
            }
        }
    }
    let role = match operand {
        Some(text) if takes_text && !text.is_dynamic && !text.is_glob => {
            parser::parse(&text.text, depth + 1, script);
            if depth + 1 > MAX_DEPTH {
                script.refuse(Opaque::TooDeep);
            }
            wrapper_role(&command, &command.words)
        }
        // A dynamic text, or commands from standard input.
        Some(_) if takes_text => {
            script.refuse(Opaque::ShellInput);
            Role::Runs
        }
        None => {
            let only_informs = matches!(command.arguments(), [word] if word.text == "--version");
            if !only_informs {
                script.refuse(Opaque::ShellInput);
            }
            Role::Runs
        }
        // A file of commands. Deny rules may name it.
        Some(_) => {
            add_suffixes(&command, script);
            Role::Runs
        }
    };
    script.commands.push(Command { role, ..command });
}

/// Adds the command of `env NAME=VALUE COMMAND`.
fn add_env(command: Command, depth: usize, script: &mut Script) {
    let mut inner = Command { assignments: command.assignments.clone(), ..Command::default() };
    let mut words = command.arguments().iter().peekable();
    while let Some(word) = words.peek().copied() {
        let text = word.text.as_str();
        if word.may_be_option() && word.is_dynamic || word.splits || word.is_glob {
            script.refuse(Opaque::Runner("env".to_owned()));
            break;
        }
        match text {
            "-i" | "-" | "--ignore-environment" | "-0" => {}
            "--" => {
                words.next();
                break;
            }
            "-u" | "--unset" => {
                words.next();
            }
            _ if text.starts_with("--unset=") => {}
            _ if text.starts_with('-') => {
                script.refuse(Opaque::Runner("env".to_owned()));
                break;
            }
            _ => break,
        }
        words.next();
    }
    while let Some(word) = words.peek().copied() {
        let Some((name, value)) = word.text.split_once('=') else { break };
        if !is_name(name) || word.splits {
            script.refuse(Opaque::Runner("env".to_owned()));
        }
        inner.assignments.push((name.to_owned(), Word { text: value.to_owned(), ..word.clone() }));
        words.next();
    }
    inner.words = words.cloned().collect();
    if script.opaque.is_some() {
        add_suffixes(&command, script);
    }
    let role = wrapper_role(&command, &inner.words);
    script.commands.push(Command { role, ..command });
    if !inner.words.is_empty() {
        add(inner, depth + 1, script);
    }
}

/// Adds the command that a wrapper runs.
fn add_wrapped(wrapper: &Wrapper, command: Command, depth: usize, script: &mut Script) {
    let refuse = |script: &mut Script| {
        add_suffixes(&command, script);
        script.refuse(Opaque::Runner(wrapper.name.to_owned()));
        script.commands.push(command.clone());
    };
    let mut at = 1;
    let mut replaces = None;
    while let Some(word) = command.words.get(at) {
        let text = word.text.as_str();
        if wrapper.name == "command" && matches!(text, "-v" | "-V") {
            script.commands.push(command);
            return;
        }
        if word.splits || word.is_glob || (word.is_dynamic && word.may_be_option()) {
            return refuse(script);
        }
        if text == "--" {
            at += 1;
            break;
        }
        if !text.starts_with('-') || text == "-" {
            break;
        }
        let long = text.split_once('=').map(|(name, _)| name).filter(|name| name.starts_with("--"));
        let joined = (!text.starts_with("--") && text.len() > 2).then(|| text.get(..2)).flatten();
        if wrapper.flags.contains(&text) || long.is_some_and(|name| wrapper.valued.contains(&name)) {
            at += 1;
        } else if wrapper.valued.contains(&text) {
            if text == "-I" {
                replaces = command.words.get(at + 1).map(|word| word.text.clone());
            }
            at += 2;
        } else if let Some(name) = joined.filter(|name| wrapper.valued.contains(name)) {
            if name == "-I" {
                replaces = text.get(2..).map(str::to_owned);
            }
            at += 1;
        } else if wrapper.name == "nice" && text[1..].bytes().all(|byte| byte.is_ascii_digit()) {
            at += 1;
        } else {
            return refuse(script);
        }
    }
    // Its own arguments: a duration may be dynamic, but must be one word.
    let own = command.words.get(at..).unwrap_or_default().iter().take(wrapper.own);
    if own.clone().any(|word| word.splits || word.is_glob || word.may_be_option()) {
        return refuse(script);
    }
    let mut words: Vec<Word> = command.words.get(at + wrapper.own..).unwrap_or_default().to_vec();
    let assignments = command.assignments.clone();
    if words.is_empty() && wrapper.name == "xargs" {
        words.push(Word::literal("echo"));
    }
    let role = wrapper_role(&command, &words);
    script.commands.push(Command { role, ..command });
    if words.is_empty() {
        return;
    }
    let mut inner = Command { assignments, words, ..Command::default() };
    if wrapper.name == "xargs" {
        add_input(&mut inner, replaces.as_deref());
    }
    add(inner, depth + 1, script);
}

/// Marks what `xargs` adds to a command as dynamic.
fn add_input(command: &mut Command, replaces: Option<&str>) {
    let input = || Word { text: super::DYNAMIC.to_string(), is_dynamic: true, splits: true, ..Word::default() };
    match replaces {
        Some(mark) if !mark.is_empty() => {
            for word in command.words.iter_mut().filter(|word| word.text.contains(mark)) {
                word.text = word.text.replace(mark, &super::DYNAMIC.to_string());
                word.is_dynamic = true;
            }
        }
        _ => command.words.push(input()),
    }
}

/// Adds the commands of `find -exec` and its kind.
fn add_find_actions(command: &Command, depth: usize, script: &mut Script) {
    // An expansion could become `-exec`.
    if command.arguments().iter().any(|word| word.splits || (word.may_be_option() && (word.is_dynamic || word.is_glob)))
    {
        script.refuse(Opaque::Runner("find".to_owned()));
    }
    let mut words = command.arguments().iter();
    while let Some(word) = words.next() {
        if !matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir") {
            continue;
        }
        let mut inner = Command { assignments: command.assignments.clone(), ..Command::default() };
        for word in words.by_ref() {
            if word.text == ";" || (word.text == "+" && inner.words.last().is_some_and(|last| last.splits)) {
                break;
            }
            let mut word = word.clone();
            if word.text.contains("{}") {
                word.text = word.text.replace("{}", &super::DYNAMIC.to_string());
                // `{} +` becomes many words.
                word.is_dynamic = true;
                word.splits = word.text.chars().count() == 1;
            }
            inner.words.push(word);
        }
        if !inner.words.is_empty() {
            add(inner, depth + 1, script);
        }
    }
}
