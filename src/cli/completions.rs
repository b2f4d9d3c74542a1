//! Shell completions and man pages, from the declarations of the command line.

mod words;

use std::fs;
use std::path::PathBuf;

use clap::{CommandFactory as _, ValueEnum};

use tokio::runtime::Runtime;

use crate::app;
use crate::base::{Fault, text};
use crate::cli::console::{Console, Outcome};
use crate::cli::locate::{ProjectLocator, home};
use crate::cli::open_engine::runtime;
use crate::cli::{Cli, agents, help};
use crate::engine::profiles::{ProfileEntry, Profiles};
use crate::engine::{self, Handle};
use crate::store::StoreError;
use words::{ValueKind, Word};

#[derive(clap::Args)]
pub struct CompletionsArgs {
    /// The shell.
    shell: Shell,
}

#[derive(Clone, Copy, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
    Powershell,
    Nushell,
}

#[derive(clap::Args)]
pub struct CompleteArgs {
    /// The words before the cursor, without the program.
    #[arg(allow_hyphen_values = true, trailing_var_arg = true)]
    words: Vec<String>,
}

#[derive(clap::Args)]
pub struct ManArgs {
    /// The command (default: the whole program).
    command: Vec<String>,
    /// Write a page for every command into FOLDER.
    #[arg(long, value_name = "FOLDER", conflicts_with = "command")]
    into: Option<PathBuf>,
}

pub fn completions(console: &mut Console, args: &CompletionsArgs) -> Outcome {
    let mut script = Vec::new();
    let mut command = with_topics(Cli::command());
    let out = &mut script;
    match args.shell {
        // These ask the program for the words, so that they can offer tasks and settings.
        Shell::Bash => out.extend_from_slice(include_bytes!("completions/mxd.bash")),
        Shell::Zsh => out.extend_from_slice(include_bytes!("completions/mxd.zsh")),
        Shell::Fish => out.extend_from_slice(include_bytes!("completions/mxd.fish")),
        Shell::Powershell => clap_complete::generate(clap_complete::Shell::PowerShell, &mut command, "mxd", out),
        Shell::Nushell => clap_complete::generate(clap_complete_nushell::Nushell, &mut command, "mxd", out),
    }
    console.bytes(&script)?;
    console.finish()?;
    Ok(0)
}

/// Prints the words that may follow, one per line, each with a tab and a description if there is one. Never fails: a
/// shell would print the error into the command line.
pub fn complete(console: &mut Console, here: &ProjectLocator, args: &CompleteArgs) -> Outcome {
    for words::Word { text, about } in words::complete(&Cli::command(), &args.words, &|kind| values(here, kind)) {
        let about = text::headline(&about, 80);
        console.line(&if about.is_empty() { text } else { format!("{text}\t{about}") })?;
    }
    console.finish()?;
    Ok(0)
}

/// Returns the values of a kind. Empty if they cannot be read.
fn values(here: &ProjectLocator, kind: ValueKind) -> Vec<Word> {
    match kind {
        ValueKind::Task => tasks(here).unwrap_or_default(),
        ValueKind::Ask => asks(here).unwrap_or_default(),
        ValueKind::Profile => profiles(here).unwrap_or_default(),
        ValueKind::SettingKey => setting_keys().collect(),
        ValueKind::SettingValue(key) => setting_values(here, &key),
        ValueKind::Topic => help::topics().map(|name| Word::new(name, "")).collect(),
    }
}

fn reader(here: &ProjectLocator) -> Result<(Handle, Runtime), Fault> {
    let home = home()?;
    let located = here.locate(&home)?;
    let settings = here.settings(&home)?.settings;
    Ok((engine::read_only(&home, located.project, &settings), runtime()?))
}

fn tasks(here: &ProjectLocator) -> Result<Vec<Word>, Fault> {
    let (handle, runtime) = reader(here)?;
    let rows = runtime.block_on(handle.tasks())?.rows;
    Ok(rows.iter().map(|row| Word::new(row.node.handle(), row.node.title.as_str())).collect())
}

fn asks(here: &ProjectLocator) -> Result<Vec<Word>, Fault> {
    let (handle, runtime) = reader(here)?;
    let rows = runtime.block_on(handle.asks())?.rows;
    Ok(rows.iter().map(|row| Word::new(row.ask.id.short(), format!("{}: {}", row.title, row.ask.question))).collect())
}

fn profiles(here: &ProjectLocator) -> Result<Vec<Word>, Fault> {
    let home = home()?;
    let profiles = Profiles::load(&agents::folders(here, &home), "");
    let about = |entry: &ProfileEntry| match &entry.read {
        Ok(usable) => usable.profile.description.clone(),
        Err(_) => "cannot be used".to_owned(),
    };
    Ok(profiles.entries().iter().map(|entry| Word::new(entry.full_name(), about(entry))).collect())
}

fn setting_keys() -> impl Iterator<Item = Word> {
    crate::config::KEYS.iter().map(|key| Word::new(key.name, key.doc))
}

fn setting_values(here: &ProjectLocator, key: &str) -> Vec<Word> {
    match key {
        "theme" => {
            let folder = home().map(|home| home.root().join("themes")).unwrap_or_default();
            app::theme_names(&folder).into_iter().map(|name| Word::new(name, "")).collect()
        }
        "profile" => profiles(here).unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// Adds the topics of `mxd help` as values. The parser itself accepts any word, so that `help` can suggest the nearest.
fn with_topics(command: clap::Command) -> clap::Command {
    let known = clap::builder::PossibleValuesParser::new(help::topics());
    command.mut_subcommand("help", |help| help.mut_arg("topic", |topic| topic.value_parser(known)))
}

/// Prints a manual page, or writes all of them.
pub fn man(console: &mut Console, args: &ManArgs) -> Outcome {
    if let Some(folder) = &args.into {
        fs::create_dir_all(folder).map_err(StoreError::io("create", folder))?;
        clap_mangen::generate_to(Cli::command(), folder).map_err(StoreError::io("write", folder))?;
        console.line(&format!("wrote the pages to {}", folder.display()))?;
        console.finish()?;
        return Ok(0);
    }
    let mut page = Vec::new();
    let rendered = clap_mangen::Man::new(command(&args.command)?).render(&mut page);
    rendered.map_err(|error| Fault::internal(format!("cannot write the page: {error}")))?;
    console.bytes(&page)?;
    console.finish()?;
    Ok(0)
}

/// Returns the subcommand that `words` name.
pub fn command(words: &[String]) -> Result<clap::Command, Fault> {
    let mut found = Cli::grouped();
    found.build();
    for word in words {
        let next = found.find_subcommand(word).cloned();
        found = next.ok_or_else(|| {
            Fault::user(format!("there is no command `mxd {}`", words.join(" "))).hint("`mxd help` lists the commands")
        })?;
    }
    Ok(found)
}
