//! Walks a tree of files as `rg` does: respects ignore files, includes hidden files on request, in parallel,
//! cancellable.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ignore::overrides::{Override, OverrideBuilder};
use ignore::types::TypesBuilder;
use ignore::{WalkBuilder, WalkParallel};

use crate::tools::fence::{PathPolicy, Readable};
use crate::tools::path_display::spelled;

/// Which files to visit.
#[derive(Clone, Debug, Default)]
pub(super) struct WalkFilter {
    pub(super) globs: Vec<String>,
    pub(super) types: Vec<String>,
    pub(super) hidden: bool,
    pub(super) ignored: bool,
}

/// The start of a walk and how its paths are displayed.
#[derive(Clone, Debug)]
pub(super) struct Start {
    pub(super) path: PathBuf,
    /// The prefix that is stripped from paths: they are shown relative to the current folder where possible.
    pub(super) strip: PathBuf,
    pub(super) is_outside: bool,
}

impl Start {
    /// Finds the starting point, or returns why there is none.
    pub(super) fn find(path: Option<&str>, cwd: &Path, fence: &PathPolicy) -> Result<Self, String> {
        let Readable { path, is_outside } =
            fence.for_reading(path.unwrap_or("."), cwd).map_err(|error| format!("{error}."))?;
        match std::fs::metadata(&path) {
            Ok(kind) if kind.is_file() || kind.is_dir() => Ok(Self { path, strip: cwd.to_owned(), is_outside }),
            Ok(_) => Err(format!(
                "{} is neither a file nor a folder but a device, a pipe or a socket.",
                spelled(fence.shown(&path))
            )),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(format!("{} does not exist.", spelled(fence.shown(&path))))
            }
            Err(error) => Err(format!("{} cannot be opened: {error}.", spelled(&path))),
        }
    }

    /// Returns the display form of the starting point, "the current folder" if it is that.
    pub(super) fn shown_itself(&self) -> &Path {
        if self.path == self.strip { Path::new("the current folder") } else { self.shown(&self.path) }
    }

    pub(super) fn shown<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.strip).ok().filter(|below| !below.as_os_str().is_empty()).unwrap_or(path)
    }
}

/// The ignore files that the walk reads in each folder.
const PATTERNS: [&str; 3] = [".gitignore", ".ignore", ".git/info/exclude"];
/// The largest ignore file.
const LARGEST_PATTERNS: u64 = 1 << 20;

/// Folders that were skipped because of their ignore file, as one sentence each.
pub(super) type SkippedFolders = Mutex<Vec<String>>;

/// Returns why a folder is skipped, if one of its ignore files is a device, a pipe or far too large: the walk would
/// read it without end.
fn endless_patterns(folder: &Path) -> Option<String> {
    let endless = |name: &&&str| {
        std::fs::metadata(folder.join(name)).is_ok_and(|found| !found.is_file() || found.len() > LARGEST_PATTERNS)
    };
    let name = PATTERNS.iter().find(endless)?;
    let path = folder.join(name);
    Some(format!(
        "{} is not a regular file of at most 1 MiB, so its folder is not searched; set ignored",
        spelled(&path)
    ))
}

/// Returns the walk, or a sentence about the invalid part of the scope. Skipped folders are added to `refused` while
/// it runs.
pub(super) fn walk(
    start: &Start,
    scope: &WalkFilter,
    fence: Arc<PathPolicy>,
    refused: &Arc<SkippedFolders>,
) -> Result<WalkParallel, String> {
    if let Some(problem) = start.path.ancestors().find_map(endless_patterns).filter(|_| !scope.ignored) {
        return Err(format!("{problem}."));
    }
    let (refused, ignored) = (Arc::clone(refused), scope.ignored);
    let mut builder = WalkBuilder::new(&start.path);
    builder
        .hidden(!scope.hidden)
        .ignore(!scope.ignored)
        .git_ignore(!scope.ignored)
        .git_exclude(!scope.ignored)
        .git_global(!scope.ignored)
        .parents(!scope.ignored)
        .follow_links(false)
        .overrides(overrides(&start.path, &scope.globs)?)
        .filter_entry(move |entry| {
            // git data is never searched, and hidden paths stay hidden.
            if entry.depth() > 0 && (entry.file_name() == ".git" || fence.is_hidden(entry.path())) {
                return false;
            }
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            let problem = if is_folder && !ignored { endless_patterns(entry.path()) } else { None };
            match problem {
                Some(problem) => {
                    refused.lock().unwrap_or_else(PoisonError::into_inner).push(problem);
                    false
                }
                None => true,
            }
        });
    if !scope.types.is_empty() {
        let mut types = TypesBuilder::new();
        types.add_defaults();
        for name in &scope.types {
            types.select(name);
        }
        let types = types.build().map_err(|error| {
            format!("{error}. Types are the names that rg --type takes, such as rust, js, ts, py, md; or use a glob.")
        })?;
        builder.types(types);
    }
    Ok(builder.build_parallel())
}

/// Globs as in gitignore: without a slash they match names at any depth, with `!` in front they exclude.
fn overrides(root: &Path, globs: &[String]) -> Result<Override, String> {
    // Globs are relative to the searched folder.
    let root = if root.is_dir() { root } else { root.parent().unwrap_or(root) };
    let mut builder = OverrideBuilder::new(root);
    for glob in globs {
        builder
            .add(glob.strip_prefix("./").unwrap_or(glob))
            .map_err(|error| format!("The glob is not valid: {error}."))?;
    }
    builder.build().map_err(|error| format!("The globs are not valid: {error}."))
}
