//! `mxd export`: the conversation of a task as a document, for people (Markdown, HTML) or for programs (JSON).
//!
//! What was said stands open; what tools were given and gave is folded. The document needs nothing else: it loads nothing,
//! runs nothing, and nothing in a conversation can break out of its place.

mod html;
mod markdown;
mod story;

use std::path::PathBuf;

use serde::Serialize;

use crate::base::{Fault, MicroUsd, TaskId, known_secrets};
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::place::{Here, home, the_disk};
use crate::cli::tree;
use crate::model::TaskNode;
use crate::store::chain::Damage;
use crate::store::{Blobs, Digests, RealDisk, Sessions, replace};
use story::Teller;

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

pub fn run(console: &mut Console, here: &Here, args: &Args) -> Outcome {
    let home = home()?;
    // Sessions of earlier versions may hold keys that were not masked when they were written.
    let _ = here.settings(&home);
    let located = here.located(&home)?;
    let sessions = located.sessions();
    let task = tree::find(console, &located, &sessions, &args.task)?;
    let tree = tree::load(console, &located)?;
    let state = Digests::load(the_disk(), located.folder.digests()).summary(&sessions, task)?.state;
    let head = Head {
        project: &located.project.name,
        task,
        node: tree.as_ref().and_then(|tree| tree.get(task)),
        cost: state.usage.cost(),
        tokens: state.usage.tokens().total(),
    };
    let blobs = Blobs::new(the_disk(), located.folder.blobs());
    let export = Export { head, sessions: &sessions, blobs: &blobs, format: args.format };
    let damage = match &args.output {
        None => export.write(&mut |text: &str| console.text(text))?,
        Some(path) => {
            let mut damage = Damage::default();
            replace::replace_with(&RealDisk, path, |file| {
                damage = export.write(&mut |text: &str| Ok(file(known_secrets::mask(text).as_bytes())?))?;
                Ok::<(), Failure>(())
            })?;
            console.line(&format!("wrote {}", path.display()))?;
            damage
        }
    };
    if damage.bad_lines > 0 || damage.gaps > 0 {
        console.note("warning: parts of this session cannot be read and are missing; `mxd check` says which");
    }
    console.finish()?;
    Ok(0)
}

/// A task's session that becomes a document.
struct Export<'a> {
    head: Head<'a>,
    sessions: &'a Sessions,
    blobs: &'a Blobs,
    format: Format,
}

impl Export<'_> {
    /// Writes the document. Returns what of the session could not be read.
    fn write(&self, out: &mut Sink<'_>) -> Result<Damage, Failure> {
        if self.format.json {
            return self.write_json(out);
        }
        let mut teller = Teller::new(self.blobs);
        let damage = self.sessions.stream_chain(self.head.task, |event| teller.hear(event))?;
        let story = teller.story();
        let text = if self.format.html { html::page(&self.head, &story) } else { markdown::page(&self.head, &story) };
        out(text.trim_end())?;
        out("\n")?;
        Ok(damage)
    }

    /// Writes one JSON object: what the head has, and every event. Holds one event at a time.
    fn write_json(&self, out: &mut Sink<'_>) -> Result<Damage, Failure> {
        let failed = |error: serde_json::Error| Fault::internal(format!("the document could not be written: {error}"));
        let head = serde_json::to_string_pretty(&self.head).map_err(failed)?;
        out(head.trim_end_matches('}').trim_end())?;
        out(",\n  \"events\": [")?;
        let mut written: Result<usize, Failure> = Ok(0);
        let damage = self.sessions.stream_chain(self.head.task, |event| {
            let Ok(count) = &mut written else { return };
            let before = if *count == 0 { "\n" } else { ",\n" };
            *count += 1;
            let text = serde_json::to_string_pretty(&event).map_err(|error| Failure::from(failed(error)));
            let text = text.map(|text| format!("{before}    {}", text.replace('\n', "\n    ")));
            if let Err(failure) = text.and_then(|text| out(&text)) {
                written = Err(failure);
            }
        })?;
        let end = if written? == 0 { "]\n}\n" } else { "\n  ]\n}\n" };
        out(end)?;
        Ok(damage)
    }
}

/// Takes a document, piece by piece.
type Sink<'a> = dyn FnMut(&str) -> Result<(), Failure> + 'a;
