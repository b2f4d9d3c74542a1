//! `mxd context`: what an agent is given before its first word, by section.

use serde::Serialize;

use crate::base::{Fault, TaskId, text};
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::locate::{ProjectLocator, home};
use crate::cli::open_read_only::Viewer;
use crate::cli::{agents, skill};
use crate::engine::context::{self, NewAgent, Section};
use crate::engine::profiles::Profiles;
use crate::engine::skills;
use crate::model::TaskNode;

#[derive(clap::Args)]
pub struct Args {
    /// Task (default: one that does not exist yet).
    task: Option<String>,
    /// Profile of the new task (default: the selected one).
    #[arg(long, conflicts_with = "task")]
    profile: Option<String>,
    /// Print the whole text of each section.
    #[arg(long)]
    full: bool,
    /// Print one JSON section per line.
    #[arg(long)]
    json: bool,
}

/// A section in the output of `--json`.
#[derive(Serialize)]
struct Row<'a> {
    section: &'a str,
    tokens: usize,
    text: &'a str,
}

pub fn run(console: &mut Console, here: &ProjectLocator, args: &Args) -> Outcome {
    let sections = match &args.task {
        Some(name) => of_task(console, here, name)?,
        None => of_new_task(here, args.profile.as_deref(), None)?,
    };
    let total: usize = sections.iter().map(Section::tokens).sum();
    for section in &sections {
        let tokens = section.tokens();
        if args.json {
            console.json(&Row { section: &section.name, tokens, text: &section.text })?;
            continue;
        }
        console.line(&format!("{tokens:>8}  {}", section.name))?;
        if args.full {
            section.text.lines().try_for_each(|line| console.line(&format!("          {line}")))?;
        }
    }
    if !args.json {
        console.line(&format!("{total:>8}  tokens in total, estimated"))?;
    }
    console.finish()?;
    Ok(0)
}

/// Returns what the conversation of a task begins with, or would begin with.
fn of_task(console: &mut Console, here: &ProjectLocator, name: &str) -> Result<Vec<Section>, Failure> {
    let viewer = Viewer::open(console, here)?;
    let task = viewer.find(name)?;
    let mut events = Vec::new();
    viewer.each_event(task, |event| {
        events.push(event);
        Ok(())
    })?;
    let sections = context::of_session(&events);
    if !sections.is_empty() {
        return Ok(sections);
    }
    let rows = viewer.ask(async |handle| handle.tasks().await)?.rows;
    let node = rows.into_iter().map(|row| row.node).find(|node| node.id == task);
    Ok(of_new_task(here, None, node.as_ref())?)
}

fn of_new_task(here: &ProjectLocator, profile: Option<&str>, node: Option<&TaskNode>) -> Result<Vec<Section>, Fault> {
    let home = home()?;
    let merged = here.settings(&home)?;
    let profiles = Profiles::load(&agents::folders(here, &home), &merged.settings.profile);
    let bound = node.and_then(|node| node.profile.clone());
    let name = match (profile, bound) {
        (Some(name), _) => Some(profiles.choose(name)?.full_name()),
        (None, Some(full)) => Some(full),
        (None, None) => profiles.of_new_task(None, None)?,
    };
    let name = name.ok_or_else(|| {
        Fault::user("nobody is selected for new tasks").hint("name a profile: `mxd context --profile NAME`")
    })?;
    let overrides = node.map(|node| node.overrides.clone()).unwrap_or_default();
    let profile = profiles.by_full_name(&name)?.with_overrides(&overrides).profile;
    let top = here.repository().ok().map(|place| place.top);
    let skills = skills::of_profile(skills::load(&skill::folders(here, &home)), &profile);
    let agent = NewAgent {
        task: node.map_or_else(|| TaskId::from_ulid(0_u128.into()), |node| node.id),
        title: node.map_or_else(|| "a new task".to_owned(), |node| text::headline(&node.title, 200)),
        description: node.map(|node| node.description.clone()).unwrap_or_default(),
        is_root: node.is_some_and(|node| node.parent.is_none()),
        top,
    };
    Ok(context::of_new_agent(&agent, &profile, &skills))
}
