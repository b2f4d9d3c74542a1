//! `mxd diff`: prints a task's changes as a patch, a list or JSON. Read-only, so it works while another process has the
//! project.

use std::path::{Path, PathBuf};

use crate::base::{Fault, TaskId, TurnId, text};
use crate::cli::TASK_HELP;
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::locate::ProjectLocator;
use crate::cli::open_read_only::Viewer;
use crate::cli::paint::{Span, Style};
use crate::cli::table::{Column, Fit, Table, cell};
use crate::engine::Handle;
use crate::engine::review::{DiffRange, DiffRequest, TaskDiff, TurnView, Whitespace};
use crate::model::diff::{Diff, FileDiff, FileStatus};

#[derive(clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "they are switches of a command")]
pub struct Args {
    #[arg(help = TASK_HELP)]
    task: String,
    /// Turn (3), range of turns (3..5), or since (3..).
    #[arg(long, value_name = "TURN")]
    turn: Option<String>,
    /// Only the Nth edit of that turn.
    #[arg(long, value_name = "EDIT", requires = "turn")]
    edit: Option<usize>,
    /// Changes since you last viewed them on the screen.
    #[arg(long, conflicts_with = "turn")]
    look: bool,
    /// Show only file names and counts.
    #[arg(long)]
    stat: bool,
    /// Ignore whitespace.
    #[arg(short = 'w', long)]
    ignore_whitespace: bool,
    /// Lines of context.
    #[arg(short = 'U', long, value_name = "LINES", default_value_t = 3)]
    context: u32,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    /// Only these files and folders.
    paths: Vec<PathBuf>,
}

pub fn run(console: &mut Console, here: &ProjectLocator, args: &Args) -> Outcome {
    let viewer = Viewer::open(console, here)?;
    let task = viewer.find(&args.task)?;
    let top = here.repository()?.top;
    let whitespace = if args.ignore_whitespace { Whitespace::Ignored } else { Whitespace::Counts };
    let found = viewer.ask(async |handle| {
        let range = match &args.turn {
            Some(name) => range(&handle.turns(task).await?, name, args.edit)?,
            None if args.look => DiffRange::SinceReview,
            None => DiffRange::Base,
        };
        let request = DiffRequest { range, whitespace, context: args.context, only: args.paths.clone() };
        check_paths(handle, task, &top, &request).await?;
        Ok(if args.json || args.stat {
            Found::Data(handle.diff(task, request).await?)
        } else {
            Found::Patch(handle.patch(task, request).await?)
        })
    })?;
    match found {
        // `git apply` needs every byte; a terminal must not get them raw.
        Found::Patch(patch) if !console.is_terminal() && !console.has_color() => console.bytes(&patch)?,
        Found::Patch(patch) => print_patch(console, &String::from_utf8_lossy(&patch))?,
        Found::Data(found) => {
            if args.json {
                console.json(&found)?;
            } else {
                stat(console, &found.diff)?;
            }
            if found.diff.hidden_files > 0 {
                console.note(&format!("{} not shown", text::count(found.diff.hidden_files, "more file", "more files")));
            }
        }
    }
    console.finish()?;
    Ok(0)
}

enum Found {
    Data(TaskDiff),
    Patch(Vec<u8>),
}

/// Fails if a path is neither a file of the task nor part of its changes. A misspelt path must not look like a task
/// without changes.
async fn check_paths(handle: &Handle, task: TaskId, top: &Path, request: &DiffRequest) -> Result<(), Fault> {
    if request.only.is_empty() {
        return Ok(());
    }
    let worktree = handle.summary(task).await?.node.and_then(|node| node.worktree);
    let folder = worktree.filter(|folder| folder.is_dir()).unwrap_or_else(|| top.to_owned());
    let absent = |path: &&PathBuf| folder.join(path).symlink_metadata().is_err();
    let missing: Vec<&PathBuf> = request.only.iter().filter(absent).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let changed = handle.diff(task, request.clone()).await?.diff;
    let sides = |file: &FileDiff| file.old.iter().chain(&file.new).map(|side| side.path.clone()).collect::<Vec<_>>();
    let paths: Vec<PathBuf> = changed.files.iter().flat_map(sides).collect();
    match missing.into_iter().find(|path| !paths.iter().any(|changed| changed.starts_with(path))) {
        None => Ok(()),
        Some(path) => Err(Fault::user(format!("there is no file or folder {} in the task's work", path.display()))
            .hint("paths start at the top of the repository; `mxd diff TASK --stat` lists the changed files")),
    }
}

/// Prints a patch with the colours that git uses.
fn print_patch(console: &mut Console, patch: &str) -> Result<(), Failure> {
    let mut is_header = true;
    for line in patch.split_terminator('\n') {
        is_header = line.starts_with("diff ") || (is_header && !line.starts_with("@@"));
        let Some((place, rest)) = line.strip_prefix("@@").and_then(|line| line.split_once("@@")) else {
            console.spans(&[Span::new(line.replace('\t', "    "), patch_style(line, is_header))])?;
            continue;
        };
        console.spans(&[Span::new(format!("@@{place}@@"), Style::Accent), Span::plain(rest)])?;
    }
    Ok(())
}

fn patch_style(line: &str, is_header: bool) -> Style {
    match line.as_bytes().first() {
        _ if is_header => Style::Strong,
        Some(b'+') => Style::Good,
        Some(b'-') => Style::Bad,
        Some(b'\\') => Style::Dim,
        _ => Style::Plain,
    }
}

/// Returns the changed files as a table for a terminal.
fn table(diff: &Diff) -> Table {
    let mut table = Table::new(&[
        Column::left(""),
        Column::left("File").fit(Fit::Flexible),
        Column::right("Added"),
        Column::right("Removed"),
        Column::left("Notes").fit(Fit::Optional),
    ]);
    for file in &diff.files {
        let style = match file.status {
            FileStatus::Added | FileStatus::Untracked => Style::Good,
            FileStatus::Deleted | FileStatus::Conflicted => Style::Bad,
            FileStatus::Modified | FileStatus::Renamed | FileStatus::Copied | FileStatus::TypeChanged => Style::Accent,
        };
        table.push(vec![
            cell(mark(file.status), style),
            cell(name(file), Style::Plain),
            cell(format!("+{}", file.added), Style::Good),
            cell(format!("-{}", file.removed), Style::Bad),
            cell(file.remarks().join("; "), Style::Dim),
        ]);
    }
    table
}

fn stat(console: &mut Console, diff: &Diff) -> Result<(), Failure> {
    if console.is_terminal() && !diff.files.is_empty() {
        console.table(&table(diff))?;
    }
    let lines = if console.is_terminal() { &[][..] } else { &diff.files };
    for file in lines {
        let notes = file.remarks();
        let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join("; ")) };
        let (mark, name) = (mark(file.status), name(file));
        console.line(&format!("{mark} {name} +{} -{}{notes}", file.added, file.removed))?;
    }
    let files = text::count(diff.files.len() + diff.hidden_files, "file", "files");
    console.line(&format!("{files}, +{} -{}", diff.added(), diff.removed()))
}

/// Finds a turn by number or id prefix.
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

fn range(turns: &[TurnView], name: &str, edit: Option<usize>) -> Result<DiffRange, Fault> {
    match name.split_once("..") {
        None => Ok(match edit {
            Some(number) => DiffRange::Edit { turn: turn(turns, name)?, number },
            None => DiffRange::Turn { turn: turn(turns, name)? },
        }),
        Some(_) if edit.is_some() => Err(Fault::user("--edit needs a single turn: `mxd diff TASK --turn 3 --edit 2`")),
        Some((from, "")) => Ok(DiffRange::Since { turn: turn(turns, from)? }),
        Some((from, to)) => Ok(DiffRange::Between { from: turn(turns, from)?, to: turn(turns, to)? }),
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
