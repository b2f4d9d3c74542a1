//! `mxd export`: the conversation of a task as a document, for people (Markdown, HTML) or for programs (JSON).
//!
//! What was said stands open; what tools were given and gave is folded. The document needs nothing else: it loads nothing,
//! runs nothing, and nothing in a conversation can break out of its place.

mod html;
mod markdown;
mod story;

use std::path::PathBuf;

use crate::base::{Fault, TaskId, known_secrets};
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::place::Here;
use crate::cli::viewer::Viewer;
use crate::engine::query::TaskSummary;
use crate::model::content::BlobId;
use crate::store::{RealDisk, replace};
use story::{Part, Teller};

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

/// Returns the title of a document.
fn title(head: &TaskSummary) -> String {
    head.node.as_ref().map_or_else(|| format!("task {}", head.task.short()), |node| node.title.clone())
}

/// Returns the facts about the task, name and value.
fn facts(head: &TaskSummary) -> Vec<(&'static str, String)> {
    let mut facts = vec![("Project", head.project.clone()), ("Task", head.task.to_string())];
    if let Some(node) = &head.node {
        facts.push(("Status", node.status.to_string()));
        facts.extend(node.branch.clone().map(|branch| ("Branch", branch)));
    }
    facts.push(("Tokens", head.tokens.to_string()));
    facts.push(("Cost", head.cost.to_string()));
    facts
}

pub fn run(console: &mut Console, here: &Here, args: &Args) -> Outcome {
    let viewer = Viewer::open(console, here)?;
    let task = viewer.find(&args.task)?;
    let export = Export { viewer: &viewer, task, format: args.format };
    let is_damaged = match &args.output {
        None => export.write(&mut |text: &str| console.text(text))?,
        Some(path) => {
            let mut is_damaged = false;
            replace::replace_with(&RealDisk, path, |file| {
                is_damaged = export.write(&mut |text: &str| Ok(file(known_secrets::mask(text).as_bytes())?))?;
                Ok::<(), Failure>(())
            })?;
            console.line(&format!("wrote {}", path.display()))?;
            is_damaged
        }
    };
    if is_damaged {
        console.note("warning: parts of this session cannot be read and are missing; `mxd check` says which");
    }
    console.finish()?;
    Ok(0)
}

/// A task's session that becomes a document.
struct Export<'a> {
    viewer: &'a Viewer,
    task: TaskId,
    format: Format,
}

impl Export<'_> {
    /// Writes the document. Returns whether parts of the session could not be read.
    fn write(&self, out: &mut Sink<'_>) -> Result<bool, Failure> {
        let head = self.viewer.ask(async |handle| handle.summary(self.task).await)?;
        if self.format.json {
            return self.write_json(&head, out);
        }
        let (above, part, end): (_, fn(&Part) -> String, _) = if self.format.html {
            (html::head(&head), html::part, html::END)
        } else {
            (markdown::head(&head), markdown::part, "")
        };
        let mut out = Trimmed { out, last: String::new() };
        out.write(&above)?;
        let blob = |id: &BlobId| self.viewer.ask(async |handle| handle.blob(id.clone()).await).ok();
        let mut teller = Teller::new(&blob);
        let is_damaged = self.viewer.each_event(self.task, |event| {
            teller.hear(event);
            teller.ready().try_for_each(|told| out.write(&part(&told)))
        })?;
        teller.rest().try_for_each(|told| out.write(&part(&told)))?;
        out.write(end)?;
        out.end()?;
        Ok(is_damaged)
    }

    /// Writes one JSON object: what the head has, and every event. Holds one page of events at a time.
    fn write_json(&self, head: &TaskSummary, out: &mut Sink<'_>) -> Result<bool, Failure> {
        let failed = |error: serde_json::Error| Fault::internal(format!("the document could not be written: {error}"));
        let head = serde_json::to_string_pretty(head).map_err(failed)?;
        out(head.trim_end_matches('}').trim_end())?;
        out(",\n  \"events\": [")?;
        let mut before = "\n";
        let is_damaged = self.viewer.each_event(self.task, |event| {
            let text = serde_json::to_string_pretty(&event).map_err(failed)?;
            out(&format!("{before}    {}", text.replace('\n', "\n    ")))?;
            before = ",\n";
            Ok(())
        })?;
        out(if before == "\n" { "]\n}\n" } else { "\n  ]\n}\n" })?;
        Ok(is_damaged)
    }
}

/// Writes a document whose end has one line break, whatever its last piece ends with.
struct Trimmed<'a, 'b> {
    out: &'a mut Sink<'b>,
    last: String,
}

impl Trimmed<'_, '_> {
    fn write(&mut self, piece: &str) -> Result<(), Failure> {
        if !piece.is_empty() {
            let before = std::mem::replace(&mut self.last, piece.to_owned());
            (self.out)(&before)?;
        }
        Ok(())
    }

    fn end(self) -> Result<(), Failure> {
        (self.out)(self.last.trim_end())?;
        (self.out)("\n")
    }
}

/// Takes a document, piece by piece.
type Sink<'a> = dyn FnMut(&str) -> Result<(), Failure> + 'a;
