//! Where files live: the data folder with its projects, and what belongs to a repository.
//!
//! Names only. Nothing here looks at a disk, apart from [`Home::from_env`], which asks the process for its
//! environment and its working folder.

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use crate::base::{Fault, ProjectId, TaskId};
use crate::model::BlobId;
use crate::model::task::TaskNode;

/// The variable that moves the data folder.
pub const HOME_VARIABLE: &str = "MXD_HOME";

/// The data folder: the person's settings, the registry of projects, and one folder per project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
}

/// Why there is no data folder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoHome {
    #[error("there is no folder to keep data in: this account has no home folder, or HOME is no absolute path")]
    Unknown,
    #[error("{HOME_VARIABLE} is the relative path \"{}\", and the working folder is gone", .0.display())]
    Relative(PathBuf),
}

impl From<NoHome> for Fault {
    fn from(error: NoHome) -> Self {
        Self::config(error.to_string()).hint(format!("set {HOME_VARIABLE} to the absolute path of a folder"))
    }
}

impl Home {
    /// Returns the data folder: `chosen` if it says something, made absolute against `cwd`, else `usual`.
    pub fn locate(chosen: Option<&OsStr>, cwd: Option<&Path>, usual: Option<&Path>) -> Result<Self, NoHome> {
        let chosen = chosen.filter(|value| !value.is_empty()).map(Path::new);
        let root = match (chosen, cwd, usual) {
            (Some(chosen), ..) if chosen.is_absolute() => chosen.to_owned(),
            (Some(chosen), Some(cwd), _) => cwd.join(chosen.strip_prefix(".").unwrap_or(chosen)),
            (Some(chosen), None, _) => return Err(NoHome::Relative(chosen.to_owned())),
            (None, _, Some(usual)) if usual.is_absolute() => usual.to_owned(),
            // A home folder that is no place of its own would be another one in every folder.
            (None, ..) => return Err(NoHome::Unknown),
        };
        Ok(Self { root })
    }

    /// Returns the data folder of this process.
    pub fn from_env() -> Result<Self, NoHome> {
        let usual = directories::ProjectDirs::from("", "", "mxd").map(|dirs| dirs.data_dir().to_owned());
        let cwd = std::env::current_dir().ok();
        Self::locate(std::env::var_os(HOME_VARIABLE).as_deref(), cwd.as_deref(), usual.as_deref())
    }

    /// Returns the data folders that processes of agents must not change, this one and the usual one, as a list of paths.
    pub fn guarded(&self) -> OsString {
        let usual = directories::ProjectDirs::from("", "", "mxd").map(|dirs| dirs.data_dir().to_owned());
        let folders = [Some(self.root.clone()), usual.filter(|usual| *usual != self.root)];
        // A path with a colon in it has no place in a list.
        std::env::join_paths(folders.into_iter().flatten()).unwrap_or_else(|_| self.root.as_os_str().to_owned())
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The person's settings, for all projects.
    pub fn config(&self) -> PathBuf {
        self.root.join("config.json")
    }

    /// There if the user was told what it means to run agents as root.
    pub fn warned_of_root(&self) -> PathBuf {
        self.root.join("warned-of-root")
    }

    /// The folder of the person's profiles.
    pub fn agents(&self) -> PathBuf {
        self.root.join("agents")
    }

    /// The registry of projects.
    pub fn projects(&self) -> PathBuf {
        self.root.join("projects.json")
    }

    /// The folder with a folder for each project.
    pub fn project_folders(&self) -> PathBuf {
        self.root.join("projects")
    }

    pub fn project(&self, id: ProjectId) -> ProjectFolder {
        ProjectFolder { root: self.project_folders().join(id.to_string()) }
    }

    /// Returns the data folder at `root`.
    pub fn at(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }
}

/// Returns the file in a repository's git folder that names the projects that work on it. Never tracked, and goes where it goes.
pub fn repository_mark(common: &Path) -> PathBuf {
    common.join("mxd").join("owners.json")
}

/// What the data folder keeps of one project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectFolder {
    root: PathBuf,
}

impl ProjectFolder {
    /// Returns the project folder at `root`.
    pub fn at(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The person's settings for this project.
    pub fn config(&self) -> PathBuf {
        self.root.join("config.json")
    }

    /// What the registry says of this project, kept here as well so that the registry can be rebuilt.
    pub fn entry(&self) -> PathBuf {
        self.root.join("project.json")
    }

    pub fn tree(&self) -> PathBuf {
        self.root.join("tree.json")
    }

    /// Returns where a worktree is that was stored as `stored`, perhaps before the data folder was moved. A path outside of
    /// this project's worktrees stays as it is.
    pub fn worktree(&self, stored: &Path) -> PathBuf {
        let ours = self.worktrees();
        let mut tail = stored.components().rev();
        let name = tail.next();
        let expected = ours.components().rev().take(3);
        match name {
            // `projects/<id>/worktrees/<name>`: the id is unique, so wherever that was, it is this project's.
            Some(Component::Normal(name)) if tail.take(3).eq(expected) => ours.join(name),
            _ => stored.to_owned(),
        }
    }

    /// Puts the worktree of a stored task where it is now.
    pub fn locate(&self, node: &mut TaskNode) {
        if let Some(stored) = &node.worktree {
            node.worktree = Some(self.worktree(stored));
        }
    }

    /// What the sessions add up to, so that a start need not read them. Can be deleted at any time.
    pub fn digests(&self) -> PathBuf {
        self.root.join("digests.json")
    }

    /// The words of everything that was said, so that it can be searched. Can be deleted at any time.
    pub fn search(&self) -> PathBuf {
        self.root.join("search.sqlite")
    }

    /// Held by everybody who uses the index of words. Never removed.
    pub fn search_lock(&self) -> PathBuf {
        self.root.join("search.lock")
    }

    /// The lists of tools that the user accepted from each tool server.
    pub fn tool_lists(&self) -> PathBuf {
        self.root.join("mcp-tools.json")
    }

    /// There if the person was told that a hook can make worktrees ready.
    pub fn hinted_at_hook(&self) -> PathBuf {
        self.root.join("hinted-at-setup-hook")
    }

    /// What was being written and is not sent yet.
    pub fn drafts(&self) -> PathBuf {
        self.root.join("drafts.json")
    }

    /// What was seen and said in reviews.
    pub fn reviews(&self) -> PathBuf {
        self.root.join("reviews.json")
    }

    /// The file whose lock decides who may write. Never removed.
    pub fn lock(&self) -> PathBuf {
        self.root.join("engine.lock")
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

/// What a repository carries under git for Matrix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepoFiles {
    root: PathBuf,
}

impl RepoFiles {
    /// Returns the files of the repository, or of the worktree, whose top folder is `top`.
    pub fn new(top: &Path) -> Self {
        Self { root: top.join(".mxd") }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The settings that a repository proposes.
    pub fn config(&self) -> PathBuf {
        self.root.join("config.json")
    }

    /// What the project has learnt.
    pub fn memory(&self) -> PathBuf {
        self.root.join("memory.md")
    }

    /// The script that makes a new worktree ready to work in.
    pub fn setup_hook(&self) -> PathBuf {
        self.root.join("hooks").join("setup_worktree.sh")
    }

    pub fn setup_hook_example(&self) -> PathBuf {
        self.root.join("hooks").join("setup_worktree.sh.example")
    }

    /// The folder of profiles.
    pub fn agents(&self) -> PathBuf {
        self.root.join("agents")
    }

    /// The folder of recurring tasks.
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
