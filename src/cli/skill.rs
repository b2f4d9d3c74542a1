//! `mxd skill`: lists, checks, adds, updates and removes skills.

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::base::{Fault, text};
use crate::cli::agent_guard::Reach;
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::exit;
use crate::cli::locate::{ProjectLocator, home};
use crate::cli::open_engine::runtime;
use crate::config::paths::Home;
use crate::config::profile::Source;
use crate::engine::skills::store::{self, Candidate, Origin};
use crate::engine::skills::{self, SkillEntry, SkillFolders};
use crate::git::clone;

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// List the skills that agents are told of.
    List {
        /// Print one JSON skill per line.
        #[arg(long)]
        json: bool,
    },
    /// Check the files of all skills.
    Check,
    /// Add a skill from a git repository.
    ///
    /// Shows every file first.
    Add {
        /// Repository, and the skill's folder behind a #.
        #[arg(value_name = "GIT_URL[#PATH]")]
        url: String,
        /// Do not ask for confirmation.
        #[arg(long)]
        yes: bool,
    },
    /// Update skills that were added from a repository.
    ///
    /// Shows the difference first.
    Update {
        /// Skill (default: all).
        name: Option<String>,
        /// Do not ask for confirmation.
        #[arg(long)]
        yes: bool,
    },
    /// Delete one of your skills.
    Remove {
        /// Skill.
        name: String,
    },
}

impl Args {
    pub fn reach(&self) -> Reach {
        Reach::changes(!matches!(self.action, Action::List { .. } | Action::Check))
    }
}

/// A skill in the output of `--json`.
#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    source: Source,
    file: &'a Path,
    usable: bool,
    /// Another skill of this name is used instead.
    hidden: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<Origin>,
}

impl<'a> Row<'a> {
    fn of(entry: &'a SkillEntry) -> Self {
        Self {
            name: &entry.name,
            source: entry.source,
            file: &entry.file,
            usable: entry.read.is_ok(),
            hidden: entry.hidden,
            description: entry.read.as_ref().ok().map(|skill| skill.description.as_str()),
            error: entry.read.as_ref().err().map(String::as_str),
            origin: entry.file.parent().and_then(store::origin),
        }
    }
}

pub fn run(console: &mut Console, here: &ProjectLocator, args: &Args) -> Outcome {
    let home = home()?;
    let code = match &args.action {
        Action::List { json } => list(console, &skills::load(&folders(here, &home)), *json)?,
        Action::Check => check(console, &skills::load(&folders(here, &home)))?,
        Action::Add { url, yes } => add(console, &home, url, *yes)?,
        Action::Update { name, yes } => update(console, &home, name.as_deref(), *yes)?,
        Action::Remove { name } => {
            store::remove(&home.skills(), name)?;
            console.line(&format!("removed {name}"))?;
            0
        }
    };
    console.finish()?;
    Ok(code)
}

/// Returns the folders with skills. Outside a repository, only the user's own.
pub fn folders(here: &ProjectLocator, home: &Home) -> SkillFolders {
    SkillFolders { user: home.skills(), project: here.repository().ok().map(|place| place.top) }
}

fn list(console: &mut Console, entries: &[SkillEntry], json: bool) -> Result<u8, Failure> {
    for entry in entries {
        let row = Row::of(entry);
        if json {
            console.json(&row)?;
            continue;
        }
        let about = match (row.error, row.hidden) {
            (Some(_), _) => "cannot be used: see `mxd skill check`".to_owned(),
            (None, true) => "not used: another skill has this name".to_owned(),
            (None, false) => text::headline(row.description.unwrap_or_default(), 100),
        };
        console.line(&format!("{:<24} {:<8} {about}", row.name, row.source))?;
    }
    if entries.is_empty() && !json {
        console.line("no skills; add one with `mxd skill add GIT_URL`, or write .mxd/skills/NAME/SKILL.md")?;
    }
    Ok(0)
}

fn check(console: &mut Console, entries: &[SkillEntry]) -> Result<u8, Failure> {
    let mut broken = 0;
    for entry in entries {
        if let Err(reason) = &entry.read {
            broken += 1;
            console.line(&format!("error: {}: {reason}", entry.file.display()))?;
        } else if entry.hidden {
            console.line(&format!("note: {} is not used: another skill has this name", entry.file.display()))?;
        }
    }
    console.line(&match broken {
        0 => format!("{}, no errors", text::count(entries.len(), "skill", "skills")),
        broken => text::count(broken, "skill cannot be used", "skills cannot be used"),
    })?;
    Ok(if broken > 0 { exit::PROBLEMS } else { 0 })
}

/// A cloned repository, deleted at the end.
struct Clone {
    folder: PathBuf,
    commit: String,
}

impl Clone {
    fn of(home: &Home, url: &str) -> Result<Self, Fault> {
        let folder = home.skills().join(format!(".clone-{}", std::process::id()));
        let failed = |error: io::Error| Fault::environment(format!("cannot write {}: {error}", folder.display()));
        std::fs::create_dir_all(home.skills()).map_err(failed)?;
        let _ = std::fs::remove_dir_all(&folder);
        let commit = runtime()?.block_on(clone::shallow(url, &folder)).map_err(|error| {
            let fault = Fault::from(error);
            Fault { message: format!("cannot copy {url}: {}", fault.message), ..fault }
        })?;
        Ok(Self { folder, commit })
    }
}

impl Drop for Clone {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn add(console: &mut Console, home: &Home, address: &str, yes: bool) -> Result<u8, Failure> {
    let (url, path) = address.split_once('#').unwrap_or((address, ""));
    let cloned = Clone::of(home, url)?;
    let candidates = store::offered(&cloned.folder, Path::new(path))?;
    if let [_, _, ..] = candidates.as_slice() {
        let names = candidates.iter().map(|it| format!("{url}#{}", it.path.display()));
        let fault = Fault::user(format!("the repository has {} skills; name one", candidates.len()));
        return Err(names.fold(fault, Fault::hint).into());
    }
    for candidate in &candidates {
        show(console, candidate)?;
        let name = &candidate.skill.name;
        if home.skills().join(name).exists() {
            return Err(Fault::user(format!("you have a skill \"{name}\" already"))
                .hint(format!("`mxd skill update {name}` updates it, `mxd skill remove {name}` deletes it"))
                .into());
        }
        if !yes && !confirm(console, "Add it?")? {
            console.note("nothing was added");
            return Ok(exit::PROBLEMS);
        }
        let origin = Origin { url: url.to_owned(), path: candidate.path.clone(), commit: cloned.commit.clone() };
        let target = store::install(&home.skills(), candidate, &origin)?;
        console.line(&format!("added {name}: {}", target.display()))?;
    }
    Ok(0)
}

/// Prints every file of a skill.
fn show(console: &mut Console, candidate: &Candidate) -> Result<(), Failure> {
    console.line(&format!("{}: {}", candidate.skill.name, candidate.skill.description))?;
    for (name, file) in &candidate.files {
        let mark = if file.is_executable { ", executable" } else { "" };
        console.line(&format!("--- {} ({}{mark})", name.display(), text::size(file.bytes.len() as u64)))?;
        match std::str::from_utf8(&file.bytes) {
            Ok(words) => words.lines().try_for_each(|line| console.line(&format!("    {line}")))?,
            Err(_) => console.line("    (not text)")?,
        }
    }
    Ok(())
}

fn update(console: &mut Console, home: &Home, only: Option<&str>, yes: bool) -> Result<u8, Failure> {
    let own = skills::load(&SkillFolders { user: home.skills(), project: None });
    let mut known = false;
    for entry in own.iter().filter(|entry| only.is_none_or(|only| only == entry.name)) {
        known = true;
        let Some(folder) = entry.file.parent() else { continue };
        let Some(origin) = store::origin(folder) else {
            if only.is_some() {
                return Err(Fault::user(format!("{} was not added from a repository", entry.name)).into());
            }
            continue;
        };
        let cloned = Clone::of(home, &origin.url)?;
        let candidates = store::offered(&cloned.folder, &origin.path)?;
        let Some(candidate) = candidates.iter().find(|it| it.path == origin.path) else {
            let gone = format!("{} is no longer in {}", origin.path.display(), origin.url);
            return Err(Fault::user(gone).hint(format!("remove it: `mxd skill remove {}`", entry.name)).into());
        };
        let patch = store::diff(&store::installed(folder)?, &candidate.files);
        if patch.is_empty() {
            console.line(&format!("{}: up to date", entry.name))?;
            continue;
        }
        patch.lines().try_for_each(|line| console.line(line))?;
        if !yes && !confirm(console, &format!("Update {}?", entry.name))? {
            console.note(&format!("{} was not changed", entry.name));
            continue;
        }
        store::install(&home.skills(), candidate, &Origin { commit: cloned.commit.clone(), ..origin })?;
        console.line(&format!("{}: updated", entry.name))?;
    }
    match only {
        Some(name) if !known => {
            Err(Fault::user(format!("you have no skill \"{name}\"")).hint("`mxd skill list` lists the skills").into())
        }
        _ => Ok(0),
    }
}

fn confirm(console: &mut Console, question: &str) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Fault::user("cannot ask for confirmation: stdin is not a terminal")
            .hint("look at the files above, then repeat the command with --yes")
            .into());
    }
    console.finish()?;
    console.note(&format!("{question} Type yes:"));
    let mut answer = String::new();
    io::stdin()
        .read_line(&mut answer)
        .map_err(|error| Fault::environment(format!("cannot read the answer: {error}")))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
