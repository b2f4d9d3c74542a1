//! `mxd merge`: a task's work into another branch, looked at first, and back again.

use crate::app::{draft_conflicts, edit_files};
use crate::base::text;
use crate::cli::console::{Console, Failure, Outcome as Exit};
use crate::cli::exit;
use crate::cli::inside::Reach;
use crate::cli::outcome::say;
use crate::cli::place::Here;
use crate::cli::viewer::Viewer;
use crate::cli::work::{Agents, Wishes, find, with_engine};
use crate::engine::command::{Command, OnConflict};
use crate::engine::review::{Goal, How, MergePreview};

#[derive(clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "they are switches of a command")]
pub struct Args {
    /// The task: its id, or the first 8 and more characters of it.
    task: String,
    /// All of it as one commit.
    #[arg(long)]
    squash: bool,
    /// Each of its commits again, on top of the target.
    #[arg(long, conflicts_with = "squash")]
    rebase: bool,
    /// Where it goes.
    #[arg(long, value_enum, default_value_t = Into::Above)]
    into: Into,
    /// Only say what would happen. The exit code is 1 if it would be refused.
    #[arg(long, conflicts_with_all = ["undo", "resolve"])]
    preview: bool,
    /// Take the last merge of the task back.
    #[arg(long, conflicts_with_all = ["squash", "rebase", "resolve"])]
    undo: bool,
    /// Cancel the merge that waits for another task's agent to pause.
    #[arg(long, conflicts_with_all = ["squash", "rebase", "resolve", "undo", "preview"])]
    cancel: bool,
    /// If it conflicts, send the conflicts to the task's agent.
    #[arg(long)]
    resolve: bool,
    /// If it conflicts, open the conflicts in $EDITOR; without conflict marks left, what you made of them is merged.
    #[arg(long, conflicts_with_all = ["resolve", "rebase", "undo", "cancel", "preview"])]
    edit: bool,
    /// The answer as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Into {
    /// The branch of the task above; for tasks below the root, the base branch.
    Above,
    /// The project's base branch.
    Base,
}

impl Into {
    fn goal(self) -> Goal {
        match self {
            Self::Above => Goal::Above,
            Self::Base => Goal::Base,
        }
    }
}

impl Args {
    /// Returns what the command does to tasks and files.
    pub fn reach(&self) -> Reach {
        Reach::changes(!self.preview)
    }
}

pub fn run(console: &mut Console, here: &Here, args: &Args) -> Exit {
    if args.preview {
        return preview(console, here, args);
    }
    let how = match (args.squash, args.rebase) {
        (true, _) => How::Squash,
        (false, true) => How::Rebase,
        (false, false) => How::Merge,
    };
    let into = args.into.goal();
    let outcome = with_engine(console, here, Agents::Leave, Wishes::default(), |handle| async move {
        let (snapshot, _) = handle.look().await?;
        let task = find(&snapshot, &args.task)?;
        let mut conflicts = if args.resolve { OnConflict::AskAgent } else { OnConflict::Refuse };
        if args.edit && !handle.merge_preview(task, into).await?.conflicts.is_empty() {
            edit_files(&draft_conflicts(&handle, task, into).await?.files).await?;
            conflicts = OnConflict::Solved;
        }
        let command = match (args.undo, args.cancel) {
            (true, _) => Command::UndoMerge { task },
            (false, true) => Command::CancelMerge { task },
            (false, false) => Command::Merge { task, into, how, conflicts },
        };
        Ok(handle.command(command).await?)
    })?;
    if args.json {
        console.json(&outcome)?;
        console.finish()?;
    } else {
        say(console, &outcome, "merged")?;
    }
    Ok(0)
}

fn preview(console: &mut Console, here: &Here, args: &Args) -> Exit {
    let viewer = Viewer::open(console, here)?;
    let (task, goal) = (viewer.find(&args.task)?, args.into.goal());
    let found = viewer.ask(async |handle| handle.merge_preview(task, goal).await)?;
    if args.json {
        console.json(&found)?;
    } else {
        show(console, &found)?;
    }
    console.finish()?;
    Ok(if found.refusal().is_some() { exit::PROBLEMS } else { 0 })
}

fn show(console: &mut Console, found: &MergePreview) -> Result<(), Failure> {
    console.line(&format!("{} -> {}", found.branch, found.target))?;
    console.line(&format!(
        "{} ahead, {} behind; {}, +{} -{}",
        text::count(found.ahead, "commit", "commits"),
        found.behind,
        text::count(found.files, "file", "files"),
        found.added,
        found.removed
    ))?;
    for conflict in &found.conflicts {
        console.line(&format!("conflict: {}, {}", conflict.path.display(), conflict.kind.words()))?;
    }
    if !found.conflicts.is_empty() {
        console.line("to be solved by its agent (--resolve) or by you (--edit)")?;
    }
    for side in &found.dirty {
        console.line(&format!("in the way: {}", side.reason))?;
    }
    match &found.checkout {
        Some(path) => console.line(&format!("{} would follow", path.display()))?,
        None => console.line(&format!("{} is checked out nowhere: only the branch would move", found.target))?,
    }
    match (&found.verify, &found.receipt) {
        (None, _) => console.line("not checked: no `verify` is set")?,
        (Some(command), Some(receipt)) if found.fresh => {
            let verdict = if receipt.passed() { "succeeded" } else { "failed" };
            console.line(&format!("checked: `{command}` {verdict}"))?;
        }
        (Some(command), Some(_) | None) => console.line(&format!("to be checked first: `{command}`"))?,
    }
    Ok(())
}
