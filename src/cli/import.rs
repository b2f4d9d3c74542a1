//! `mxd import`: sessions of other programs, as closed tasks that can be read, searched and forked from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::base::{Clock as _, ProjectId, SystemClock, TaskId, Timestamp, text};
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::inside::Reach;
use crate::cli::place::{Here, Located, home, new_ids, shell_word, the_disk};
use crate::config::paths::Home;
use crate::engine;
use crate::import::{self, Fate, Foreign, Homes, Origin, Wanted};
use crate::model::Tree;
use crate::store::tree_file::TreeFile;
use crate::store::{Blobs, EngineLock, Sessions};

#[derive(clap::Args)]
pub struct Args {
    /// Files or folders with sessions. None: those that were held in this repository, from where the programs keep them.
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Only sessions of this program.
    #[arg(long, value_enum)]
    from: Option<Program>,
    /// Say what there is, and import nothing.
    #[arg(long)]
    list: bool,
    /// One session per line, as JSON.
    #[arg(long)]
    json: bool,
}

/// Whose sessions.
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

/// One session, for programs.
#[derive(Serialize)]
struct Row<'a> {
    from: Origin,
    session: &'a str,
    task: TaskId,
    state: Fate,
    title: &'a str,
    started: Timestamp,
    path: &'a std::path::Path,
    left_out: usize,
}

impl Args {
    /// Returns what the command does to tasks and files.
    pub fn reach(&self) -> Reach {
        Reach::changes(!self.list)
    }
}

pub fn run(console: &mut Console, here: &Here, args: &Args) -> Outcome {
    let home = home()?;
    let top = here.repository()?.top;
    let foreign = gather(console, args, &top)?;
    let fates = if args.list {
        looked_at(console, here.peek(&home)?.as_ref(), &home, &foreign)?
    } else {
        import(&here.located_or_registered(&home)?, &foreign)?
    };
    let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
    for one in &foreign {
        let Some((task, fate)) = fates.get(&(one.origin, one.session.as_str())).copied() else { continue };
        *counts.entry(word(fate)).or_default() += 1;
        if args.json {
            console.json(&Row {
                from: one.origin,
                session: &one.session,
                task,
                state: fate,
                title: &one.title,
                started: one.started,
                path: &one.path,
                left_out: one.left_out,
            })?;
        } else {
            show(console, one, task, fate)?;
        }
    }
    console.finish()?;
    if !args.json {
        console.note(&summary(&counts, args));
    }
    Ok(0)
}

/// Reads everything that is wanted. A file that cannot be read is said, and hinders no other.
fn gather(console: &mut Console, args: &Args, top: &Path) -> Result<Vec<Foreign>, Failure> {
    let user = directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_owned());
    let homes = Homes::locate(user.as_deref(), |name| std::env::var_os(name).map(PathBuf::from));
    let wanted = if args.paths.is_empty() { Wanted::In(top, &homes) } else { Wanted::At(&args.paths) };
    let files = import::candidates(wanted, args.from.map(Program::origin)).map_err(|error| {
        crate::base::Fault::user(error.to_string()).hint("name a file of lines, or a folder with such files")
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

fn sessions_of(located: &Located) -> Sessions {
    Sessions::new(the_disk(), located.folder.sessions())
}

/// Returns the saved tree, with a note for everything that did not fit together.
fn load(console: &mut Console, located: &Located) -> Result<Option<Tree>, Failure> {
    let mut file = TreeFile::new(the_disk(), located.folder.tree());
    let Some(loaded) = file.load_beside(&sessions_of(located))? else { return Ok(None) };
    loaded.notes.iter().for_each(|note| console.note(&format!("warning: {note}")));
    Ok(Some(loaded.tree))
}

type Fates<'a> = BTreeMap<(Origin, &'a str), (TaskId, Fate)>;

/// Says what would become of each. Where the repository is not registered yet, everything is new.
fn looked_at<'a>(
    console: &mut Console,
    located: Option<&Located>,
    home: &Home,
    foreign: &'a [Foreign],
) -> Result<Fates<'a>, Failure> {
    let tree = located.map(|located| load(console, located)).transpose()?.flatten();
    let nowhere = || Sessions::new(the_disk(), home.project(ProjectId::fresh(&new_ids())).sessions());
    let sessions = located.map_or_else(nowhere, sessions_of);
    let mut fates = Fates::new();
    for one in foreign {
        fates.insert((one.origin, one.session.as_str()), import::fate(tree.as_ref(), &sessions, one)?);
    }
    Ok(fates)
}

fn import<'a>(located: &Located, foreign: &'a [Foreign]) -> Result<Fates<'a>, Failure> {
    if foreign.is_empty() {
        return Ok(Fates::new());
    }
    let now = SystemClock.now();
    let _lock = EngineLock::acquire(&located.folder.lock(), now)?;
    let mut file = TreeFile::new(the_disk(), located.folder.tree());
    let mut tree = engine::load_tree(&mut file, &sessions_of(located), &new_ids(), &SystemClock)?;
    let blobs = Blobs::new(the_disk(), located.folder.blobs());
    let mut fates = Fates::new();
    file.announce_import(&tree, import::tasks(foreign, now))?;
    let shelved = import::shelve(&the_disk(), &sessions_of(located), &blobs, &mut tree, foreign, now)?;
    file.save(&tree)?;
    for one in foreign {
        let task = import::fate(Some(&tree), &sessions_of(located), one)?.0;
        if let Some(shelved) = shelved.iter().find(|shelved| shelved.task == task) {
            fates.insert((one.origin, one.session.as_str()), (task, shelved.fate));
        }
    }
    Ok(fates)
}

fn show(console: &mut Console, one: &Foreign, task: TaskId, fate: Fate) -> Result<(), Failure> {
    let left_out = match one.left_out {
        0 => String::new(),
        count => format!("  ({} left out)", text::count(count, "line", "lines")),
    };
    console.line(&format!(
        "{:<6}  {:<6}  {}  {}  {}{left_out}",
        word(fate),
        one.origin,
        one.started.to_seconds_string(),
        task.short(),
        text::headline(&one.title, 60),
    ))
}

fn word(fate: Fate) -> &'static str {
    match fate {
        Fate::New => "new",
        Fate::Grown => "grown",
        Fate::Known => "known",
        Fate::Kept => "kept",
    }
}

/// Returns the command that imports what was listed.
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
        return "no sessions were found there".to_owned();
    }
    if total == 0 {
        return "no sessions were found that Claude Code, Codex or Matrix (TypeScript) held in this repository; those in \
                other places are read by their name: a file, or a folder"
            .to_owned();
    }
    let fresh = count("new") + count("grown");
    let sessions = text::count(fresh, "session", "sessions");
    if args.list {
        return match fresh {
            0 => format!("nothing is left to import: {total} are here already"),
            _ => format!("{sessions} of {total} can be imported: `{}`", command(args)),
        };
    }
    let kept = match count("kept") {
        0 => String::new(),
        kept => format!("; {kept} left as they are, since they were worked on here"),
    };
    format!("{sessions} imported, {} were here already{kept}", count("known"))
}
