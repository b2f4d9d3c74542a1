//! `mxd rewind`: rewinds a task to an earlier turn, previews that, redoes it, or replaces a message.

use crate::base::{Fault, MessageId, text};
use crate::cli::TASK_HELP;
use crate::cli::agent_guard::Reach;
use crate::cli::console::{Console, Failure, Outcome as Exit};
use crate::cli::diff::turn;
use crate::cli::local_time;
use crate::cli::locate::ProjectLocator;
use crate::cli::open_engine::{AgentStart, Overrides, find, with_engine};
use crate::cli::open_read_only::Viewer;
use crate::cli::outcome::print;
use crate::engine::command::Command;
use crate::engine::review::{RewindPreview, RewindScope, TurnView};
use crate::model::diff::FileStatus;

#[derive(clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "they are switches of a command")]
pub struct Args {
    #[arg(help = TASK_HELP)]
    task: String,
    /// Rewind to after this turn (number or id).
    #[arg(long, value_name = "TURN", conflicts_with_all = ["start", "redo", "edit", "list"])]
    to: Option<String>,
    /// Rewind to before the first turn.
    #[arg(long, conflicts_with_all = ["redo", "edit", "list"])]
    start: bool,
    /// Rewind only the conversation; keep the files.
    #[arg(long)]
    conversation: bool,
    /// Rewind only the files; keep the conversation.
    #[arg(long, conflicts_with = "conversation")]
    files: bool,
    /// Show what would be undone, and what cannot be.
    #[arg(long, conflicts_with_all = ["redo", "edit"])]
    preview: bool,
    /// Redo: undo the last rewind.
    #[arg(long, conflicts_with_all = ["edit", "list"])]
    redo: bool,
    /// Rewind to before MESSAGE (an id) and send TEXT instead.
    #[arg(long, value_names = ["MESSAGE", "TEXT"], num_args = 2, conflicts_with = "list")]
    edit: Vec<String>,
    /// List the turns.
    #[arg(long)]
    list: bool,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

impl Args {
    fn extent(&self) -> RewindScope {
        match (self.conversation, self.files) {
            (true, _) => RewindScope::Conversation,
            (false, true) => RewindScope::Files,
            (false, false) => RewindScope::Both,
        }
    }
}

impl Args {
    pub fn reach(&self) -> Reach {
        Reach::changes(!(self.preview || self.list))
    }
}

pub fn run(console: &mut Console, here: &ProjectLocator, args: Args) -> Exit {
    if args.list {
        return list(console, here, &args);
    }
    if !args.redo && args.edit.is_empty() && args.to.is_none() && !args.start {
        return Err(Fault::user("no target given: use --to TURN, --start or --redo")
            .hint("`mxd rewind TASK --list` lists the turns")
            .into());
    }
    if args.preview {
        return preview(console, here, &args);
    }
    let (json, extent) = (args.json, args.extent());
    let outcome = with_engine(console, here, AgentStart::Hold, Overrides::default(), |handle| async move {
        let (snapshot, _) = handle.subscribe().await?;
        let task = find(&snapshot, &args.task)?;
        let turns = handle.turns(task).await?;
        let command = if args.redo {
            Command::Redo { task }
        } else if let [message, text] = args.edit.as_slice() {
            let message = message.trim().to_ascii_uppercase().parse::<MessageId>();
            let message = message.map_err(|error| Fault::user(error.to_string()))?;
            Command::Resend { task, message, text: text.clone(), extent }
        } else {
            let to = args.to.as_ref().map(|name| turn(&turns, name)).transpose()?;
            Command::Rewind { task, to, extent }
        };
        Ok(handle.command(command).await?)
    })?;
    if json {
        console.json(&outcome)?;
        console.finish()?;
    } else {
        print(console, &outcome, "sent; continue with `mxd run`")?;
    }
    Ok(0)
}

fn list(console: &mut Console, here: &ProjectLocator, args: &Args) -> Exit {
    let viewer = Viewer::open(console, here)?;
    let task = viewer.find(&args.task)?;
    let turns = viewer.ask(async |handle| handle.turns(task).await)?;
    for view in &turns {
        if args.json {
            console.json(view)?;
        } else {
            console.line(&line(view))?;
        }
    }
    if turns.is_empty() && !args.json {
        console.line("no turns yet")?;
    }
    console.finish()?;
    Ok(0)
}

fn line(view: &TurnView) -> String {
    let files = if view.changed { "changed files" } else { "" };
    let content = match (view.text.as_str(), view.calls.as_slice()) {
        ("", calls) => calls.join(", "),
        (said, _) => said.to_owned(),
    };
    let prompt = match (view.prompt.as_str(), view.message) {
        ("", _) => String::new(),
        (prompt, Some(message)) => format!("  (after \"{}\", message {message})", text::headline(prompt, 50)),
        (prompt, None) => format!("  (after \"{}\")", text::headline(prompt, 50)),
    };
    format!("{:>4}  {}  {files:<13}  {content}{prompt}", view.number, local_time::moment(view.at))
}

fn preview(console: &mut Console, here: &ProjectLocator, args: &Args) -> Exit {
    let viewer = Viewer::open(console, here)?;
    let task = viewer.find(&args.task)?;
    let found = viewer.ask(async |handle| {
        let turns = handle.turns(task).await?;
        let to = args.to.as_ref().map(|name| turn(&turns, name)).transpose()?;
        handle.rewind_preview(task, to, args.extent()).await
    })?;
    if args.json {
        console.json(&found)?;
    } else {
        show(console, &found)?;
    }
    console.finish()?;
    Ok(0)
}

fn show(console: &mut Console, found: &RewindPreview) -> Result<(), Failure> {
    if found.extent.has_conversation() {
        let turns = text::count(found.turns, "turn", "turns");
        console.line(&format!(
            "undone: {turns}, {}",
            text::count(found.read, "delivered message", "delivered messages")
        ))?;
    }
    for file in &found.files {
        let what = match file.status {
            FileStatus::Added | FileStatus::Untracked => "is restored",
            FileStatus::Deleted => "is removed",
            FileStatus::Modified
            | FileStatus::Renamed
            | FileStatus::Copied
            | FileStatus::TypeChanged
            | FileStatus::Conflicted => "changes",
        };
        console.line(&format!("file: {} {what}", file.path))?;
    }
    if found.hidden_files > 0 {
        console.line(&format!("and {}", text::count(found.hidden_files, "more file", "more files")))?;
    }
    for commit in &found.commits {
        console.line(&format!("commit: {:.10} {}", commit.id, commit.subject))?;
    }
    for message in &found.sent {
        console.line(&format!("not undone: message {message}"))?;
    }
    for task in &found.created {
        console.line(&format!("not undone: task {} {}", task.task, task.title))?;
    }
    found.stays.iter().try_for_each(|sentence| console.line(&format!("note: {sentence}")))
}
