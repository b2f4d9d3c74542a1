//! `mxd diff`: what a task changed, as a patch, a list or JSON. Only reads, so it works while another process has the project.

use std::path::PathBuf;

use crate::base::{Fault, TaskId, TurnId, text};
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::place::{Here, Located, home};
use crate::cli::tree::{find, load};
use crate::cli::work::runtime;
use crate::engine::review::{
    Cut, DiffWish, FileDiff, FileStatus, Hunk, Kind, LineKind, Range, TurnView, Version, Whitespace,
};
use crate::engine::{Reader, Spot};
use crate::git::Worktrees;

#[derive(clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "they are switches of a command")]
pub struct Args {
    /// The task: its id, or the first 8 and more characters of it.
    task: String,
    /// What one turn changed, by its number: 3. From after one to after another: 3..5. From after one to now: 3..
    #[arg(long, value_name = "TURN")]
    turn: Option<String>,
    /// Of that turn, only what one of its calls changed, by its number: 2.
    #[arg(long, value_name = "EDIT", requires = "turn")]
    edit: Option<usize>,
    /// What changed since you last looked at it on the screen.
    #[arg(long, conflicts_with = "turn")]
    look: bool,
    /// Only names and numbers.
    #[arg(long)]
    stat: bool,
    /// Pass over changes of white space.
    #[arg(short = 'w', long)]
    ignore_whitespace: bool,
    /// Unchanged lines around what changed.
    #[arg(short = 'U', long, value_name = "LINES", default_value_t = 3)]
    context: u32,
    /// Everything, as one JSON object.
    #[arg(long)]
    json: bool,
    /// Only these files and folders.
    paths: Vec<PathBuf>,
}

pub fn run(console: &mut Console, here: &Here, args: &Args) -> Outcome {
    let looked = Looked::at(console, here, &args.task)?;
    let whitespace = if args.ignore_whitespace { Whitespace::Ignored } else { Whitespace::Counts };
    let found = looked.block_on(async |looked| {
        let range = match &args.turn {
            Some(name) => range(&looked.reader.turns(looked.spot.task).await?, name, args.edit)?,
            None if args.look => Range::Look,
            None => Range::Base,
        };
        let wish = DiffWish { range, whitespace, context: args.context, only: args.paths.clone() };
        looked.reader.diff(&looked.spot, wish).await
    })?;
    if args.json {
        console.json(&found)?;
    } else if args.stat {
        for file in &found.diff.files {
            console.line(&format!("{} {} +{} -{}", mark(file.status), name(file), file.added, file.removed))?;
        }
        let files = text::count(found.diff.files.len() + found.diff.hidden_files, "file", "files");
        console.line(&format!("{files}, +{} -{}", found.diff.added(), found.diff.removed()))?;
    } else {
        for file in &found.diff.files {
            patch(console, file)?;
        }
    }
    if found.diff.hidden_files > 0 {
        console.note(&format!("{} more are not shown", text::count(found.diff.hidden_files, "file", "files")));
    }
    console.finish()?;
    Ok(0)
}

/// A task that is looked at without an engine.
pub struct Looked {
    pub reader: Reader,
    pub spot: Spot,
    runtime: tokio::runtime::Runtime,
}

impl Looked {
    pub fn at(console: &mut Console, here: &Here, name: &str) -> Result<Self, Failure> {
        let home = home()?;
        let located = here.located(&home)?;
        let sessions = located.sessions();
        let task = find(console, &located, &sessions, name)?;
        let verify = here.settings(&home)?.settings.verify;
        let spot = spot(console, &located, task, verify.as_deref())?;
        let runtime = runtime()?;
        let worktrees = runtime.block_on(Worktrees::open(&located.project.path, &located.folder.worktrees(), None))?;
        Ok(Self { reader: Reader::looking(worktrees, sessions), spot, runtime })
    }

    pub fn block_on<T>(&self, work: impl AsyncFnOnce(&Self) -> Result<T, Fault>) -> Result<T, Fault> {
        self.runtime.block_on(work(self))
    }
}

fn spot(console: &mut Console, located: &Located, task: TaskId, verify: Option<&str>) -> Result<Spot, Failure> {
    let tree = load(console, located)?;
    let receipt = located.sessions().active(task)?.state().work.receipt;
    let spot = tree.and_then(|tree| Spot::of(&tree, task, &located.project, verify, receipt));
    Ok(spot.ok_or_else(|| Fault::user(format!("task {task} is not in the tree any more")))?)
}

/// Returns the turn that a person calls `name`: its number, or its id.
pub fn turn(turns: &[TurnView], name: &str) -> Result<TurnId, Fault> {
    let wanted = name.trim();
    let is_it = |view: &&TurnView| {
        wanted.parse::<usize>().is_ok_and(|number| number == view.number)
            || (wanted.len() >= 8 && view.turn.to_string().starts_with(&wanted.to_ascii_uppercase()))
    };
    turns.iter().find(is_it).map(|view| view.turn).ok_or_else(|| {
        let known = match turns.len() {
            0 => "the conversation has no turns yet".to_owned(),
            count => format!("the conversation has turns 1 to {count}"),
        };
        Fault::user(format!("there is no turn \"{wanted}\": {known}")).hint("`mxd rewind TASK --list` lists them")
    })
}

fn range(turns: &[TurnView], name: &str, edit: Option<usize>) -> Result<Range, Fault> {
    match name.split_once("..") {
        None => Ok(match edit {
            Some(number) => Range::Edit { turn: turn(turns, name)?, number },
            None => Range::Turn { turn: turn(turns, name)? },
        }),
        Some(_) if edit.is_some() => Err(Fault::user("an edit belongs to one turn: `mxd diff TASK --turn 3 --edit 2`")),
        Some((from, "")) => Ok(Range::Since { turn: turn(turns, from)? }),
        Some((from, to)) => Ok(Range::Between { from: turn(turns, from)?, to: turn(turns, to)? }),
    }
}

fn name(file: &FileDiff) -> String {
    match (&file.old, &file.new) {
        (Some(old), Some(new)) if old.path != new.path => format!("{} => {}", old.path.display(), new.path.display()),
        _ => file.path().map(|path| path.display().to_string()).unwrap_or_default(),
    }
}

fn mark(status: FileStatus) -> char {
    match status {
        FileStatus::Added | FileStatus::Untracked => 'A',
        FileStatus::Deleted => 'D',
        FileStatus::Modified => 'M',
        FileStatus::Renamed => 'R',
        FileStatus::Copied => 'C',
        FileStatus::TypeChanged => 'T',
        FileStatus::Conflicted => 'U',
    }
}

/// Writes a file's change in the form that `git apply` and every reader of patches know.
fn patch(console: &mut Console, file: &FileDiff) -> Result<(), Failure> {
    let path = |side: &str, version: Option<&Version>| {
        version.map_or_else(|| "/dev/null".to_owned(), |version| format!("{side}/{}", version.path.display()))
    };
    let (old, new) = (path("a", file.old.as_ref()), path("b", file.new.as_ref()));
    let named = |own: &str, other: &str| if own == "/dev/null" { other[2..].to_owned() } else { own[2..].to_owned() };
    console.line(&format!("diff --git a/{} b/{}", named(&old, &new), named(&new, &old)))?;
    match (&file.old, &file.new) {
        (None, Some(made)) => console.line(&format!("new file mode {}", mode(made.kind)))?,
        (Some(gone), None) => console.line(&format!("deleted file mode {}", mode(gone.kind)))?,
        (Some(before), Some(after)) if before.kind != after.kind => {
            console.line(&format!("old mode {}", mode(before.kind)))?;
            console.line(&format!("new mode {}", mode(after.kind)))?;
        }
        (Some(_) | None, Some(_) | None) => {}
    }
    if let (FileStatus::Renamed, Some(before), Some(after)) = (file.status, &file.old, &file.new) {
        console.line(&format!("rename from {}", before.path.display()))?;
        console.line(&format!("rename to {}", after.path.display()))?;
    }
    match file.cut {
        Some(Cut::Binary) => console.line(&format!("Binary files {old} and {new} differ"))?,
        Some(Cut::TooLarge) => console.line(&format!("# {} is too large to be compared line by line", name(file)))?,
        Some(Cut::Lines(_)) | None => {}
    }
    if !file.hunks.is_empty() {
        console.line(&format!("--- {old}"))?;
        console.line(&format!("+++ {new}"))?;
    }
    file.hunks.iter().try_for_each(|hunk| lines(console, hunk))?;
    if let Some(Cut::Lines(hidden)) = file.cut {
        console.note(&format!("{}: {} are not shown", name(file), text::count(hidden, "line", "lines")));
    }
    Ok(())
}

fn mode(kind: Kind) -> &'static str {
    match kind {
        Kind::File => "100644",
        Kind::Executable => "100755",
        Kind::Link => "120000",
        Kind::Submodule => "160000",
    }
}

fn lines(console: &mut Console, hunk: &Hunk) -> Result<(), Failure> {
    let heading = if hunk.heading.is_empty() { String::new() } else { format!(" {}", hunk.heading) };
    console.line(&format!(
        "@@ -{},{} +{},{} @@{heading}",
        hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines
    ))?;
    for line in &hunk.lines {
        let mark = match line.kind {
            LineKind::Context => ' ',
            LineKind::Added => '+',
            LineKind::Removed => '-',
        };
        console.line(&format!("{mark}{}", line.text))?;
        if line.unended {
            console.line("\\ No newline at end of file")?;
        }
    }
    Ok(())
}
