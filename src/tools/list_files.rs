//! `list_files`: the files of a tree, by name.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ignore::WalkState;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::sanitize;
use crate::base::text::count;
use crate::tools::context::CancelTokens;
use crate::tools::fence::PathPolicy;
use crate::tools::names;
use crate::tools::path_display::spelled;
use crate::tools::reply::Reply;
use crate::tools::tool::{Call, Handler, ToolEffect};
use crate::tools::walk::{SkippedFolders, Start, WalkFilter, walk};

const DEFAULT_LIMIT: usize = 500;
const LARGEST_LIMIT: usize = 5000;
/// The walk ends after this many paths, to bound memory.
const WALKED: usize = 200_000;

pub(super) struct ListFiles;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    #[default]
    Files,
    Folders,
    All,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// The folder to start in. Default: the current folder.
    #[serde(default)]
    path: Option<String>,
    /// Globs that names must match, such as `*.rs` or `src/**/test_*.py`; `!` in front excludes.
    #[serde(default)]
    globs: Vec<String>,
    /// What to list. Default files.
    #[serde(default)]
    kind: Kind,
    /// How many levels down. 1 is the folder's own entries. Default: all.
    #[serde(default)]
    #[schemars(range(min = 1))]
    depth: Option<usize>,
    /// Include hidden files (names that begin with a dot).
    #[serde(default)]
    hidden: bool,
    /// Include what .gitignore excludes.
    #[serde(default)]
    ignored: bool,
    /// The most paths to return. Default 500, up to 5000.
    #[serde(default)]
    #[schemars(range(min = 1))]
    limit: Option<usize>,
}

impl Handler for ListFiles {
    const NAME: &'static str = names::LIST_FILES;
    const DESCRIPTION: &'static str = "Lists files below a folder, sorted, relative to the current folder. Respects \
        .gitignore and leaves out hidden files unless told otherwise; never lists .git and does not follow links. \
        Filter with globs: without a slash they match names at any depth. At most 500 paths unless limit says more; \
        what is left out is said.";
    const EFFECT: ToolEffect = ToolEffect::Reads;
    const EXAMPLE: &'static str = r#"{"path": "src", "globs": ["*.rs"]}"#;

    type Input = Input;

    async fn run(self: Arc<Self>, input: Input, call: Call) -> Reply {
        let context = &call.context;
        let start = match Start::find(input.path.as_deref(), &context.cwd.get(), &context.path_policy) {
            Ok(start) => start,
            Err(problem) => return Reply::error(format!("Could not list: {problem}")),
        };
        if start.path.is_file() {
            let shown = spelled(context.path_policy.shown(&start.path));
            return Reply::error(format!("Could not list: {shown} is a file; read_file shows it."));
        }
        let (fence, tokens) = (Arc::clone(&context.path_policy), context.tokens.clone());
        let walked = tokio::task::spawn_blocking(move || collect(&start, &input, fence, &tokens));
        match walked.await {
            Ok(Ok(text)) => Reply::text(text),
            Ok(Err(problem)) => Reply::error(format!("Could not list: {problem}")),
            Err(_) => Reply::error("Could not list: the walk failed."),
        }
    }
}

fn collect(start: &Start, input: &Input, fence: Arc<PathPolicy>, tokens: &CancelTokens) -> Result<String, String> {
    let scope =
        WalkFilter { globs: input.globs.clone(), types: Vec::new(), hidden: input.hidden, ignored: input.ignored };
    let paths: Mutex<Vec<(PathBuf, bool)>> = Mutex::default();
    let (seen, unreadable) = (AtomicUsize::new(0), Mutex::new((0, String::new())));
    let stopped = AtomicBool::new(false);
    let refused = Arc::<SkippedFolders>::default();
    walk(start, &scope, fence, &refused)?.run(|| {
        Box::new(|entry| {
            if tokens.is_cancelled() || seen.load(Ordering::Relaxed) >= WALKED {
                stopped.store(true, Ordering::Relaxed);
                return WalkState::Quit;
            }
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    let mut unreadable = unreadable.lock().unwrap_or_else(PoisonError::into_inner);
                    unreadable.0 += 1;
                    if unreadable.1.is_empty() {
                        unreadable.1 = sanitize::line(&error.to_string()).into_owned();
                    }
                    return WalkState::Continue;
                }
            };
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            let wanted = match input.kind {
                Kind::Files => !is_folder,
                Kind::Folders => is_folder,
                Kind::All => true,
            };
            if wanted && entry.depth() > 0 {
                seen.fetch_add(1, Ordering::Relaxed);
                let path = start.shown(entry.path()).to_owned();
                paths.lock().unwrap_or_else(PoisonError::into_inner).push((path, is_folder));
            }
            // A folder at the last level is listed and not entered.
            if is_folder && input.depth.is_some_and(|depth| entry.depth() >= depth) {
                return WalkState::Skip;
            }
            WalkState::Continue
        })
    });
    if tokens.is_cancelled() {
        return Err("interrupted.".to_owned());
    }
    let mut paths = paths.into_inner().unwrap_or_else(PoisonError::into_inner);
    let (mut unreadable, mut first) = unreadable.into_inner().unwrap_or_else(PoisonError::into_inner);
    for problem in refused.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        unreadable += 1;
        if first.is_empty() {
            first.clone_from(problem);
        }
    }
    // An unreadable folder is not an empty one.
    if paths.is_empty() && unreadable > 0 {
        return Err(format!("{first}."));
    }
    paths.sort_unstable();
    let limit = input.limit.unwrap_or(DEFAULT_LIMIT).min(LARGEST_LIMIT);
    let mut lines: Vec<String> = Vec::with_capacity(limit.min(paths.len()) + 3);
    if start.is_outside {
        lines.push(format!("[{} is outside the worktree]", spelled(&start.path)));
    }
    for (path, is_folder) in paths.iter().take(limit) {
        lines.push(format!("{}{}", spelled(path), if *is_folder { "/" } else { "" }));
    }
    if paths.is_empty() {
        let what = match input.kind {
            Kind::Files => "files",
            Kind::Folders => "folders",
            Kind::All => "files or folders",
        };
        let filter = if input.globs.is_empty() { "" } else { " that match" };
        lines.push(format!("No {what}{filter} in {}.", spelled(start.shown_itself())));
    }
    if paths.len() > limit || stopped.into_inner() {
        let more = if paths.len() >= WALKED { "more than " } else { "" };
        lines.push(format!(
            "[{limit} of {more}{} shown; narrow it with path, globs or depth, or raise limit]",
            paths.len()
        ));
    }
    if unreadable > 0 {
        lines.push(format!("[{} could not be read; the first: {first}]", count(unreadable, "entry", "entries")));
    }
    Ok(lines.join("\n"))
}
