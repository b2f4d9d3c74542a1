//! `mxd check`: reads every data file of a project, reports damage, and repairs what is safe. If the registry cannot be
//! read, that is a finding too, and the project folders are checked all the same.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use crate::base::{Clock, Fault, ProjectId, SystemClock, text};
use crate::cli::agent_guard::Reach;
use crate::cli::agents;
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::exit;
use crate::cli::locate::{ProjectLocator, home, real_disk, registry};
use crate::config::paths::{Home, ProjectFolder};
use crate::config::{Layer, LayerFile, Severity as ConfigSeverity, holds_secret};
use crate::engine::profiles::Profiles;
use crate::engine::projects::{self, LostProject};
use crate::engine::settings_files;
use crate::model::Project;
use crate::store::StoreError;
use crate::store::check::{CheckSeverity, Outcome as RepairOutcome, ProjectFiles, Repair, Report, check};
use crate::store::lock::{EngineLock, LockError};

#[derive(clap::Args)]
pub struct Args {
    /// Repair what can be repaired without loss.
    #[arg(long)]
    repair: bool,
    /// Check every registered project.
    #[arg(long)]
    all: bool,
}

impl Args {
    pub fn reach(&self) -> Reach {
        Reach::changes(self.repair)
    }
}

pub fn run(console: &mut Console, here: &ProjectLocator, args: &Args) -> Outcome {
    let home = home()?;
    let mut problems = check_registry(console, here, &home, args.repair)?;
    let listed = registry(&home).list();
    let files = match &listed {
        Ok(_) => here.settings_files(&home)?.paths(),
        Err(_) => here.shared_settings_files(&home)?.paths(),
    };
    problems |= check_settings(console, files, args.repair)?;
    problems |= check_profiles(console, here, &home)?;
    let folders = match listed {
        Ok(listed) => registered(console, here, &home, listed, args.all)?,
        Err(_) => unlisted(&home)?,
    };
    for folder in &folders {
        problems |= match check_project(console, folder, args.repair) {
            // Continue with the other projects.
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

/// Lists profiles that cannot be used. Returns true if there are any.
fn check_profiles(console: &mut Console, here: &ProjectLocator, home: &Home) -> Result<bool, Failure> {
    // Settings that cannot be read were reported.
    let Ok(merged) = here.settings(home) else { return Ok(false) };
    let faults = Profiles::load(&agents::folders(here, home), &merged.settings.profile).faults();
    faults.iter().try_for_each(|fault| console.line(&format!("error: {}", fault.message)))?;
    Ok(!faults.is_empty())
}

/// A project to check.
struct ProjectToCheck {
    name: String,
    /// `None` if unknown.
    repository: Option<PathBuf>,
    folder: ProjectFolder,
}

/// Returns the current project, or all of them if there is none or `all` is set.
fn registered(
    console: &mut Console,
    here: &ProjectLocator,
    home: &Home,
    listed: Vec<Project>,
    all: bool,
) -> Result<Vec<ProjectToCheck>, Failure> {
    let located = if all { None } else { here.peek(home)? };
    if let (None, false, false, Ok(place)) = (&located, all, listed.is_empty(), here.repository()) {
        console.line(&format!(
            "note: {} is not registered yet (run `mxd init`); checking all registered projects",
            place.top.display()
        ))?;
    }
    let projects = located.map_or(listed, |located| vec![located.project]);
    if projects.is_empty() {
        console.line("no repository is registered yet; nothing else to check")?;
    }
    let checked = |project: Project| ProjectToCheck {
        folder: home.project(project.id),
        name: project.name,
        repository: Some(project.path),
    };
    Ok(projects.into_iter().map(checked).collect())
}

/// Returns the projects that have a data folder, for when the registry cannot be read.
fn unlisted(home: &Home) -> Result<Vec<ProjectToCheck>, Failure> {
    let checked =
        |(id, folder): (ProjectId, ProjectFolder)| ProjectToCheck { name: id.to_string(), repository: None, folder };
    Ok(registry(home).folders()?.into_iter().map(checked).collect())
}

/// Checks that the registry can be read and lists every project that has data. Returns true if there are problems.
fn check_registry(console: &mut Console, here: &ProjectLocator, home: &Home, repair: bool) -> Result<bool, Failure> {
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
    let lost = projects::lost_projects(home, place.as_ref())?;
    let outcome = if repair { "repaired" } else { "repairable" };
    if let Some(error) = &damage {
        console.line(&format!("error: {error} [{outcome}]"))?;
    }
    for LostProject { id, folder, entry, is_derived } in &lost {
        let at = folder.root().display();
        let line = match entry {
            Some(project) => {
                let derived = if *is_derived { ", the current branch" } else { "" };
                format!(
                    "error: {}: project {id} is missing; its data is in {at}, its repository is {} (base branch \
                     {}{derived}) [{outcome}]",
                    path.display(),
                    project.path.display(),
                    project.base_branch
                )
            }
            None => format!(
                "error: {}: project {id} is missing; its data is in {at}, and its repository is unknown: \
                 run the repair inside that repository",
                path.display()
            ),
        };
        console.line(&line)?;
    }
    let is_wrong = damage.is_some() || !lost.is_empty();
    if repair && is_wrong {
        if let Some(copy) = projects::restore(home, &lost)? {
            console.line(&format!("note: {}: backup of the project list before the repair", copy.display()))?;
        }
        return Ok(lost.iter().any(|lost| lost.entry.is_none()));
    }
    if is_wrong {
        console.line("`mxd check --repair` repairs what is marked")?;
    }
    Ok(is_wrong)
}

/// Checks the settings files. Returns true if there are problems.
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
            let outcome = if repair { "repaired" } else { "repairable" };
            console.line(&format!(
                "warning: {}: it holds a secret and is readable by other users [{outcome}]",
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

fn check_project(console: &mut Console, checked: &ProjectToCheck, repair: bool) -> Result<bool, Failure> {
    let ProjectToCheck { name, repository, folder } = checked;
    let now = SystemClock.now();
    // A repair writes, and only one process may write.
    let _lock = if repair { Some(EngineLock::acquire(&folder.lock(), now)?) } else { None };
    let repair = if repair {
        Repair::Yes { now }
    } else if let Some(holder) = EngineLock::holder(&folder.lock())? {
        let busy = LockError::Held(holder);
        console.line(&format!("note: {name}: {busy}; its unfinished writes are not damage"))?;
        Repair::Busy
    } else {
        Repair::No
    };
    let places = ProjectFiles { tree: folder.tree(), sessions: folder.sessions(), blobs: folder.blobs() };
    let report = check(&real_disk(), &places, repair)?;
    print_report(console, &report)?;
    if let Some(path) = repository.as_ref().filter(|path| !path.is_dir()) {
        console.line(&format!("warning: {}: the repository folder does not exist", path.display()))?;
    }
    let summary = format!(
        "{name}: {}, {}, {}",
        text::count(report.sessions, "session", "sessions"),
        text::count(report.events, "event", "events"),
        text::count(report.blobs, "blob", "blobs")
    );
    let verdict = if report.has_problems() { "problems found" } else { "ok" };
    console.line(&format!("{summary}: {verdict}"))?;
    let is_repairable = report.findings.iter().any(|finding| finding.outcome == RepairOutcome::Repairable);
    if is_repairable {
        console.line("`mxd check --repair` repairs what is marked")?;
    }
    Ok(report.has_problems())
}

fn print_report(console: &mut Console, report: &Report) -> Result<(), Failure> {
    for finding in &report.findings {
        let severity = match finding.severity {
            CheckSeverity::Note => "note",
            CheckSeverity::Warning => "warning",
            CheckSeverity::Error => "error",
        };
        let outcome = match finding.outcome {
            RepairOutcome::Noted | RepairOutcome::Remains => "",
            RepairOutcome::Repairable => " [repairable]",
            RepairOutcome::Repaired => " [repaired]",
        };
        console.line(&format!("{severity}: {}: {}{outcome}", finding.path.display(), finding.sentence))?;
    }
    Ok(())
}
