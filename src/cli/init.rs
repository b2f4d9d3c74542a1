//! `mxd init`: registers a repository and gives it what agents need to start well.

use std::fs;
use std::path::{Path, PathBuf};

use crate::base::Fault;
use crate::cli::console::{Console, Outcome};
use crate::cli::first;
use crate::cli::place::{Here, home, registry};
use crate::cli::work::runtime;
use crate::config::paths::{Home, RepoFiles};
use crate::config::setup_hook;
use crate::engine::{self, projects};
use crate::git::place::Place;
use crate::git::{commit, repo_file};
use crate::model::Project;
use crate::store::registry::Registry;
use crate::store::{EngineLock, StoreError};

#[derive(clap::Args)]
pub struct Args {
    /// The repository. Where you are, if not given.
    path: Option<PathBuf>,
    /// Commit the files that were written, and nothing else.
    #[arg(long)]
    commit: bool,
    /// The branch that work starts from and goes to. The one you are on, if not given; later the one it was.
    #[arg(long, value_name = "BRANCH")]
    base: Option<String>,
}

pub fn run(console: &mut Console, here: &Here, args: &Args) -> Outcome {
    let home = home()?;
    let place = match &args.path {
        Some(path) => Place::of(path)?,
        None => here.repository()?,
    };
    let branch = place.branch()?;
    if let Some(linked) = &place.linked {
        console.note(&format!(
            "{} is another checkout of {}; the project is registered there",
            linked.display(),
            place.top.display()
        ));
    }
    if let Some(base) = args.base.as_deref().filter(|base| !place.has_branch(base)) {
        return Err(Fault::user(format!("there is no branch \"{base}\" in {}", place.top.display()))
            .hint("`git branch` lists them")
            .into());
    }
    // Before the registration: a repository that cannot be written to is not registered.
    let written = write_files(&place.top)?;
    let registry = registry(&home);
    // As one who means to change it: a copy is kept of a list that cannot be read.
    registry.change(|_| ())?;
    let base = || Ok(args.base.as_ref().unwrap_or(&branch).clone());
    let (project, is_new) = projects::find_or_register(&home, &place, base)?;
    let project = if is_new { project } else { rebased(&home, &registry, &project, args.base.as_deref())? };

    let verb = if is_new { "is registered" } else { "is registered already" };
    console.line(&format!("{} {verb} as {} (base branch {})", place.top.display(), project.id, project.base_branch))?;
    if project.base_branch != branch {
        console.note(&format!("you are on {branch}; work starts from and goes to {}", project.base_branch));
    }
    for path in &written {
        console.line(&format!("wrote {}", path.display()))?;
    }
    if args.commit && !written.is_empty() {
        let id = commit::only(&place.top, &written, "Set up Matrix")?;
        console.line(&format!("committed as {id}"))?;
    } else if !written.is_empty() {
        console.line("review the example hook, rename it to setup_worktree.sh to use it, and commit what you keep:")?;
        console.line("sub tasks work in worktrees of the last commit and see only what is committed")?;
    }
    if is_new {
        let settings = Here::new(Some(place.top.clone())).settings(&home)?.settings;
        let findings = runtime()?.block_on(first::Findings::gather(&settings, &home));
        first::say(console, &findings)?;
    }
    console.finish()?;
    Ok(0)
}

/// Gives a project that is known another base branch, if one is named. Refused while somebody works with the old one.
fn rebased(home: &Home, registry: &Registry, project: &Project, base: Option<&str>) -> Result<Project, Fault> {
    let Some(base) = base.filter(|base| *base != project.base_branch) else { return Ok(project.clone()) };
    let lock = home.project(project.id).lock();
    if EngineLock::holder(&lock)?.is_some() {
        return Err(engine::refusal(&lock));
    }
    let changed = Project { base_branch: base.to_owned(), ..project.clone() };
    registry.change(|projects| {
        projects.iter_mut().filter(|known| known.id == changed.id).for_each(|known| known.clone_from(&changed));
    })?;
    Ok(changed)
}

/// Writes what is not there yet. Returns what was written, from the repository's top.
fn write_files(top: &Path) -> Result<Vec<PathBuf>, Fault> {
    let files = RepoFiles::new(top);
    let entries = fs::read_dir(top).map_err(StoreError::io("list", top))?;
    let names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    let example = setup_hook::setup_worktree_example(names.iter().map(String::as_str));
    let mut written = Vec::new();
    for (path, text) in [(files.memory(), setup_hook::memory()), (files.setup_hook_example(), example.as_str())] {
        if repo_file::create_new(top, &path, text.as_bytes())? {
            written.push(path.strip_prefix(top).unwrap_or(&path).to_owned());
        }
    }
    Ok(written)
}
