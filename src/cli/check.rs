//! `mxd check`: reads every file of a project and says what is wrong with it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::base::{Clock, SystemClock, text};
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::exit;
use crate::cli::place::{self, Here, Located, home, registry, the_disk};
use crate::config::paths::Home;
use crate::config::{Layer, LayerFile, Severity as ConfigSeverity, holds_secret};
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

pub fn run(console: &mut Console, here: &Here, args: &Args) -> Outcome {
    let home = home()?;
    let mut problems = check_settings(console, here, &home, args.repair)?;
    let located = if args.all { None } else { here.try_located(&home)? };
    if let (None, false, Ok(place)) = (&located, args.all, here.repository()) {
        console.line(&format!(
            "note: {} is not registered yet (`mxd init` does that); these are the projects that are",
            place.top.display()
        ))?;
    }
    let projects = match located {
        Some(located) => vec![located],
        None => registry(&home)
            .list()?
            .into_iter()
            .map(|project| Located { folder: home.project(project.id), project })
            .collect(),
    };
    if projects.is_empty() {
        console.line("no repository is registered yet; there is nothing else to check")?;
    }
    for located in &projects {
        problems |= match check_project(console, located, args.repair) {
            // One project that cannot be checked says nothing about the others.
            Err(Failure::Fault(fault)) if projects.len() > 1 => {
                console.line(&format!("error: {}: not checked: {}", located.project.name, fault.message))?;
                true
            }
            checked => checked?,
        };
    }
    console.finish()?;
    Ok(if problems { exit::PROBLEMS } else { 0 })
}

/// Checks the settings files. Tells whether something is wrong with them.
fn check_settings(console: &mut Console, here: &Here, home: &Home, repair: bool) -> Result<bool, Failure> {
    let mut wrong = false;
    for (layer, path) in here.config_files(home)? {
        let Some(bytes) = place::read(&path)? else { continue };
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

fn check_project(console: &mut Console, located: &Located, repair: bool) -> Result<bool, Failure> {
    let Located { project, folder } = located;
    let now = SystemClock.now();
    // Mending writes, and only one process may.
    let _lock = if repair { Some(EngineLock::acquire(&folder.lock(), now)?) } else { None };
    let repair = if repair {
        Repair::Yes { now }
    } else if let Some(holder) = EngineLock::holder(&folder.lock())? {
        let busy = LockError::Held(holder);
        console.line(&format!("note: {}: {busy}; what it has not finished is no damage", project.name))?;
        Repair::Busy
    } else {
        Repair::No
    };
    let places = Places { tree: folder.tree(), sessions: folder.sessions(), blobs: folder.blobs() };
    let report = check(&the_disk(), &places, repair)?;
    tell(console, &report)?;
    if !project.path.is_dir() {
        console.line(&format!("warning: {}: the repository's folder is gone", project.path.display()))?;
    }
    let summary = format!(
        "{}: {}, {}, {}",
        project.name,
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
