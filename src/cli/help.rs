//! `mxd help`: help for commands, and the documentation pages that are compiled into the program.

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

/// Declares the topics and their files below `docs/`.
macro_rules! topics {
    ($($name:literal => $page:literal),* $(,)?) => {
        const TOPICS: &[Topic] = &[$(Topic { name: $name, text: include_str!(concat!("../../docs/", $page)) }),*];
        /// The line below the list of commands.
        pub const TOPICS_LINE: &str = concat!("`mxd help TOPIC` explains:", $(" ", $name),*);
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
    "profiles" => "profiles.md",
    "tools" => "tools.md",
    "git" => "git.md",
    "recurring" => "recurring.md",
    "recovery" => "recovery.md",
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
        [] => console.line(&completions::command(&[])?.render_long_help().to_string())?,
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
