//! `mxd agents`: lists profiles and the problems of those that cannot be used, and selects the one of new tasks.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::base::{Fault, MicroUsd, text};
use crate::cli::agent_guard::Reach;
use crate::cli::config::settings;
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::exit;
use crate::cli::locate::{ProjectLocator, home};
use crate::cli::open_read_only::Viewer;
use crate::cli::paint::{Span, Style};
use crate::cli::table::{Column, Fit, Table, cell};
use crate::config::Layer;
use crate::config::paths::{Home, RepoFiles};
use crate::config::profile::{ListedName, ProfileProblem, Source, SystemPrompt, fields};
use crate::engine::profiles::{ProfileEntry, ProfileFolders, Profiles, Selection};
use crate::model::Status;
use crate::permit::Mode;

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    /// Print one JSON profile per line.
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Select the profile of new tasks.
    ///
    /// Existing tasks keep theirs.
    Use {
        /// Profile name, `ask` or `inherit` (see `mxd help profiles`).
        name: String,
        /// For all projects.
        #[arg(long)]
        global: bool,
    },
    /// Print the JSON Schema of a profile's front matter.
    Schema,
}

impl Args {
    pub fn reach(&self) -> Reach {
        Reach::changes(matches!(self.action, Some(Action::Use { .. })))
    }
}

/// A profile in the output of `--json`.
#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    label: &'a str,
    /// The name that a task stores.
    full_name: String,
    source: Source,
    file: &'a str,
    usable: bool,
    /// True if new tasks use it by default.
    default: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    backend: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    auth: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Vec<&'a str>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    disallowed_tools: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_turns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_depth: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    permissions: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skills: Option<Vec<&'a str>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    preload: Vec<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    include: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<SystemPrompt>,
    review: Option<bool>,
    #[serde(rename = "budget_micro_usd", skip_serializing_if = "Option::is_none")]
    budget: Option<MicroUsd>,
    errors: Vec<Problem>,
    warnings: Vec<Problem>,
}

/// A problem in the output of `--json`.
#[derive(Serialize)]
struct Problem {
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    message: String,
    /// The problem with its place, as one line.
    text: String,
}

impl Problem {
    fn of(problem: &ProfileProblem) -> Self {
        Self {
            file: problem.place.file.clone(),
            line: problem.place.at.map(|at| at.line),
            message: problem.kind.to_string(),
            text: problem.to_string(),
        }
    }
}

pub fn run(console: &mut Console, here: &ProjectLocator, args: &Args) -> Outcome {
    match &args.action {
        None => list(console, here, args.json),
        Some(Action::Use { name, global }) => {
            select(console, here, name, if *global { Layer::Global } else { Layer::Local })
        }
        Some(Action::Schema) => {
            console.line(&format!("{:#}", fields::schema()))?;
            console.finish()?;
            Ok(0)
        }
    }
}

/// Saves the profile of new tasks, and prints which tasks keep another one.
fn select(console: &mut Console, here: &ProjectLocator, name: &str, layer: Layer) -> Outcome {
    let home = home()?;
    let profiles = Profiles::load(&folders(here, &home), name);
    profiles.check_selection()?;
    let value = serde_json::Value::from(name).to_string();
    here.settings_files(&home)?.change(layer, |edit| edit.set("profile", &value))?;
    console.line(&format!("new tasks: {}", profiles.selection().describe()))?;
    if let (Selection::Profile(_), Some(_)) = (profiles.selection(), here.peek(&home)?) {
        let chosen = profiles.choose(name)?.full_name();
        let viewer = Viewer::open(console, here)?;
        let rows = viewer.list(console, async |handle| handle.tasks().await)?;
        let mut kept: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let open = rows.iter().filter(|row| row.node.parent.is_some() && row.node.status != Status::Closed);
        for row in open {
            if let Some(profile) = row.node.profile.as_deref().filter(|profile| *profile != chosen) {
                kept.entry(profile).or_default().push(format!("#{}", row.node.handle()));
            }
        }
        for (profile, tasks) in &kept {
            let count = text::count(tasks.len(), "task keeps", "tasks keep");
            console.line(&format!("{count} {profile}: {}", tasks.join(" ")))?;
        }
        if !kept.is_empty() {
            console.line(&format!("`mxd handover TASK --to {name}` gives a task over"))?;
        }
    }
    console.finish()?;
    Ok(0)
}

fn list(console: &mut Console, here: &ProjectLocator, json: bool) -> Outcome {
    let home = home()?;
    let merged = settings(console, here, &home)?;
    let profiles = Profiles::load(&folders(here, &home), &merged.settings.profile);
    let selected = profiles.check_selection();
    let default = profiles.default_profile().map(crate::config::Profile::full_name);
    let broken = profiles.entries().iter().filter(|entry| entry.read.is_err()).count();
    let is_default = |entry: &ProfileEntry| default.as_ref().is_some_and(|default| *default == entry.full_name());
    let rows: Vec<Row<'_>> = profiles.entries().iter().map(|entry| row(entry, is_default(entry))).collect();
    if json {
        rows.iter().try_for_each(|row| console.json(row))?;
    } else if console.is_terminal() {
        console.table(&table(&rows))?;
        rows.iter().try_for_each(|row| show_problems(console, row))?;
    } else {
        rows.iter().try_for_each(|row| show(console, row))?;
    }
    if !json && default.is_none() && selected.is_ok() {
        console.line(&format!("new tasks: {}", profiles.selection().describe()))?;
    }
    if let Err(fault) = &selected {
        // The fault's own hint is this command.
        let other = "it is set as `profile`; choose another with `mxd agents use NAME --global`".to_owned();
        console.fault(&Fault { hints: vec![other], ..fault.clone() });
    }
    if broken > 0 && !json {
        console.note(&format!("{} cannot be used", text::count(broken, "profile", "profiles")));
    }
    console.finish()?;
    Ok(if broken > 0 || selected.is_err() { exit::PROBLEMS } else { 0 })
}

/// Returns the folders with profiles. Outside a repository, only the user's own.
pub fn folders(here: &ProjectLocator, home: &Home) -> ProfileFolders {
    let project = here.repository().ok().map(|place| {
        let agents = RepoFiles::new(&place.top).agents();
        (place.top, agents)
    });
    ProfileFolders { user: home.agents(), project }
}

fn row(entry: &ProfileEntry, default: bool) -> Row<'_> {
    let profile = entry.read.as_ref().ok().map(|usable| &usable.profile);
    Row {
        name: &entry.name,
        label: profile.map_or(entry.name.as_str(), |profile| profile.label()),
        full_name: entry.full_name(),
        source: entry.source,
        file: &entry.file,
        usable: profile.is_some(),
        default,
        description: profile.map(|profile| profile.description.as_str()),
        backend: profile.and_then(|profile| profile.backend.as_deref()),
        model: profile.and_then(|profile| profile.model.as_deref()),
        auth: profile.and_then(|profile| profile.auth.as_deref()),
        effort: profile.and_then(|profile| profile.effort.as_deref()),
        tools: profile.and_then(|profile| profile.tools.as_ref()).map(|tools| tools.iter().map(word).collect()),
        disallowed_tools: profile
            .map(|profile| profile.disallowed_tools.iter().map(word).collect())
            .unwrap_or_default(),
        max_turns: profile.and_then(|profile| profile.max_turns),
        max_depth: profile.and_then(|profile| profile.max_depth),
        permissions: profile.and_then(|profile| profile.permissions).map(Mode::word),
        skills: profile.and_then(|profile| profile.skills.as_ref()).map(|skills| skills.iter().map(word).collect()),
        preload: profile.map(|profile| profile.preload.iter().map(word).collect()).unwrap_or_default(),
        include: profile.map(|profile| profile.include.iter().map(word).collect()).unwrap_or_default(),
        system: profile.map(|profile| profile.system).filter(|system| *system != SystemPrompt::Add),
        review: profile.and_then(|profile| profile.review),
        budget: profile.and_then(|profile| profile.budget),
        errors: entry.read.as_ref().err().into_iter().flatten().map(Problem::of).collect(),
        warnings: entry.warnings.iter().map(Problem::of).collect(),
    }
}

fn word(named: &ListedName) -> &str {
    &named.name
}

fn show(console: &mut Console, row: &Row<'_>) -> Result<(), Failure> {
    let mark = if row.default { "  (default)" } else { "" };
    if row.usable {
        console.line(&format!("{:<22} {}{mark}", row.full_name, row.description.unwrap_or_default()))?;
    } else {
        console.line(&format!("{:<22} cannot be used", row.full_name))?;
    }
    let facts = row.model.map(|model| format!("model {model}")).into_iter().chain(facts(row)).collect::<Vec<_>>();
    if !facts.is_empty() {
        console.line(&format!("    {}", facts.join("; ")))?;
    }
    row.errors.iter().try_for_each(|error| console.line(&format!("    error: {}", error.text)))?;
    row.warnings.iter().try_for_each(|warning| console.line(&format!("    warning: {}", warning.text)))
}

/// Returns the profiles as a table for a terminal.
fn table(rows: &[Row<'_>]) -> Table {
    let mut table = Table::new(&[
        Column::left("Profile"),
        Column::left("Model"),
        Column::left("Description").fit(Fit::Flexible),
        Column::left("Limits").fit(Fit::Optional),
    ]);
    for row in rows {
        let mark = if row.default { " (default)" } else { "" };
        let (description, style) = match row.description {
            _ if !row.usable => ("cannot be used", Style::Bad),
            description => (description.unwrap_or_default(), Style::Plain),
        };
        table.push(vec![
            cell(format!("{}{mark}", row.full_name), Style::Strong),
            cell(row.model.unwrap_or_default(), Style::Plain),
            cell(description, style),
            cell(facts(row).join("; "), Style::Dim),
        ]);
    }
    table
}

/// Prints what is wrong with a profile, for a terminal.
fn show_problems(console: &mut Console, row: &Row<'_>) -> Result<(), Failure> {
    let problem = |style, word: &str, problem: &str| {
        [Span::new(format!("{word}: "), style), Span::plain(format!("{}: {problem}", row.full_name))]
    };
    row.errors.iter().try_for_each(|error| console.spans(&problem(Style::Bad, "error", &error.text)))?;
    row.warnings.iter().try_for_each(|warning| console.spans(&problem(Style::Warning, "warning", &warning.text)))
}

/// Returns what a profile sets beside its model.
fn facts(row: &Row<'_>) -> Vec<String> {
    let mut facts = Vec::new();
    facts.extend(row.backend.map(|backend| format!("backend {backend}")));
    facts.extend(row.permissions.map(|mode| format!("mode {mode}")));
    facts.extend(row.auth.map(|auth| format!("auth {auth}")));
    facts.extend(row.effort.map(|effort| format!("effort {effort}")));
    facts.extend(row.tools.as_ref().map(|tools| format!("tools {}", tools.join(", "))));
    if !row.disallowed_tools.is_empty() {
        facts.push(format!("without {}", row.disallowed_tools.join(", ")));
    }
    facts.extend(row.max_turns.map(|turns| text::count(usize::try_from(turns).unwrap_or(usize::MAX), "turn", "turns")));
    facts.extend(row.review.map(|review| if review { "reviewed by you" } else { "not reviewed" }.to_owned()));
    facts.extend(row.budget.map(|budget| format!("budget {budget}")));
    facts
}
