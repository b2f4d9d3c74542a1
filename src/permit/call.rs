//! A tool call as rules see it.

use std::path::{Component, Path, PathBuf};

use crate::permit::pattern;
use crate::permit::shell::Script;

/// A tool call, understood.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    /// The name of the tool: `bash`, `edit_file`, or `mcp__server__tool`.
    pub tool: &'a str,
    pub subject: Subject<'a>,
}

/// What a call is about.
#[derive(Clone, Debug)]
pub enum Subject<'a> {
    Command {
        script: &'a Script,
    },
    /// The path as named, and as it is after following links. Allow rules must match all, deny rules any.
    Reads {
        paths: Vec<PathBuf>,
    },
    Edits {
        paths: Vec<PathBuf>,
    },
    Network {
        host: &'a str,
    },
    /// A tool for tasks, messages and questions, with its own rules about who may do what.
    Coordinates {
        reads_only: bool,
    },
    /// The tool of a server. What it does is not known.
    External,
}

/// A path, split once for all rules.
#[derive(Clone, Debug)]
pub struct PathView {
    pub(super) parts: Vec<String>,
    /// The number of parts of the worktree and of the home folder, if the path is in them.
    pub(super) root: Option<usize>,
    pub(super) home: Option<usize>,
}

/// The folders that paths are judged by.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// The worktree.
    pub root: PathBuf,
    /// The current folder of the agent's shell.
    pub cwd: PathBuf,
    pub home: Option<PathBuf>,
}

impl Places {
    /// Returns the absolute path for a path as written in a call, without `.` and `..`. Does not follow links.
    pub fn resolve(&self, written: &str) -> PathBuf {
        let path = match (written.strip_prefix('~'), &self.home) {
            (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
                home.join(rest.trim_start_matches('/'))
            }
            _ => self.cwd.join(written),
        };
        let mut clean = PathBuf::new();
        for component in path.components() {
            match component {
                Component::ParentDir => {
                    clean.pop();
                }
                Component::CurDir => {}
                other => clean.push(other),
            }
        }
        clean
    }

    /// Returns a path in the form that rules match.
    pub fn view(&self, path: &Path) -> PathView {
        let depth = |folder: &Path| path.starts_with(folder).then(|| pattern::parts(folder).len());
        PathView { parts: pattern::parts(path), root: depth(&self.root), home: self.home.as_deref().and_then(depth) }
    }

    /// Returns true if `path` is the worktree or in it.
    pub fn is_inside(&self, path: &Path) -> bool {
        path.starts_with(&self.root)
    }
}

/// The tools that rules can name without a server.
pub(super) const OWN_TOOLS: [&str; 21] = [
    "background",
    "clarify",
    "close_task",
    "create_task",
    "delete_task",
    "done",
    "fork_task_context",
    "get_task",
    "get_tree",
    "hand_over",
    "list_projects",
    "reorder_tasks",
    "reset_task",
    "review_plan",
    "search_tasks",
    "send_message",
    "send_message_to_project",
    "stop_task",
    "submit_plan",
    "update_task",
    "use_skill",
];
