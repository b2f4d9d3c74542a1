//! `mxd import`: imports sessions of other programs as closed tasks, which can be read, searched and forked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::base::{Clock as _, ProjectId, SystemClock, TaskId, Timestamp, text};
use crate::cli::agent_guard::Reach;
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::import_settings::{self, Parts};
use crate::cli::local_time;
use crate::cli::locate::{LocatedProject, ProjectLocator, home, new_ids, real_disk, shell_word};
use crate::config::paths::Home;
use crate::engine;
use crate::import::{self, ForeignSession, Homes, ImportStatus, Origin, Wanted};
use crate::model::Tree;
use crate::store::tree_file::TreeFile;
use crate::store::{Blobs, EngineLock, Sessions};

#[derive(clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches of the command line")]
pub struct Args {
    /// Session files or folders (default: this repository's sessions).
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Import only sessions of this program.
    #[arg(long, value_enum)]
    from: Option<Program>,
    /// List the sessions without importing them.
    #[arg(long)]
    list: bool,
    /// Print one JSON session per line.
    #[arg(long)]
    json: bool,
    /// Import lifecycle hooks from Claude Code's settings instead.
    #[arg(long, conflicts_with_all = ["paths", "from", "json"])]
    hooks: bool,
    /// Import permission rules from Claude Code's settings instead.
    #[arg(long, conflicts_with_all = ["paths", "from", "json"])]
    permissions: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Program {
    Matrix,
    Claude,
    Codex,
}

impl Program {
    fn origin(self) -> Origin {
        match self {
            Self::Matrix => Origin::Matrix,
            Self::Claude => Origin::Claude,
            Self::Codex => Origin::Codex,
        }
    }
}

/// A session in the output of `--json`.
#[derive(Serialize)]
struct Row<'a> {
    from: Origin,
    session: &'a str,
    task: TaskId,
    state: ImportStatus,
    title: &'a str,
    started: Timestamp,
    path: &'a std::path::Path,
    left_out: usize,
}

impl Args {
    pub fn reach(&self) -> Reach {
        Reach::changes(!self.list)
    }
}

pub fn run(console: &mut Console, here: &ProjectLocator, args: &Args) -> Outcome {
    if args.hooks || args.permissions {
        let parts = Parts { hooks: args.hooks, permissions: args.permissions, preview: args.list };
        import_settings::run(console, here, parts)?;
        console.finish()?;
        return Ok(0);
    }
    let home = home()?;
    let top = here.repository()?.top;
    let foreign = gather(console, args, &top)?;
    let statuses = if args.list {
        preview(console, here.peek(&home)?.as_ref(), &home, &foreign)?
    } else {
        import(&here.locate_or_register(&home)?, &foreign)?
    };
    let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
    for one in &foreign {
        let Some((task, status)) = statuses.get(&(one.origin, one.session.as_str())).copied() else { continue };
        *counts.entry(word(status)).or_default() += 1;
        if args.json {
            console.json(&Row {
                from: one.origin,
                session: &one.session,
                task,
                state: status,
                title: &one.title,
                started: one.started,
                path: &one.path,
                left_out: one.left_out,
            })?;
        } else {
            show(console, one, task, status)?;
        }
    }
    console.finish()?;
    if !args.json {
        console.note(&summary(&counts, args));
    }
    Ok(0)
}

/// Reads the sessions. Prints a warning for each file that cannot be read.
fn gather(console: &mut Console, args: &Args, top: &Path) -> Result<Vec<ForeignSession>, Failure> {
    let user = directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_owned());
    let homes = Homes::locate(user.as_deref(), |name| std::env::var_os(name).map(PathBuf::from));
    let wanted = if args.paths.is_empty() { Wanted::In(top, &homes) } else { Wanted::At(&args.paths) };
    let files = import::candidates(wanted, args.from.map(Program::origin)).map_err(|error| {
        crate::base::Fault::user(error.to_string()).hint("pass a JSONL file, or a folder with such files")
    })?;
    let mut all = Vec::new();
    for (path, origin) in files {
        match import::read(&path, origin) {
            Ok(sessions) => all.extend(sessions),
            Err(error) => console.note(&format!("warning: {error}")),
        }
    }
    Ok(all)
}

fn sessions_of(located: &LocatedProject) -> Sessions {
    Sessions::new(real_disk(), located.folder.sessions())
}

/// Returns the saved tree. Prints a warning for each inconsistency.
fn load(console: &mut Console, located: &LocatedProject) -> Result<Option<Tree>, Failure> {
    let mut file = TreeFile::new(real_disk(), located.folder.tree());
    let Some(loaded) = file.load_beside(&sessions_of(located))? else { return Ok(None) };
    loaded.notes.iter().for_each(|note| console.note(&format!("warning: {note}")));
    Ok(Some(loaded.tree))
}

type Statuses<'a> = BTreeMap<(Origin, &'a str), (TaskId, ImportStatus)>;

/// Returns what an import would do with each session. In an unregistered repository, all are new.
fn preview<'a>(
    console: &mut Console,
    located: Option<&LocatedProject>,
    home: &Home,
    foreign: &'a [ForeignSession],
) -> Result<Statuses<'a>, Failure> {
    let tree = located.map(|located| load(console, located)).transpose()?.flatten();
    let no_sessions = || Sessions::new(real_disk(), home.project(ProjectId::fresh(&new_ids())).sessions());
    let sessions = located.map_or_else(no_sessions, sessions_of);
    let mut statuses = Statuses::new();
    for one in foreign {
        statuses.insert((one.origin, one.session.as_str()), import::import_status(tree.as_ref(), &sessions, one)?);
    }
    Ok(statuses)
}

fn import<'a>(located: &LocatedProject, foreign: &'a [ForeignSession]) -> Result<Statuses<'a>, Failure> {
    if foreign.is_empty() {
        return Ok(Statuses::new());
    }
    let now = SystemClock.now();
    let _lock = EngineLock::acquire(&located.folder.lock(), now)?;
    let mut file = TreeFile::new(real_disk(), located.folder.tree());
    let mut tree = engine::load_tree(&mut file, &sessions_of(located), &new_ids(), &SystemClock)?;
    let blobs = Blobs::new(real_disk(), located.folder.blobs());
    let mut statuses = Statuses::new();
    file.announce_import(&tree, import::task_ids(foreign, now))?;
    let stored = import::store_sessions(&real_disk(), &sessions_of(located), &blobs, &mut tree, foreign, now)?;
    file.save(&tree)?;
    for one in foreign {
        let task = import::import_status(Some(&tree), &sessions_of(located), one)?.0;
        if let Some(stored) = stored.iter().find(|stored| stored.task == task) {
            statuses.insert((one.origin, one.session.as_str()), (task, stored.status));
        }
    }
    Ok(statuses)
}

fn show(console: &mut Console, one: &ForeignSession, task: TaskId, status: ImportStatus) -> Result<(), Failure> {
    let left_out = match one.left_out {
        0 => String::new(),
        count => format!("  ({} left out)", text::count(count, "line", "lines")),
    };
    console.line(&format!(
        "{:<6}  {:<6}  {}  {}  {}{left_out}",
        word(status),
        one.origin,
        local_time::moment(one.started),
        task.short(),
        text::headline(&one.title, 60),
    ))
}

fn word(status: ImportStatus) -> &'static str {
    match status {
        ImportStatus::New => "new",
        ImportStatus::Grown => "grown",
        ImportStatus::Known => "known",
        ImportStatus::Kept => "kept",
    }
}

/// Returns the command that imports the listed sessions.
fn command(args: &Args) -> String {
    let mut command = "mxd import".to_owned();
    for path in &args.paths {
        command = format!("{command} {}", shell_word(&path.display().to_string()));
    }
    match args.from {
        Some(program) => format!("{command} --from {}", program.origin()),
        None => command,
    }
}

fn summary(counts: &BTreeMap<&'static str, usize>, args: &Args) -> String {
    let count = |word: &str| counts.get(word).copied().unwrap_or(0);
    let total: usize = counts.values().sum();
    if total == 0 && !args.paths.is_empty() {
        return "no sessions found there".to_owned();
    }
    if total == 0 {
        return "no sessions of Claude Code, Codex or Matrix (TypeScript) found for this repository; pass a file or folder \
                to import from elsewhere"
            .to_owned();
    }
    let fresh = count("new") + count("grown");
    let sessions = text::count(fresh, "session", "sessions");
    if args.list {
        return match fresh {
            0 => format!("nothing to import: {total} already imported"),
            _ => format!("{sessions} of {total} can be imported: `{}`", command(args)),
        };
    }
    let kept = match count("kept") {
        0 => String::new(),
        kept => format!("; {kept} not updated, because they were continued here"),
    };
    format!("{sessions} imported, {} already imported{kept}", count("known"))
}
