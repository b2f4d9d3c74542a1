//! Shell completions and man pages, generated from the declarations of the command line.

use std::fs;
use std::path::PathBuf;

use clap::{CommandFactory as _, ValueEnum};

use crate::base::Fault;
use crate::cli::console::{Console, Outcome};
use crate::cli::{Cli, help};
use crate::store::StoreError;

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
        Shell::Bash => clap_complete::generate(clap_complete::Shell::Bash, &mut command, "mxd", out),
        Shell::Zsh => clap_complete::generate(clap_complete::Shell::Zsh, &mut command, "mxd", out),
        Shell::Fish => clap_complete::generate(clap_complete::Shell::Fish, &mut command, "mxd", out),
        Shell::Powershell => clap_complete::generate(clap_complete::Shell::PowerShell, &mut command, "mxd", out),
        Shell::Nushell => clap_complete::generate(clap_complete_nushell::Nushell, &mut command, "mxd", out),
    }
    console.bytes(&script)?;
    console.finish()?;
    Ok(0)
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
    let mut found = Cli::command();
    found.build();
    for word in words {
        let next = found.find_subcommand(word).cloned();
        found = next.ok_or_else(|| {
            Fault::user(format!("there is no command `mxd {}`", words.join(" "))).hint("`mxd help` lists the commands")
        })?;
    }
    Ok(found)
}
