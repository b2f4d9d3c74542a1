//! `mxd help`: the commands, and the pages of the book, which are part of the program.

use crate::base::Fault;
use crate::cli::console::{Console, Outcome};
use crate::cli::pages;

#[derive(clap::Args)]
pub struct Args {
    /// A command, or one of the topics that `mxd help` lists.
    topic: Vec<String>,
}

/// A page of the book.
struct Topic {
    name: &'static str,
    text: &'static str,
}

/// Declares the pages by their names in `docs/`.
macro_rules! topics {
    ($($name:literal),* $(,)?) => {
        const TOPICS: &[Topic] = &[$(Topic { name: $name, text: include_str!(concat!("../../docs/", $name, ".md")) }),*];
        /// What stands below the list of commands.
        pub const TOPICS_LINE: &str = concat!("`mxd help TOPIC` explains:", $(" ", $name),*);
    };
}

topics![
    "concepts",
    "keys",
    "configuration",
    "providers",
    "profiles",
    "tools",
    "git",
    "recurring",
    "recovery",
    "security",
    "troubleshooting",
    "themes",
    "architecture",
    "journal",
    "reliability",
    "performance",
    "testing",
];

/// Returns the names of the pages.
pub fn topics() -> impl Iterator<Item = &'static str> {
    TOPICS.iter().map(|topic| topic.name)
}

pub fn run(console: &mut Console, args: &Args) -> Outcome {
    match args.topic.as_slice() {
        [] => console.line(&pages::command(&[])?.render_long_help().to_string())?,
        [name] if topic(name).is_some() => console.line(topic(name).map_or("", |topic| topic.text).trim_end())?,
        words => match pages::command(words) {
            Ok(mut command) => console.line(command.render_long_help().to_string().trim_end())?,
            Err(_) => return Err(unknown(&words.join(" ")).into()),
        },
    }
    console.finish()?;
    Ok(0)
}

fn topic(name: &str) -> Option<&'static Topic> {
    TOPICS.iter().find(|topic| topic.name == name.to_lowercase())
}

fn unknown(name: &str) -> Fault {
    let nearest = topics().map(|topic| (strsim::jaro_winkler(name, topic), topic));
    let nearest = nearest.max_by(|(a, _), (b, _)| a.total_cmp(b)).filter(|(score, _)| *score > 0.8);
    let fault = Fault::user(format!("there is no command and no topic \"{name}\""));
    match nearest {
        Some((_, nearest)) => fault.hint(format!("did you mean `mxd help {nearest}`?")),
        None => fault.hint("`mxd help` lists them"),
    }
}
