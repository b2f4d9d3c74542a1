//! Paths of all files: the data folder with its projects, and the `.mxd` folder of a repository.
//!
//! Does no I/O. Only [`Home::from_env`] reads the environment and the current folder of the process.

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use crate::base::{Fault, ProjectId, TaskId};
use crate::model::BlobId;
use crate::model::task::TaskNode;

/// Environment variable with the path of the data folder.
pub const HOME_VARIABLE: &str = "MXD_HOME";

/// The data folder: the user's settings, the registry of projects, and one folder per project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
}

/// The reason why the data folder is unknown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HomeError {
    #[error("cannot find the data folder: this account has no home folder, or HOME is not an absolute path")]
    Unknown,
    #[error("{HOME_VARIABLE} is the relative path \"{}\", and the current folder does not exist", .0.display())]
    Relative(PathBuf),
}

impl From<HomeError> for Fault {
    fn from(error: HomeError) -> Self {
        Self::config(error.to_string()).hint(format!("set {HOME_VARIABLE} to the absolute path of a folder"))
    }
}

impl Home {
    /// Returns the data folder: `chosen`, made absolute with `cwd`, or `default` if `chosen` is empty.
    pub fn locate(chosen: Option<&OsStr>, cwd: Option<&Path>, default: Option<&Path>) -> Result<Self, HomeError> {
        let chosen = chosen.filter(|value| !value.is_empty()).map(Path::new);
        let root = match (chosen, cwd, default) {
            (Some(chosen), ..) if chosen.is_absolute() => chosen.to_owned(),
            (Some(chosen), Some(cwd), _) => cwd.join(chosen.strip_prefix(".").unwrap_or(chosen)),
            (Some(chosen), None, _) => return Err(HomeError::Relative(chosen.to_owned())),
            (None, _, Some(default)) if default.is_absolute() => default.to_owned(),
            // A relative home folder would be a different one in every folder.
            (None, ..) => return Err(HomeError::Unknown),
        };
        Ok(Self { root })
    }

    /// Returns the data folder of this process.
    pub fn from_env() -> Result<Self, HomeError> {
        let default = directories::ProjectDirs::from("", "", "mxd").map(|dirs| dirs.data_dir().to_owned());
        let cwd = std::env::current_dir().ok();
        Self::locate(std::env::var_os(HOME_VARIABLE).as_deref(), cwd.as_deref(), default.as_deref())
    }

    /// Returns the data folders that agents' processes must not change, this one and the default one, as a path list.
    pub fn guarded(&self) -> OsString {
        let default = directories::ProjectDirs::from("", "", "mxd").map(|dirs| dirs.data_dir().to_owned());
        let folders = [Some(self.root.clone()), default.filter(|default| *default != self.root)];
        // A path with a colon cannot be part of a path list.
        std::env::join_paths(folders.into_iter().flatten()).unwrap_or_else(|_| self.root.as_os_str().to_owned())
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The user's settings for all projects.
    pub fn config(&self) -> PathBuf {
        self.root.join("config.json")
    }

    /// Marker: the user was warned about running agents as root.
    pub fn warned_of_root(&self) -> PathBuf {
        self.root.join("warned-of-root")
    }

    /// The folder with the user's profiles.
    pub fn agents(&self) -> PathBuf {
        self.root.join("agents")
    }

    /// Records of one-shot requests outside of a project.
    pub fn oneshots(&self) -> PathBuf {
        self.root.join("oneshot.jsonl")
    }

    /// The folder with the user's skills.
    pub fn skills(&self) -> PathBuf {
        self.root.join("skills")
    }

    /// Named tokens for the HTTP interface, hashed.
    pub fn tokens(&self) -> PathBuf {
        self.root.join("tokens.json")
    }

    /// The registry of projects.
    pub fn projects(&self) -> PathBuf {
        self.root.join("projects.json")
    }

    /// The folder with one folder per project.
    pub fn project_folders(&self) -> PathBuf {
        self.root.join("projects")
    }

    pub fn project(&self, id: ProjectId) -> ProjectFolder {
        ProjectFolder { root: self.project_folders().join(id.to_string()) }
    }

    pub fn at(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }
}

/// Returns the file in a repository's git folder that names its projects. Not tracked; it moves with the repository.
pub fn owners_file(common: &Path) -> PathBuf {
    common.join("mxd").join("owners.json")
}

/// The folder of one project in the data folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectFolder {
    root: PathBuf,
}

impl ProjectFolder {
    pub fn at(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The user's settings for this project.
    pub fn config(&self) -> PathBuf {
        self.root.join("config.json")
    }

    /// A copy of the project's registry entry, from which the registry can be rebuilt.
    pub fn entry(&self) -> PathBuf {
        self.root.join("project.json")
    }

    pub fn tree(&self) -> PathBuf {
        self.root.join("tree.json")
    }

    /// Returns the current path of a worktree that was stored as `stored`, possibly before the data folder was moved.
    /// Paths outside this project's worktrees stay unchanged.
    pub fn worktree(&self, stored: &Path) -> PathBuf {
        let worktrees = self.worktrees();
        let mut tail = stored.components().rev();
        let name = tail.next();
        let expected = worktrees.components().rev().take(3);
        match name {
            // `projects/<id>/worktrees/<name>`: the id is unique, so any such path is this project's.
            Some(Component::Normal(name)) if tail.take(3).eq(expected) => worktrees.join(name),
            _ => stored.to_owned(),
        }
    }

    /// Updates the worktree path of a stored task.
    pub fn locate(&self, node: &mut TaskNode) {
        if let Some(stored) = &node.worktree {
            node.worktree = Some(self.worktree(stored));
        }
    }

    /// Cache of the state of all sessions, for a fast start. Can be deleted at any time.
    pub fn digests(&self) -> PathBuf {
        self.root.join("digests.json")
    }

    /// The full-text index. Can be deleted at any time.
    pub fn search(&self) -> PathBuf {
        self.root.join("search.sqlite")
    }

    /// Lock file of the full-text index. Never removed.
    pub fn search_lock(&self) -> PathBuf {
        self.root.join("search.lock")
    }

    /// The tool lists that the user accepted from each MCP server.
    pub fn tool_lists(&self) -> PathBuf {
        self.root.join("mcp-tools.json")
    }

    /// Marker: the user was told about the setup hook.
    pub fn hinted_at_hook(&self) -> PathBuf {
        self.root.join("hinted-at-setup-hook")
    }

    /// The selected task and the reading positions of the screen.
    pub fn screen_position(&self) -> PathBuf {
        self.root.join("screen.json")
    }

    /// Locked by the screen that keeps the drafts, review comments and position.
    pub fn screen_lock(&self) -> PathBuf {
        self.root.join("screen.lock")
    }

    /// Unsent drafts of messages.
    pub fn drafts(&self) -> PathBuf {
        self.root.join("drafts.json")
    }

    /// Review marks and comments.
    pub fn reviews(&self) -> PathBuf {
        self.root.join("reviews.json")
    }

    /// Lock file of the engine, the only process that may write. Never removed.
    pub fn lock(&self) -> PathBuf {
        self.root.join("engine.lock")
    }

    /// The socket of the engine, unless this path is too long for one.
    pub fn socket(&self) -> PathBuf {
        self.root.join("engine.sock")
    }

    /// Where the engine of this project can be reached. Written by the process that holds the lock.
    pub fn server_info(&self) -> PathBuf {
        self.root.join("serve.json")
    }

    /// Records of one-shot requests.
    pub fn oneshots(&self) -> PathBuf {
        self.root.join("oneshot.jsonl")
    }

    /// Outcomes of HTTP requests that may be repeated.
    pub fn http_outcomes(&self) -> PathBuf {
        self.root.join("http-outcomes.jsonl")
    }

    pub fn sessions(&self) -> PathBuf {
        self.root.join("sessions")
    }

    pub fn session(&self, task: TaskId) -> PathBuf {
        self.sessions().join(format!("{task}.jsonl"))
    }

    pub fn blobs(&self) -> PathBuf {
        self.root.join("blobs")
    }

    pub fn blob(&self, id: &BlobId) -> PathBuf {
        self.blobs().join(id.as_str())
    }

    pub fn worktrees(&self) -> PathBuf {
        self.root.join("worktrees")
    }

    pub fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }
}

/// The `.mxd` folder of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepoFiles {
    root: PathBuf,
}

impl RepoFiles {
    /// Returns the files of the repository or worktree with the top folder `top`.
    pub fn new(top: &Path) -> Self {
        Self { root: top.join(".mxd") }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The repository's settings.
    pub fn config(&self) -> PathBuf {
        self.root.join("config.json")
    }

    /// Lifecycle hooks that the repository proposes.
    pub fn hooks(&self) -> PathBuf {
        self.root.join("hooks.json")
    }

    /// The project's memory.
    pub fn memory(&self) -> PathBuf {
        self.root.join("memory.md")
    }

    /// The script that prepares a new worktree.
    pub fn setup_hook(&self) -> PathBuf {
        self.root.join("hooks").join("setup_worktree.sh")
    }

    pub fn setup_hook_example(&self) -> PathBuf {
        self.root.join("hooks").join("setup_worktree.sh.example")
    }

    /// The folder with profiles.
    pub fn agents(&self) -> PathBuf {
        self.root.join("agents")
    }

    /// The folder with recurring tasks.
    pub fn tasks(&self) -> PathBuf {
        self.root.join("tasks")
    }

    pub fn task(&self, id: TaskId) -> PathBuf {
        self.tasks().join(format!("{id}.json"))
    }
}

#[cfg(test)]
#[path = "paths_tests.rs"]
mod tests;
