//! `mxd export`: writes a task's conversation as a Markdown, HTML or JSON document.
//!
//! Messages are shown, tool calls are folded. The document is self-contained: it loads nothing and runs nothing, and no
//! text of the conversation can break out of its element.

mod html;
mod markdown;
mod narrative;

use std::path::{Path, PathBuf};

use crate::base::{Fault, TaskId, known_secrets};
use crate::cli::TASK_HELP;
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::locate::{ProjectLocator, shell_word};
use crate::cli::open_read_only::Viewer;
use crate::engine::query::TaskSummary;
use crate::model::content::BlobId;
use crate::store::{RealDisk, replace};
use narrative::{Part, TranscriptBuilder};

#[derive(clap::Args)]
pub struct Args {
    #[arg(help = TASK_HELP)]
    task: String,
    #[command(flatten)]
    format: Format,
    /// Write to FILE, readable only by you, instead of stdout.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(clap::Args, Clone, Copy)]
#[group(multiple = false)]
struct Format {
    /// Export as Markdown (default).
    #[arg(long)]
    #[allow(dead_code, reason = "it is the default, and may be given")]
    md: bool,
    /// Export as a self-contained HTML page.
    #[arg(long)]
    html: bool,
    /// Export as one JSON object with every event.
    #[arg(long)]
    json: bool,
}

fn title(head: &TaskSummary) -> String {
    head.node.as_ref().map_or_else(|| format!("task {}", head.task.short()), |node| node.title.clone())
}

/// Returns the names and values of the table at the top of the document.
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

pub fn run(console: &mut Console, here: &ProjectLocator, args: &Args) -> Outcome {
    let viewer = Viewer::open(console, here)?;
    let task = viewer.find(&args.task)?;
    let export = Export { viewer: &viewer, task, format: args.format };
    let is_damaged = match &args.output {
        None => export.write(&mut |text: &str| console.text(text))?,
        Some(path) => {
            check_folder(path)?;
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
        console.note("warning: parts of this session are unreadable and missing; run `mxd check` for details");
    }
    console.finish()?;
    Ok(0)
}

/// Fails if the folder of the output file does not exist.
fn check_folder(path: &Path) -> Result<(), Fault> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if folder.is_dir() {
        return Ok(());
    }
    let (file, folder) = (path.display(), folder.display().to_string());
    Err(Fault::user(format!("cannot write {file}: there is no folder {folder}"))
        .hint(format!("create it with `mkdir -p {}`", shell_word(&folder))))
}

struct Export<'a> {
    viewer: &'a Viewer,
    task: TaskId,
    format: Format,
}

impl Export<'_> {
    /// Writes the document. Returns true if parts of the session are unreadable.
    fn write(&self, out: &mut Sink<'_>) -> Result<bool, Failure> {
        let head = self.viewer.ask(async |handle| handle.summary(self.task).await)?;
        if self.format.json {
            return self.write_json(&head, out);
        }
        let (header, part, end): (_, fn(&Part) -> String, _) = if self.format.html {
            (html::head(&head), html::part, html::END)
        } else {
            (markdown::head(&head), markdown::part, "")
        };
        let mut out = Trimmed { out, last: String::new() };
        out.write(&header)?;
        let blob = |id: &BlobId| self.viewer.ask(async |handle| handle.blob(id.clone()).await).ok();
        let mut transcript = TranscriptBuilder::new(&blob);
        let is_damaged = self.viewer.each_event(self.task, |event| {
            transcript.push(event);
            transcript.take_ready().try_for_each(|ready| out.write(&part(&ready)))
        })?;
        transcript.into_rest().try_for_each(|rest| out.write(&part(&rest)))?;
        out.write(end)?;
        out.end()?;
        Ok(is_damaged)
    }

    /// Writes one JSON object: the fields of `head`, and every event. Holds one page of events at a time.
    fn write_json(&self, head: &TaskSummary, out: &mut Sink<'_>) -> Result<bool, Failure> {
        let failed = |error: serde_json::Error| Fault::internal(format!("cannot encode the document: {error}"));
        let head = serde_json::to_string_pretty(head).map_err(failed)?;
        out(head.trim_end_matches('}').trim_end())?;
        out(",\n  \"events\": [")?;
        let mut separator = "\n";
        let is_damaged = self.viewer.each_event(self.task, |event| {
            let text = serde_json::to_string_pretty(&event).map_err(failed)?;
            out(&format!("{separator}    {}", text.replace('\n', "\n    ")))?;
            separator = ",\n";
            Ok(())
        })?;
        out(if separator == "\n" { "]\n}\n" } else { "\n  ]\n}\n" })?;
        Ok(is_damaged)
    }
}

/// Writes a document and ends it with exactly one line break.
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

/// Receives a document piece by piece.
type Sink<'a> = dyn FnMut(&str) -> Result<(), Failure> + 'a;
