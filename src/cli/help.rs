//! `mxd help`: help for commands, and the documentation pages that are compiled into the program.

use std::fmt::Write as _;

use crate::base::Fault;
use crate::cli::completions;
use crate::cli::console::{Console, Outcome};

#[derive(clap::Args)]
pub struct Args {
    /// A command or topic (see `mxd help`).
    topic: Vec<String>,
}

/// A documentation page.
struct Topic {
    name: &'static str,
    text: &'static str,
}

/// The commands by purpose, as the help lists them. A test compares them with the declarations.
const GROUPS: &[(&str, &[&str])] = &[
    ("Start", &["demo", "init", "run"]),
    ("Talk to agents", &["send", "asks", "answer", "stop", "prompt"]),
    ("Look", &["tree", "diff", "log", "cost", "context", "search", "export"]),
    ("Work on tasks", &["task", "handover", "merge", "rewind", "fork", "restore"]),
    ("Leave agents at work", &["serve", "attach"]),
    ("Configure", &["config", "permit", "hooks", "agents", "skill", "backends", "mcp", "completions"]),
    ("Maintain", &["doctor", "check", "gc", "projects", "import"]),
    ("Help", &["help", "man"]),
];

/// Returns the template of the help, with the commands in groups.
pub fn template(command: &clap::Command) -> String {
    let mut text =
        "{about-with-newline}\n{usage-heading} mxd [OPTIONS] [COMMAND]\n       mxd [OPTIONS] \"GOAL\"\n".to_owned();
    let (bold, end) = ("\u{1b}[1m", "\u{1b}[0m");
    for (heading, names) in GROUPS {
        let _ = write!(text, "\n{bold}{heading}:{end}\n");
        for name in *names {
            let about = command.find_subcommand(name).and_then(clap::Command::get_about);
            let _ = writeln!(text, "  {bold}{name:<13}{end}{}", about.map(ToString::to_string).unwrap_or_default());
        }
    }
    text.push_str("\n{all-args}{after-help}");
    text.replace("{all-args}", "\u{1b}[1mOptions:\u{1b}[0m\n{options}")
}

/// Declares the topics and their files below `docs/`.
macro_rules! topics {
    ($($name:literal => $page:literal),* $(,)?) => {
        const TOPICS: &[Topic] = &[$(Topic { name: $name, text: include_str!(concat!("../../docs/", $page)) }),*];
        /// The text below the options.
        pub const AFTER_HELP: &str = concat!(
            "Without a command, mxd opens the screen.\n\nExamples:\n\
             \x20 mxd                                 Open the screen\n\
             \x20 mxd \"Add a login page\"              Run a goal without the screen\n\
             \x20 mxd run --budget 5 \"Fix the tests\"  Limit what it may cost\n\
             \x20 mxd diff 12                         Show what task 12 changed\n\
             \x20 mxd merge login                     Merge the task with \"login\" in its title\n\n\
             `mxd help TOPIC` explains:",
            $(" ", $name),*
        );
    };
}

topics![
    "getting-started" => "getting-started.md",
    "everyday" => "everyday.md",
    "review-and-merge" => "review-and-merge.md",
    "concepts" => "concepts.md",
    "cli" => "cli.md",
    "keys" => "keys.md",
    "configuration" => "configuration.md",
    "providers" => "providers.md",
    "backends" => "backends.md",
    "profiles" => "profiles.md",
    "tools" => "tools.md",
    "git" => "git.md",
    "recurring" => "recurring.md",
    "serve" => "serve.md",
    "recovery" => "recovery.md",
    "permissions" => "permissions.md",
    "hooks" => "hooks.md",
    "security" => "security.md",
    "troubleshooting" => "troubleshooting.md",
    "themes" => "themes.md",
    "architecture" => "dev/architecture.md",
    "disk-format" => "dev/disk-format.md",
    "reliability" => "reliability.md",
    "reliability-notes" => "dev/reliability-notes.md",
    "performance" => "dev/performance.md",
    "testing" => "dev/testing.md",
];

/// Returns the names of the topics.
pub fn topics() -> impl Iterator<Item = &'static str> {
    TOPICS.iter().map(|topic| topic.name)
}

pub fn run(console: &mut Console, args: &Args) -> Outcome {
    match args.topic.as_slice() {
        [] => {
            let help = completions::command(&[])?.render_help();
            let text = if console.has_color() { help.ansi().to_string() } else { help.to_string() };
            console.bytes(text.as_bytes())?;
        }
        [name] if topic(name).is_some() => console.line(topic(name).map_or("", |topic| topic.text).trim_end())?,
        words => match completions::command(words) {
            Ok(mut command) => console.line(command.render_long_help().to_string().trim_end())?,
            Err(_) => return Err(unknown_topic(&words.join(" ")).into()),
        },
    }
    console.finish()?;
    Ok(0)
}

fn topic(name: &str) -> Option<&'static Topic> {
    let name = name.to_lowercase();
    // The page about the disk format had this name in earlier versions.
    let name = if name == "journal" { "disk-format" } else { &name };
    TOPICS.iter().find(|topic| topic.name == name)
}

fn unknown_topic(name: &str) -> Fault {
    let nearest = topics().map(|topic| (strsim::jaro_winkler(name, topic), topic));
    let nearest = nearest.max_by(|(a, _), (b, _)| a.total_cmp(b)).filter(|(score, _)| *score > 0.8);
    let fault = Fault::user(format!("there is no command or topic \"{name}\""));
    match nearest {
        Some((_, nearest)) => fault.hint(format!("did you mean `mxd help {nearest}`?")),
        None => fault.hint("`mxd help` lists them"),
    }
}

#[cfg(test)]
#[path = "help_tests.rs"]
mod tests;
