//! Finds session files of other programs, and detects their format.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::import::codex;
use crate::import::lines;
use crate::import::value;
use crate::import::{ImportError, Origin};

/// Maximum depth of the search in folders.
const MAX_DEPTH: usize = 8;
/// Number of lines that are read to detect the format and the working directory.
const PEEK_LINES: usize = 200;

/// The data folder of each program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Homes {
    pub matrix: Option<PathBuf>,
    pub claude: Option<PathBuf>,
    pub codex: Option<PathBuf>,
}

impl Homes {
    /// Returns the folders that the programs themselves use.
    pub fn locate(home: Option<&Path>, variable: impl Fn(&str) -> Option<PathBuf>) -> Self {
        let folder = |name: &str, default: &str| {
            let chosen = variable(name).filter(|path| !path.as_os_str().is_empty());
            chosen.or_else(|| home.map(|home| home.join(default)))
        };
        Self {
            matrix: folder("MXD_DATA_DIR", ".mxd"),
            claude: folder("CLAUDE_CONFIG_DIR", ".claude"),
            codex: folder("CODEX_HOME", ".codex"),
        }
    }
}

/// Selects the sessions to import.
#[derive(Clone, Copy, Debug)]
pub enum Wanted<'a> {
    /// Sessions whose working directory is this folder or below it.
    In(&'a Path, &'a Homes),
    /// Sessions in these files and folders.
    At(&'a [PathBuf]),
}

/// Returns the files that may hold selected sessions, in a stable order, with their program if known.
pub fn candidates(wanted: Wanted<'_>, only: Option<Origin>) -> Result<Vec<(PathBuf, Option<Origin>)>, ImportError> {
    match wanted {
        Wanted::At(paths) => {
            let mut found = BTreeSet::new();
            for path in paths {
                let unreadable = |source| ImportError::Unreadable { path: path.clone(), source };
                if std::fs::metadata(path).map_err(unreadable)?.is_dir() {
                    collect_files(path, MAX_DEPTH, &mut found).map_err(unreadable)?;
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
                    Origin::Matrix => homes.matrix.as_deref().map(|home| matrix_files(home, top)),
                    Origin::Claude => homes.claude.as_deref().map(|home| claude_files(home, top)),
                    Origin::Codex => homes.codex.as_deref().map(|home| codex_files(home, top)),
                };
                found.extend(files.unwrap_or_default().into_iter().map(|path| (path, Some(origin))));
            }
            Ok(found)
        }
    }
}

/// Collects the `.jsonl` files below a folder. Does not follow links, to avoid cycles.
fn collect_files(folder: &Path, depth: usize, found: &mut BTreeSet<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let (kind, path) = (entry.file_type()?, entry.path());
        if kind.is_dir() && depth > 0 {
            // Skip folders that cannot be read.
            let _ = collect_files(&path, depth - 1, found);
        } else if kind.is_file() && path.extension() == Some(OsStr::new("jsonl")) {
            found.insert(path);
        }
    }
    Ok(())
}

fn files_below(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    // The folder does not exist if the program was never used.
    let _ = collect_files(folder, MAX_DEPTH, &mut found);
    found
}

/// Claude Code names a project's folder after its path, with a dash for every character but letters and digits.
fn claude_files(home: &Path, top: &Path) -> Vec<PathBuf> {
    let name: String = top.to_string_lossy().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let Ok(folders) = std::fs::read_dir(home.join("projects")) else { return Vec::new() };
    let matching = folders.flatten().filter(|folder| folder.file_name().to_string_lossy().starts_with(&name));
    let files = matching.flat_map(|folder| files_below(&folder.path()));
    let mut files: Vec<_> = files.filter(|file| is_in_folder(file, top)).collect();
    files.sort();
    files
}

fn codex_files(home: &Path, top: &Path) -> Vec<PathBuf> {
    let files = ["sessions", "archived_sessions"].iter().flat_map(|folder| files_below(&home.join(folder)));
    files.filter(|file| is_in_folder(file, top)).collect()
}

/// Finds the project by its path in the registry.
fn matrix_files(home: &Path, top: &Path) -> Vec<PathBuf> {
    let registry = std::fs::read(home.join("projects.json")).unwrap_or_default();
    let registry: Value = serde_json::from_slice(&registry).unwrap_or_default();
    let projects = registry.get("projects").unwrap_or(&registry);
    let mine = value::list(projects)
        .iter()
        .filter(|project| value::non_blank(project, "path").is_some_and(|path| is_same_folder(Path::new(path), top)));
    let ids = mine.filter_map(|project| value::non_blank(project, "id"));
    // The id becomes part of a path, so it must not contain separators.
    let ids = ids.filter(|id| id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_'));
    ids.flat_map(|id| files_below(&home.join("projects").join(id).join("plugin").join("matrix").join("tasks")))
        .collect()
}

fn is_same_folder(one: &Path, other: &Path) -> bool {
    one == other || std::fs::canonicalize(one).is_ok_and(|one| one == other)
}

/// Returns true if the working directory of a session is `top` or below it.
fn is_in_folder(file: &Path, top: &Path) -> bool {
    let Ok(read) = lines::read_first(file, PEEK_LINES) else { return false };
    let cwd = read.values.iter().find_map(|line| {
        let wrapped = || line.get("payload").and_then(|payload| value::non_blank(payload, "cwd"));
        value::non_blank(line, "cwd").or_else(wrapped).or_else(|| codex::announced_folder(line))
    });
    cwd.is_some_and(|cwd| {
        let cwd = Path::new(cwd);
        cwd.starts_with(top) || std::fs::canonicalize(cwd).is_ok_and(|cwd| cwd.starts_with(top))
    })
}

/// Detects the program that wrote these lines.
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
    lines.iter().take(PEEK_LINES).find_map(|line| {
        let kinds =
            [(Origin::Claude, is_claude(line)), (Origin::Codex, is_codex(line)), (Origin::Matrix, is_matrix(line))];
        kinds.into_iter().find(|(_, is_match)| *is_match).map(|(origin, _)| origin)
    })
}
