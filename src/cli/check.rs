//! `mxd check`: reads every file of a project and says what is wrong with it. A list of projects that cannot be read is a
//! finding like others: what there is of each project is looked at all the same.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use crate::base::{Clock, Fault, ProjectId, SystemClock, text};
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::exit;
use crate::cli::inside::Reach;
use crate::cli::place::{Here, home, registry, the_disk};
use crate::config::paths::{Home, ProjectFolder};
use crate::config::{Layer, LayerFile, Severity as ConfigSeverity, holds_secret};
use crate::engine::projects::{self, Lost};
use crate::engine::settings_files;
use crate::model::Project;
use crate::store::StoreError;
use crate::store::check::{Outcome as Mended, Places, Repair, Report, Severity, check};
use crate::store::lock::{EngineLock, LockError};

#[derive(clap::Args)]
pub struct Args {
    /// Mend what can be mended without loss.
    #[arg(long)]
    repair: bool,
    /// Every registered project, not only this one.
    #[arg(long)]
    all: bool,
}

impl Args {
    /// Returns what the command does to tasks and files.
    pub fn reach(&self) -> Reach {
        Reach::changes(self.repair)
    }
}

pub fn run(console: &mut Console, here: &Here, args: &Args) -> Outcome {
    let home = home()?;
    let mut problems = check_registry(console, here, &home, args.repair)?;
    let listed = registry(&home).list();
    let files = match &listed {
        Ok(_) => here.settings_files(&home)?.paths(),
        Err(_) => here.shared_settings_files(&home)?.paths(),
    };
    problems |= check_settings(console, files, args.repair)?;
    let folders = match listed {
        Ok(listed) => registered(console, here, &home, listed, args.all)?,
        Err(_) => unlisted(&home)?,
    };
    for folder in &folders {
        problems |= match check_project(console, folder, args.repair) {
            // One project that cannot be checked says nothing about the others.
            Err(Failure::Fault(fault)) if folders.len() > 1 => {
                console.line(&format!("error: {}: not checked: {}", folder.name, fault.message))?;
                true
            }
            checked => checked?,
        };
    }
    console.finish()?;
    Ok(if problems { exit::PROBLEMS } else { 0 })
}

/// A project that is looked at.
struct Checked {
    name: String,
    /// Where its repository is, if that is known.
    repository: Option<PathBuf>,
    folder: ProjectFolder,
}

/// Returns the project of this place, or every one.
fn registered(
    console: &mut Console,
    here: &Here,
    home: &Home,
    listed: Vec<Project>,
    all: bool,
) -> Result<Vec<Checked>, Failure> {
    let located = if all { None } else { here.peek(home)? };
    if let (None, false, false, Ok(place)) = (&located, all, listed.is_empty(), here.repository()) {
        console.line(&format!(
            "note: {} is not registered yet (`mxd init` does that); these are the projects that are",
            place.top.display()
        ))?;
    }
    let projects = located.map_or(listed, |located| vec![located.project]);
    if projects.is_empty() {
        console.line("no repository is registered yet; there is nothing else to check")?;
    }
    let checked = |project: Project| Checked {
        folder: home.project(project.id),
        name: project.name,
        repository: Some(project.path),
    };
    Ok(projects.into_iter().map(checked).collect())
}

/// Returns the projects that have a folder, where the registry cannot say which there are.
fn unlisted(home: &Home) -> Result<Vec<Checked>, Failure> {
    let checked = |(id, folder): (ProjectId, ProjectFolder)| Checked { name: id.to_string(), repository: None, folder };
    Ok(registry(home).folders()?.into_iter().map(checked).collect())
}

/// Checks whether the registry can be read and names every project that has data. Tells whether something is wrong with it.
fn check_registry(console: &mut Console, here: &Here, home: &Home, repair: bool) -> Result<bool, Failure> {
    let path = home.projects();
    let damage = match registry(home).list() {
        Ok(_) => None,
        Err(error @ StoreError::Corrupt { .. }) => Some(error),
        Err(error) => {
            let fault = Fault::from(error);
            console.line(&format!("error: {}", fault.message))?;
            fault.hints.iter().try_for_each(|hint| console.line(&format!("  hint: {hint}")))?;
            return Ok(true);
        }
    };
    let place = here.folder().ok().and_then(|folder| here.place(&folder).ok());
    let lost = projects::lost(home, place.as_ref())?;
    let outcome = if repair { "mended" } else { "can be mended" };
    if let Some(error) = &damage {
        console.line(&format!("error: {error} [{outcome}]"))?;
    }
    for Lost { id, folder, entry, is_derived } in &lost {
        let at = folder.root().display();
        let line = match entry {
            Some(project) => {
                let derived = if *is_derived { ", the branch that is checked out now" } else { "" };
                format!(
                    "error: {}: project {id} is missing; its data is in {at}, its repository is {} (base branch \
                     {}{derived}) [{outcome}]",
                    path.display(),
                    project.path.display(),
                    project.base_branch
                )
            }
            None => format!(
                "error: {}: project {id} is missing; its data is in {at}, and where its repository is cannot be found out: \
                 repair it from inside that repository",
                path.display()
            ),
        };
        console.line(&line)?;
    }
    let is_wrong = damage.is_some() || !lost.is_empty();
    if repair && is_wrong {
        if let Some(copy) = projects::restore(home, &lost)? {
            console.line(&format!("note: {}: what the list of projects was before it was rebuilt", copy.display()))?;
        }
        return Ok(lost.iter().any(|lost| lost.entry.is_none()));
    }
    if is_wrong {
        console.line("`mxd check --repair` mends what is marked")?;
    }
    Ok(is_wrong)
}

/// Checks the settings files. Tells whether something is wrong with them.
fn check_settings(console: &mut Console, files: Vec<(Layer, PathBuf)>, repair: bool) -> Result<bool, Failure> {
    let mut wrong = false;
    for (layer, path) in files {
        let bytes = match settings_files::read(layer, &path) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => continue,
            Err(fault) => {
                wrong = true;
                console.line(&format!("error: {}", fault.message))?;
                continue;
            }
        };
        for problem in LayerFile::read(layer, &path, &bytes).problems() {
            wrong |= problem.severity() == ConfigSeverity::Error;
            console.line(&format!(
                "{}: {problem}",
                if problem.severity() == ConfigSeverity::Error { "error" } else { "warning" }
            ))?;
        }
        let mode = fs::metadata(&path).map_err(StoreError::io("look at", &path))?.permissions().mode();
        if layer != Layer::Repo && mode & 0o077 != 0 && holds_secret(&String::from_utf8_lossy(&bytes)) {
            let outcome = if repair { "mended" } else { "can be mended" };
            console.line(&format!(
                "warning: {}: it holds a secret, and others on this machine may open it [{outcome}]",
                path.display()
            ))?;
            if repair {
                let private = fs::Permissions::from_mode(0o600);
                fs::set_permissions(&path, private).map_err(StoreError::io("set the mode of", &path))?;
            }
            wrong |= !repair;
        }
    }
    Ok(wrong)
}

fn check_project(console: &mut Console, checked: &Checked, repair: bool) -> Result<bool, Failure> {
    let Checked { name, repository, folder } = checked;
    let now = SystemClock.now();
    // Mending writes, and only one process may.
    let _lock = if repair { Some(EngineLock::acquire(&folder.lock(), now)?) } else { None };
    let repair = if repair {
        Repair::Yes { now }
    } else if let Some(holder) = EngineLock::holder(&folder.lock())? {
        let busy = LockError::Held(holder);
        console.line(&format!("note: {name}: {busy}; what it has not finished is no damage"))?;
        Repair::Busy
    } else {
        Repair::No
    };
    let places = Places { tree: folder.tree(), sessions: folder.sessions(), blobs: folder.blobs() };
    let report = check(&the_disk(), &places, repair)?;
    tell(console, &report)?;
    if let Some(path) = repository.as_ref().filter(|path| !path.is_dir()) {
        console.line(&format!("warning: {}: the repository's folder is gone", path.display()))?;
    }
    let summary = format!(
        "{name}: {}, {}, {}",
        text::count(report.sessions, "session", "sessions"),
        text::count(report.events, "event", "events"),
        text::count(report.blobs, "blob", "blobs")
    );
    let verdict = if report.has_problems() { "not in order" } else { "in order" };
    console.line(&format!("{summary}: {verdict}"))?;
    let mendable = report.findings.iter().any(|finding| finding.outcome == Mended::Mendable);
    if mendable {
        console.line("`mxd check --repair` mends what is marked")?;
    }
    Ok(report.has_problems())
}

fn tell(console: &mut Console, report: &Report) -> Result<(), Failure> {
    for finding in &report.findings {
        let severity = match finding.severity {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        let outcome = match finding.outcome {
            Mended::Noted | Mended::Remains => "",
            Mended::Mendable => " [can be mended]",
            Mended::Mended => " [mended]",
        };
        console.line(&format!("{severity}: {}: {}{outcome}", finding.path.display(), finding.sentence))?;
    }
    Ok(())
}
