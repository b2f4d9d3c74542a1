//! `mxd export`: the conversation of a task as a document, for people (Markdown, HTML) or for programs (JSON).
//!
//! What was said stands open; what tools were given and gave is folded. The document needs nothing else: it loads nothing,
//! runs nothing, and nothing in a conversation can break out of its place.

mod html;
mod markdown;
mod story;

use std::path::PathBuf;

use serde::Serialize;

use crate::base::{MicroUsd, TaskId};
use crate::cli::console::{Console, Outcome};
use crate::cli::place::{Here, home, the_disk};
use crate::cli::tree;
use crate::model::{Event, TaskNode};
use crate::store::{Blobs, RealDisk, replace};
use story::Story;

#[derive(clap::Args)]
pub struct Args {
    /// The task: its id, or the first 8 and more characters of it.
    task: String,
    #[command(flatten)]
    format: Format,
    /// Write it to this file, readable by you only, instead of printing it.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(clap::Args, Clone, Copy)]
#[group(multiple = false)]
struct Format {
    /// As Markdown. So it is, if nothing else is said.
    #[arg(long)]
    #[allow(dead_code, reason = "it is what happens anyway, and may be said")]
    md: bool,
    /// As a page that stands for itself.
    #[arg(long)]
    html: bool,
    /// As one JSON object with every event.
    #[arg(long)]
    json: bool,
}

/// What stands above the conversation.
#[derive(Serialize)]
struct Head<'a> {
    project: &'a str,
    task: TaskId,
    /// Nothing: the task is no longer in the tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<&'a TaskNode>,
    cost: MicroUsd,
    tokens: u64,
}

impl Head<'_> {
    fn title(&self) -> String {
        self.node.map_or_else(|| format!("task {}", self.task.short()), |node| node.title.clone())
    }

    /// Returns the facts about the task, name and value.
    fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = vec![("Project", self.project.to_owned()), ("Task", self.task.to_string())];
        if let Some(node) = self.node {
            facts.push(("Status", node.status.to_string()));
            facts.extend(node.branch.clone().map(|branch| ("Branch", branch)));
        }
        facts.push(("Tokens", self.tokens.to_string()));
        facts.push(("Cost", self.cost.to_string()));
        facts
    }
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    head: Head<'a>,
    events: Vec<Event>,
}

pub fn run(console: &mut Console, here: &Here, args: &Args) -> Outcome {
    let located = here.located(&home()?)?;
    let sessions = located.sessions();
    let task = tree::find(console, &located, &sessions, &args.task)?;
    let tree = tree::load(console, &located)?;
    let state = sessions.active(task)?.state();
    let head = Head {
        project: &located.project.name,
        task,
        node: tree.as_ref().and_then(|tree| tree.get(task)),
        cost: state.usage.cost(),
        tokens: state.usage.tokens().total(),
    };
    let mut events = Vec::new();
    let damage = sessions.stream_chain(task, |event| events.push(event))?;
    if damage.bad_lines > 0 || damage.gaps > 0 {
        console.note("warning: parts of this session cannot be read and are missing; `mxd check` says which");
    }
    let text = if args.format.json {
        let document = serde_json::to_string_pretty(&Document { head, events });
        document.map_err(|error| crate::base::Fault::internal(format!("the document could not be written: {error}")))?
    } else {
        let story = Story::of(events, &Blobs::new(the_disk(), located.folder.blobs()));
        if args.format.html { html::page(&head, &story) } else { markdown::page(&head, &story) }
    };
    match &args.output {
        None => console.line(text.trim_end())?,
        Some(path) => {
            replace::replace(&RealDisk, path, format!("{}\n", text.trim_end()).as_bytes())?;
            console.line(&format!("wrote {}", path.display()))?;
        }
    }
    console.finish()?;
    Ok(0)
}
