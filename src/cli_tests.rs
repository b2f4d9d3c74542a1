use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::CommandFactory as _;
use clap::error::ErrorKind;

use super::*;

#[test]
fn the_command_declarations_are_valid() {
    Cli::command().debug_assert();
}

/// Returns every source file and documentation page, with its text.
fn texts() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut texts = vec![(PathBuf::from("README.md"), std::fs::read_to_string(root.join("README.md")).unwrap())];
    let mut waiting = vec![root.join("src"), root.join("docs")];
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let is_test = path.file_name().unwrap().to_string_lossy().ends_with("_tests.rs");
            if path.is_dir() {
                waiting.push(path);
            } else if !is_test && path.extension().is_some_and(|kind| kind == "rs" || kind == "md") {
                let text = std::fs::read_to_string(&path).unwrap();
                texts.push((path.strip_prefix(root).unwrap().to_owned(), text));
            }
        }
    }
    texts
}

/// Returns the texts between pairs of `mark`, line by line.
fn between(text: &str, mark: char) -> impl Iterator<Item = &str> {
    text.lines().flat_map(move |line| line.split(mark).skip(1).step_by(2))
}

/// Expands a command in a sentence into command lines: fills placeholders and splits alternatives.
fn expand(command: &str) -> Vec<Vec<String>> {
    let mut filled = String::new();
    let mut rest = command.split(" | ").next().unwrap();
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        filled.push_str(if before.ends_with("--") { "global" } else { "x" });
        rest = after.split_once('}').map_or("", |(_, after)| after);
    }
    filled.push_str(rest);
    let mut lines = vec![Vec::new()];
    for word in words(&filled.replace('…', "x")) {
        let word = match word.trim_matches(['[', ']']) {
            "USD" | "N" | "SECONDS" => "1".to_owned(),
            "SHELL" => "bash".to_owned(),
            word => word.to_owned(),
        };
        let choices: Vec<&str> = if word.contains("true|false") { vec!["true"] } else { word.split('|').collect() };
        lines = lines.iter().flat_map(|line| choices.iter().map(move |choice| extended(line, choice))).collect();
    }
    lines
}

fn extended(line: &[String], word: &str) -> Vec<String> {
    line.iter().cloned().chain([word.to_owned()]).collect()
}

/// Splits a line as a shell does.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in line.chars() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('\'' | '"', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// Returns the parse error of a command line. The bare name of a command is accepted.
fn parse_error(line: &[String]) -> Option<String> {
    let os_line: Vec<OsString> = line.iter().map(OsString::from).collect();
    let error = Cli::parse_line(os_line.clone()).err()?;
    if let Some(line) = goal::as_run(&os_line, &error) {
        return Cli::parse_line(line).err().map(|error| error.to_string());
    }
    let mut command = Cli::command();
    // With an option it is more than a name: users will paste it.
    let names_a_command = line[1..].iter().all(|word| {
        let next = command.find_subcommand(word).cloned();
        next.map(|next| command = next).is_some()
    });
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => None,
        ErrorKind::MissingRequiredArgument
        | ErrorKind::MissingSubcommand
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
            if names_a_command =>
        {
            None
        }
        _ => Some(error.to_string()),
    }
}

#[test]
fn every_command_in_messages_and_pages_parses() {
    let mut seen = 0;
    let mut wrong = BTreeMap::new();
    for (path, text) in texts() {
        let quoted = between(&text, '`').filter(|found| found.starts_with("mxd "));
        let shown = text.lines().filter_map(|line| line.strip_prefix("$ ")).filter(|line| line.starts_with("mxd "));
        let shown = shown.map(|line| line.split('#').next().unwrap());
        for command in quoted.chain(shown) {
            // The command itself is a placeholder.
            if command.starts_with("mxd {") {
                continue;
            }
            for line in expand(command) {
                seen += 1;
                if let Some(error) = parse_error(&line) {
                    wrong.insert(format!("{}: {command}", path.display()), error);
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(seen > 60, "only {seen} were looked at");
}

#[test]
fn commands_in_messages_are_in_backticks() {
    let cli = Cli::command();
    let names: Vec<String> = cli.get_subcommands().map(|command| format!("mxd {} ", command.get_name())).collect();
    let mut wrong = Vec::new();
    for (path, text) in texts().iter().filter(|(path, _)| path.extension().is_some_and(|kind| kind == "rs")) {
        for (line, number) in text.lines().zip(1..) {
            let is_comment = line.trim_start().starts_with("//");
            for sentence in line.split('"').skip(1).step_by(2).filter(|_| !is_comment) {
                // A message that is only a command needs no backticks.
                let loose = format!("{} ", sentence.trim_start().strip_prefix("mxd ").unwrap_or(sentence));
                let open: String = loose.split('`').step_by(2).collect();
                if names.iter().any(|name| open.contains(name.as_str())) {
                    wrong.push(format!("{}:{number}: {sentence}", path.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_checks_of_commands_can_fail() {
    assert!(parse_error(&words("mxd tre")).is_some());
    assert!(parse_error(&words("mxd config set --globl a b")).is_some());
    assert!(parse_error(&words("mxd task edit x --budget many")).is_some());
    assert!(parse_error(&words("mxd merge --undo")).is_some());
    assert_eq!(parse_error(&words("mxd config set")), None);
    assert_eq!(expand("mxd task new|close TASK").len(), 2);
    assert_eq!(words(r#"mxd config set 'models."a.b".window' 5"#)[3], r#"models."a.b".window"#);
}
