//! `mxd init`: registers a repository, and writes its memory file and an example of the setup hook.

use std::fs;
use std::path::{Path, PathBuf};

use crate::base::Fault;
use crate::cli::console::{Console, Outcome};
use crate::cli::locate::{ProjectLocator, home, registry};
use crate::cli::onboarding;
use crate::cli::open_engine::runtime;
use crate::config::paths::{Home, RepoFiles};
use crate::config::setup_hook;
use crate::engine::{self, projects};
use crate::git::discover::RepoLocation;
use crate::git::{commit, repo_file};
use crate::model::Project;
use crate::store::registry::Registry;
use crate::store::{EngineLock, StoreError};

#[derive(clap::Args)]
pub struct Args {
    /// The repository (default: the current one).
    path: Option<PathBuf>,
    /// Commit the written files, and nothing else.
    #[arg(long)]
    commit: bool,
    /// Base branch (default: as registered, or the current branch).
    #[arg(long, value_name = "BRANCH")]
    base: Option<String>,
}

pub fn run(console: &mut Console, here: &ProjectLocator, args: &Args) -> Outcome {
    let home = home()?;
    let place = match &args.path {
        Some(path) => RepoLocation::of(path)?,
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
    // Write first: a read-only repository must not be registered.
    let written = write_files(&place.top)?;
    let registry = registry(&home);
    // A change backs up a registry that cannot be read.
    registry.change(|_| ())?;
    let base = || Ok(args.base.as_ref().unwrap_or(&branch).clone());
    let (project, is_new) = projects::find_or_register(&home, &place, base)?;
    let project = if is_new { project } else { set_base_branch(&home, &registry, &project, args.base.as_deref())? };

    let verb = if is_new { "is registered" } else { "is registered already" };
    console.line(&format!("{} {verb} as {} (base branch {})", place.top.display(), project.id, project.base_branch))?;
    if project.base_branch != branch {
        console.note(&format!("you are on {branch}; the base branch is {}", project.base_branch));
    }
    for path in &written {
        console.line(&format!("wrote {}", path.display()))?;
    }
    if args.commit && !written.is_empty() {
        let id = commit::commit_files(&place.top, &written, "Set up Matrix")?;
        console.line(&format!("committed as {id}"))?;
    } else if !written.is_empty() {
        console.line("review the example hook, rename it to setup_worktree.sh to use it, and commit the files:")?;
        console.line("subtasks run in worktrees of the last commit and see only committed files")?;
    }
    if is_new {
        let settings = ProjectLocator::new(Some(place.top.clone())).settings(&home)?.settings;
        let findings = runtime()?.block_on(onboarding::Findings::gather(&settings, &home));
        onboarding::print_findings(console, &findings)?;
    }
    console.finish()?;
    Ok(0)
}

/// Changes the base branch of a registered project, if one is given. Fails while another process works on the project.
fn set_base_branch(home: &Home, registry: &Registry, project: &Project, base: Option<&str>) -> Result<Project, Fault> {
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

/// Writes the files that do not exist yet. Returns their paths relative to the repository.
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
