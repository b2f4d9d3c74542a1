//! `mxd rewind`: back to an earlier turn, with a look at what that undoes; forth again; a message said differently.

use crate::base::{Fault, MessageId, text};
use crate::cli::console::{Console, Failure, Outcome as Exit};
use crate::cli::diff::turn;
use crate::cli::inside::Reach;
use crate::cli::outcome::say;
use crate::cli::place::Here;
use crate::cli::viewer::Viewer;
use crate::cli::work::{Agents, Wishes, find, with_engine};
use crate::engine::command::Command;
use crate::engine::review::{Extent, RewindPreview, TurnView};
use crate::model::diff::FileStatus;

#[derive(clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "they are switches of a command")]
pub struct Args {
    /// The task: its id, or the first 8 and more characters of it.
    task: String,
    /// The turn after which things are to be as they were: its number, or its id.
    #[arg(long, value_name = "TURN", conflicts_with_all = ["start", "redo", "edit", "list"])]
    to: Option<String>,
    /// To before the first turn.
    #[arg(long, conflicts_with_all = ["redo", "edit", "list"])]
    start: bool,
    /// Only the conversation; files stay.
    #[arg(long)]
    conversation: bool,
    /// Only the files; the agent still knows what it did.
    #[arg(long, conflicts_with = "conversation")]
    files: bool,
    /// Only say what would be undone, and what cannot be.
    #[arg(long, conflicts_with_all = ["redo", "edit"])]
    preview: bool,
    /// Take the last rewind back.
    #[arg(long, conflicts_with_all = ["edit", "list"])]
    redo: bool,
    /// Go back to before a message was read, and say something else instead: its id, then the words.
    #[arg(long, value_names = ["MESSAGE", "TEXT"], num_args = 2, conflicts_with = "list")]
    edit: Vec<String>,
    /// List the turns.
    #[arg(long)]
    list: bool,
    /// The answer as JSON.
    #[arg(long)]
    json: bool,
}

impl Args {
    fn extent(&self) -> Extent {
        match (self.conversation, self.files) {
            (true, _) => Extent::Conversation,
            (false, true) => Extent::Files,
            (false, false) => Extent::Both,
        }
    }
}

impl Args {
    /// Returns what the command does to tasks and files.
    pub fn reach(&self) -> Reach {
        Reach::changes(!(self.preview || self.list))
    }
}

pub fn run(console: &mut Console, here: &Here, args: Args) -> Exit {
    if args.list {
        return list(console, here, &args);
    }
    if !args.redo && args.edit.is_empty() && args.to.is_none() && !args.start {
        return Err(Fault::user("say where to go back to: --to TURN, --start, or --redo")
            .hint("`mxd rewind TASK --list` lists the turns")
            .into());
    }
    if args.preview {
        return preview(console, here, &args);
    }
    let (json, extent) = (args.json, args.extent());
    let outcome = with_engine(console, here, Agents::Leave, Wishes::default(), |handle| async move {
        let (snapshot, _) = handle.look().await?;
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
        say(console, &outcome, "sent; `mxd run` lets the agent work on it")?;
    }
    Ok(0)
}

fn list(console: &mut Console, here: &Here, args: &Args) -> Exit {
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
    let said = match (view.said.as_str(), view.calls.as_slice()) {
        ("", calls) => calls.join(", "),
        (said, _) => said.to_owned(),
    };
    let prompt = match (view.prompt.as_str(), view.message) {
        ("", _) => String::new(),
        (prompt, Some(message)) => format!("  (after \"{}\", message {message})", text::headline(prompt, 50)),
        (prompt, None) => format!("  (after \"{}\")", text::headline(prompt, 50)),
    };
    format!("{:>4}  {}  {files:<13}  {said}{prompt}", view.number, view.at.to_seconds_string())
}

fn preview(console: &mut Console, here: &Here, args: &Args) -> Exit {
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
        let (turns, read) = (text::count(found.turns, "turn", "turns"), text::count(found.read, "message", "messages"));
        console.line(&format!("undone: {turns}, {read} that were read"))?;
    }
    for file in &found.files {
        let what = match file.status {
            FileStatus::Added | FileStatus::Untracked => "comes back",
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
        console.line(&format!("stays sent: {message}"))?;
    }
    for task in &found.created {
        console.line(&format!("stays in the tree: {} {}", task.task, task.title))?;
    }
    found.stays.iter().try_for_each(|sentence| console.line(&format!("note: {sentence}")))
}
