//! `mxd merge`: merges a task's branch, previews that, undoes it, or cancels a queued merge.

use crate::app::{draft_conflicts, edit_files};
use crate::base::text;
use crate::cli::TASK_HELP;
use crate::cli::agent_guard::Reach;
use crate::cli::console::{Console, Failure, Outcome as Exit};
use crate::cli::exit;
use crate::cli::locate::ProjectLocator;
use crate::cli::open_engine::{AgentStart, Overrides, find, with_engine};
use crate::cli::open_read_only::Viewer;
use crate::cli::outcome::print;
use crate::engine::command::{Command, OnConflict};
use crate::engine::review::{MergePreview, MergeStrategy, MergeTarget};

#[derive(clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "they are switches of a command")]
pub struct Args {
    #[arg(help = TASK_HELP)]
    task: String,
    /// Squash all commits into one.
    #[arg(long)]
    squash: bool,
    /// Rebase the commits onto the target.
    #[arg(long, conflicts_with = "squash")]
    rebase: bool,
    /// Target branch.
    #[arg(long, value_enum, default_value_t = Into::Above)]
    into: Into,
    /// Show what would happen; exit with 1 if refused.
    #[arg(long, conflicts_with_all = ["undo", "resolve"])]
    preview: bool,
    /// Undo the task's last merge.
    #[arg(long, conflicts_with_all = ["squash", "rebase", "resolve"])]
    undo: bool,
    /// Cancel a queued merge.
    #[arg(long, conflicts_with_all = ["squash", "rebase", "resolve", "undo", "preview"])]
    cancel: bool,
    /// On conflict, ask the task's agent to resolve it.
    #[arg(long)]
    resolve: bool,
    /// On conflict, open the files in $EDITOR, then merge.
    #[arg(long, conflicts_with_all = ["resolve", "rebase", "undo", "cancel", "preview"])]
    edit: bool,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Into {
    /// The parent task's branch; below the root, the base branch.
    Above,
    /// The project's base branch.
    Base,
}

impl Into {
    fn target(self) -> MergeTarget {
        match self {
            Self::Above => MergeTarget::Parent,
            Self::Base => MergeTarget::Base,
        }
    }
}

impl Args {
    pub fn reach(&self) -> Reach {
        Reach::changes(!self.preview)
    }
}

pub fn run(console: &mut Console, here: &ProjectLocator, args: &Args) -> Exit {
    if args.preview {
        return preview(console, here, args);
    }
    let how = match (args.squash, args.rebase) {
        (true, _) => MergeStrategy::Squash,
        (false, true) => MergeStrategy::Rebase,
        (false, false) => MergeStrategy::Merge,
    };
    let into = args.into.target();
    let outcome = with_engine(console, here, AgentStart::Hold, Overrides::default(), |handle| async move {
        let (snapshot, _) = handle.subscribe().await?;
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
        print(console, &outcome, "merged")?;
    }
    Ok(0)
}

fn preview(console: &mut Console, here: &ProjectLocator, args: &Args) -> Exit {
    let viewer = Viewer::open(console, here)?;
    let (task, target) = (viewer.find(&args.task)?, args.into.target());
    let found = viewer.ask(async |handle| handle.merge_preview(task, target).await)?;
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
        console.line(&format!("conflict: {}, {}", conflict.path.display(), conflict.kind.description()))?;
    }
    if !found.conflicts.is_empty() {
        console.line("resolve with the agent (--resolve) or in $EDITOR (--edit)")?;
    }
    for side in &found.dirty {
        console.line(&format!("blocked: {}", side.reason))?;
    }
    match &found.checkout {
        Some(path) => console.line(&format!("{} would be updated", path.display()))?,
        None => console.line(&format!("{} is not checked out: only the branch would move", found.target))?,
    }
    match (&found.verify, &found.receipt) {
        (None, _) => console.line("not verified: no `verify` command is set")?,
        (Some(command), Some(receipt)) if found.fresh => {
            let verdict = if receipt.passed() { "succeeded" } else { "failed" };
            console.line(&format!("verified: `{command}` {verdict}"))?;
        }
        (Some(command), Some(_) | None) => console.line(&format!("to verify first: `{command}`"))?,
    }
    Ok(())
}
