//! `mxd agents`: lists profiles and the problems of those that cannot be used.

use serde::Serialize;

use crate::base::{Fault, MicroUsd, text};
use crate::cli::config::settings;
use crate::cli::console::{Console, Outcome};
use crate::cli::exit;
use crate::cli::locate::{ProjectLocator, home};
use crate::config::paths::{Home, RepoFiles};
use crate::config::profile::{NamedTool, Source};
use crate::engine::profiles::{ProfileEntry, ProfileFolders, Profiles};

#[derive(clap::Args)]
pub struct Args {
    /// Print one JSON profile per line.
    #[arg(long)]
    json: bool,
}

/// A profile in the output of `--json`.
#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
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
    review: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget: Option<MicroUsd>,
    errors: Vec<String>,
    warnings: Vec<String>,
}

pub fn run(console: &mut Console, here: &ProjectLocator, args: &Args) -> Outcome {
    let home = home()?;
    let merged = settings(console, here, &home)?;
    let profiles = Profiles::load(&folders(here, &home), &merged.settings.profile);
    let default = profiles.choose(None).map(crate::config::Profile::full_name);
    let mut broken = 0;
    for entry in profiles.entries() {
        broken += usize::from(entry.read.is_err());
        let row = row(entry, default.as_ref().is_ok_and(|default| *default == entry.full_name()));
        if args.json {
            console.json(&row)?;
        } else {
            show(console, &row)?;
        }
    }
    if let Err(fault) = &default {
        // The fault's own hint is this command.
        let other = "it is set as `profile`; choose another with `mxd config set --global profile NAME`".to_owned();
        console.fault(&Fault { hints: vec![other], ..fault.clone() });
    }
    if broken > 0 && !args.json {
        console.note(&format!("{} cannot be used", text::count(broken, "profile", "profiles")));
    }
    console.finish()?;
    Ok(if broken > 0 || default.is_err() { exit::PROBLEMS } else { 0 })
}

/// Returns the folders with profiles. Outside a repository, only the user's own.
fn folders(here: &ProjectLocator, home: &Home) -> ProfileFolders {
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
        full_name: entry.full_name(),
        source: entry.source,
        file: &entry.file,
        usable: profile.is_some(),
        default,
        description: profile.map(|profile| profile.description.as_str()),
        model: profile.and_then(|profile| profile.model.as_deref()),
        auth: profile.and_then(|profile| profile.auth.as_deref()),
        effort: profile.and_then(|profile| profile.effort.as_deref()),
        tools: profile.and_then(|profile| profile.tools.as_ref()).map(|tools| tools.iter().map(word).collect()),
        disallowed_tools: profile
            .map(|profile| profile.disallowed_tools.iter().map(word).collect())
            .unwrap_or_default(),
        max_turns: profile.and_then(|profile| profile.max_turns),
        review: profile.and_then(|profile| profile.review),
        budget: profile.and_then(|profile| profile.budget),
        errors: entry.read.as_ref().err().into_iter().flatten().map(ToString::to_string).collect(),
        warnings: entry.warnings.iter().map(ToString::to_string).collect(),
    }
}

fn word(named: &NamedTool) -> &str {
    &named.name
}

fn show(console: &mut Console, row: &Row<'_>) -> Result<(), crate::cli::console::Failure> {
    let mark = if row.default { "  (default)" } else { "" };
    if row.usable {
        console.line(&format!("{:<22} {}{mark}", row.full_name, row.description.unwrap_or_default()))?;
    } else {
        console.line(&format!("{:<22} cannot be used", row.full_name))?;
    }
    let mut facts = Vec::new();
    facts.extend(row.model.map(|model| format!("model {model}")));
    facts.extend(row.auth.map(|auth| format!("auth {auth}")));
    facts.extend(row.effort.map(|effort| format!("effort {effort}")));
    facts.extend(row.tools.as_ref().map(|tools| format!("tools {}", tools.join(", "))));
    if !row.disallowed_tools.is_empty() {
        facts.push(format!("without {}", row.disallowed_tools.join(", ")));
    }
    facts.extend(row.max_turns.map(|turns| text::count(usize::try_from(turns).unwrap_or(usize::MAX), "turn", "turns")));
    facts.extend(row.review.map(|review| if review { "reviewed by you" } else { "not reviewed" }.to_owned()));
    facts.extend(row.budget.map(|budget| format!("budget {budget}")));
    if !facts.is_empty() {
        console.line(&format!("    {}", facts.join("; ")))?;
    }
    row.errors.iter().try_for_each(|error| console.line(&format!("    error: {error}")))?;
    row.warnings.iter().try_for_each(|warning| console.line(&format!("    warning: {warning}")))
}
