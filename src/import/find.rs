//! Where sessions of other programs are, and whose a file is.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::import::codex;
use crate::import::lines;
use crate::import::value;
use crate::import::{ImportError, Origin};

/// How deep folders are searched. Nobody keeps sessions deeper.
const DEPTH: usize = 8;
/// How many lines say where a session was at work.
const PEEK: usize = 200;

/// Where each program keeps its files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Homes {
    pub matrix: Option<PathBuf>,
    pub claude: Option<PathBuf>,
    pub codex: Option<PathBuf>,
}

impl Homes {
    /// Returns the places that the programs themselves would use.
    pub fn locate(home: Option<&Path>, variable: impl Fn(&str) -> Option<PathBuf>) -> Self {
        let place = |name: &str, usual: &str| {
            let chosen = variable(name).filter(|path| !path.as_os_str().is_empty());
            chosen.or_else(|| home.map(|home| home.join(usual)))
        };
        Self {
            matrix: place("MXD_DATA_DIR", ".mxd"),
            claude: place("CLAUDE_CONFIG_DIR", ".claude"),
            codex: place("CODEX_HOME", ".codex"),
        }
    }
}

/// Which sessions are wanted.
#[derive(Clone, Copy, Debug)]
pub enum Wanted<'a> {
    /// Those of agents that were at work in this folder or below it, wherever the programs keep them.
    In(&'a Path, &'a Homes),
    /// Those in these files and folders.
    At(&'a [PathBuf]),
}

/// Returns the files that may hold wanted sessions, in a fixed order, and which program's they are if that is known.
pub fn candidates(wanted: Wanted<'_>, only: Option<Origin>) -> Result<Vec<(PathBuf, Option<Origin>)>, ImportError> {
    match wanted {
        Wanted::At(paths) => {
            let mut found = BTreeSet::new();
            for path in paths {
                let unreadable = |source| ImportError::Unreadable { path: path.clone(), source };
                if std::fs::metadata(path).map_err(unreadable)?.is_dir() {
                    gather(path, DEPTH, &mut found).map_err(unreadable)?;
                } else {
                    found.insert(path.clone());
                }
            }
            Ok(found.into_iter().map(|path| (path, only)).collect())
        }
        Wanted::In(top, homes) => {
            let mut found = Vec::new();
            for origin in Origin::ALL.into_iter().filter(|origin| only.is_none_or(|only| only == *origin)) {
                let files = match origin {
                    Origin::Matrix => homes.matrix.as_deref().map(|home| of_matrix(home, top)),
                    Origin::Claude => homes.claude.as_deref().map(|home| of_claude(home, top)),
                    Origin::Codex => homes.codex.as_deref().map(|home| of_codex(home, top)),
                };
                found.extend(files.unwrap_or_default().into_iter().map(|path| (path, Some(origin))));
            }
            Ok(found)
        }
    }
}

/// Gathers the files of lines below a folder. Links are not followed, so that there is no way round in a circle.
fn gather(folder: &Path, depth: usize, found: &mut BTreeSet<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let (kind, path) = (entry.file_type()?, entry.path());
        if kind.is_dir() && depth > 0 {
            // One that cannot be opened hides nobody else's.
            let _ = gather(&path, depth - 1, found);
        } else if kind.is_file() && path.extension() == Some(OsStr::new("jsonl")) {
            found.insert(path);
        }
    }
    Ok(())
}

fn below(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    // A program that was never used has no folder.
    let _ = gather(folder, DEPTH, &mut found);
    found
}

/// The folder of a project is named after its path, with every sign but letters and digits as a dash.
fn of_claude(home: &Path, top: &Path) -> Vec<PathBuf> {
    let name: String = top.to_string_lossy().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let Ok(folders) = std::fs::read_dir(home.join("projects")) else { return Vec::new() };
    let fitting = folders.flatten().filter(|folder| folder.file_name().to_string_lossy().starts_with(&name));
    let files = fitting.flat_map(|folder| below(&folder.path()));
    let mut files: Vec<_> = files.filter(|file| was_in(file, top)).collect();
    files.sort();
    files
}

fn of_codex(home: &Path, top: &Path) -> Vec<PathBuf> {
    let files = ["sessions", "archived_sessions"].iter().flat_map(|folder| below(&home.join(folder)));
    files.filter(|file| was_in(file, top)).collect()
}

/// Projects are registered by their path.
fn of_matrix(home: &Path, top: &Path) -> Vec<PathBuf> {
    let registry = std::fs::read(home.join("projects.json")).unwrap_or_default();
    let registry: Value = serde_json::from_slice(&registry).unwrap_or_default();
    let projects = registry.get("projects").unwrap_or(&registry);
    let mine = value::list(projects)
        .iter()
        .filter(|project| value::words(project, "path").is_some_and(|path| same_place(Path::new(path), top)));
    let ids = mine.filter_map(|project| value::words(project, "id"));
    // An id becomes part of a path, and nothing read from a file may lead elsewhere.
    let ids = ids.filter(|id| id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_'));
    ids.flat_map(|id| below(&home.join("projects").join(id).join("plugin").join("matrix").join("tasks"))).collect()
}

fn same_place(one: &Path, other: &Path) -> bool {
    one == other || std::fs::canonicalize(one).is_ok_and(|one| one == other)
}

/// Tells whether the agent of a session was at work in a folder or below it.
fn was_in(file: &Path, top: &Path) -> bool {
    let Ok(read) = lines::first(file, PEEK) else { return false };
    let cwd = read.values.iter().find_map(|line| {
        let wrapped = || line.get("payload").and_then(|payload| value::words(payload, "cwd"));
        value::words(line, "cwd").or_else(wrapped).or_else(|| codex::told_folder(line))
    });
    cwd.is_some_and(|cwd| {
        let cwd = Path::new(cwd);
        cwd.starts_with(top) || std::fs::canonicalize(cwd).is_ok_and(|cwd| cwd.starts_with(top))
    })
}

/// Returns whose lines these are.
pub fn origin_of(lines: &[Value]) -> Option<Origin> {
    let is_claude = |line: &Value| {
        value::text(line, "type").is_some() && (line.get("sessionId").is_some() || line.get("leafUuid").is_some())
    };
    let is_codex = |line: &Value| {
        (line.get("payload").is_some() && value::text(line, "type").is_some())
            || line.get("record_type").is_some()
            || (line.get("instructions").is_some() && line.get("id").is_some())
    };
    let is_matrix = |line: &Value| {
        value::text(line, "type").is_some() && (line.get("eid").is_some() || line.get("taskId").is_some())
    };
    lines.iter().take(PEEK).find_map(|line| {
        let kinds =
            [(Origin::Claude, is_claude(line)), (Origin::Codex, is_codex(line)), (Origin::Matrix, is_matrix(line))];
        kinds.into_iter().find(|(_, fits)| *fits).map(|(origin, _)| origin)
    })
}
