//! Checks of the projects: registry, repository, lock and leftover data.

use super::Finding;
use crate::base::{Fault, text};
use crate::cli::locate::{LocatedProject, ProjectLocator, registry, shell_word};
use crate::config::paths::Home;
use crate::engine::gc::{Collector, Leftover, ScanDepth, find_in_home};
use crate::engine::projects;
use crate::git::health;
use crate::store::EngineLock;

pub(super) async fn check_all(here: &ProjectLocator, home: &Home, every: bool) -> Vec<Finding> {
    let mut findings = check_registry(here, home);
    let located = if every { Ok(None) } else { here.peek(home) };
    let projects = match located {
        Ok(Some(located)) => vec![located],
        Ok(None) => {
            if !every {
                findings.push(unregistered(here));
            }
            // `check_registry` has reported an unreadable list.
            let Ok(listed) = registry(home).list() else { return findings };
            listed.into_iter().map(|project| LocatedProject { folder: home.project(project.id), project }).collect()
        }
        Err(_) if registry(home).list().is_err() => return findings,
        Err(fault) => {
            findings.push(Finding::from_fault("project", &fault));
            return findings;
        }
    };
    for located in &projects {
        findings.extend(check_project(home, located).await);
    }
    findings.extend(leftovers("temporary files", &find_in_home(home)));
    findings
}

/// Reports an unreadable registry, and projects that are missing from it.
fn check_registry(here: &ProjectLocator, home: &Home) -> Vec<Finding> {
    if let Err(error) = registry(home).list() {
        return vec![Finding::error("projects", error.to_string()).run("mxd check --repair")];
    }
    let place = here.repository().ok();
    let lost = match projects::lost_projects(home, place.as_ref()) {
        Ok(lost) => lost,
        Err(fault) => return vec![Finding::from_fault("projects", &fault)],
    };
    let Some(first) = lost.first() else { return Vec::new() };
    let whose = first.entry.as_ref().map_or_else(|| first.id.to_string(), |project| project.path.display().to_string());
    let more = if lost.len() > 1 { format!(" and {} more", lost.len() - 1) } else { String::new() };
    let text = format!(
        "{} does not list {whose}{more}: {} in {}",
        home.projects().display(),
        if lost.len() > 1 { "their data is" } else { "its data is" },
        home.project_folders().display()
    );
    vec![Finding::error("projects", text).run("mxd check --repair")]
}

/// Describes the current folder, which is not a registered repository.
fn unregistered(here: &ProjectLocator) -> Finding {
    match here.repository().and_then(|place| Ok((place.branch()?, place))) {
        Ok((branch, place)) => {
            let text =
                format!("{} (on {branch}) is not registered yet; `mxd` registers it on start", place.top.display());
            Finding::ok("project", text)
        }
        Err(fault) => {
            let finding = Finding::from_fault("project", &fault);
            Finding { level: super::Level::Warning, ..finding }
        }
    }
}

async fn check_project(home: &Home, located: &LocatedProject) -> Vec<Finding> {
    let (project, folder) = (&located.project, &located.folder);
    let name = &project.name;
    if !project.path.is_dir() {
        let text =
            format!("{name}: folder {} does not exist; its sessions and archives are kept", project.path.display());
        let back = "if you moved it, run this with its new path: `mxd -C PATH tree`";
        return vec![Finding::warning("project", text).advise(back)];
    }
    let mut findings = vec![repository(located).await];
    let busy = match EngineLock::holder(&folder.lock()) {
        Err(error) => {
            findings.push(Finding::from_fault("lock", &Fault::from(error)));
            return findings;
        }
        Ok(None) => {
            findings.push(Finding::ok("lock", format!("{name}: not locked")));
            false
        }
        Ok(Some(Some(holder))) if holder.is_suspended() => {
            let text = format!("{name}: locked by process {}, which is suspended", holder.pid);
            findings.push(Finding::warning("lock", text).run(format!("kill -CONT {}", holder.pid)));
            true
        }
        Ok(Some(Some(holder))) => {
            findings.push(Finding::ok("lock", format!("{name}: locked by process {}", holder.pid)));
            true
        }
        Ok(Some(None)) => {
            findings.push(Finding::ok("lock", format!("{name}: locked by another process")));
            true
        }
    };
    // Files of a running process only look like leftovers.
    if busy || !folder.root().is_dir() {
        return findings;
    }
    let found = async { Collector::open(home, project).await?.find(ScanDepth::Quick, None).await };
    match found.await {
        Ok(found) => findings.extend(leftovers(name, &found)),
        Err(fault) => findings.push(Finding::error("files", fault.message).run("mxd check --repair")),
    }
    findings
}

/// Checks that agents can work in the repository.
async fn repository(located: &LocatedProject) -> Finding {
    let (name, path) = (&located.project.name, &located.project.path);
    let place = crate::git::discover::RepoLocation::of(path);
    let base = &located.project.base_branch;
    let has_base = place.as_ref().is_ok_and(|place| place.has_branch(base));
    let branch = match place.and_then(|place| place.branch()) {
        Ok(branch) => branch,
        Err(error) => return Finding::from_fault("project", &Fault::from(error)),
    };
    let at = shell_word(&path.display().to_string());
    if !has_base {
        let text = format!("{name}: the base branch {base} does not exist any more");
        return Finding::error("project", text).run(format!("mxd init {at} --base {}", shell_word(&branch)));
    }
    let found = match health::repository(path).await {
        Ok(found) => found,
        Err(error) => return Finding::from_fault("project", &Fault::from(error)),
    };
    if let Some(lock) = found.stale_locks.first() {
        let text = format!("{name}: {} was left by a git process that ended, and blocks git", lock.display());
        return Finding::error("project", text)
            .advise("make sure that no git process is running there")
            .run(format!("rm {}", shell_word(&lock.display().to_string())));
    }
    if !found.has_name || !found.has_email {
        let text = format!("{name}: git has no user.name or user.email, so agents commit as \"Matrix agent\"");
        return Finding::warning("project", text)
            .run(format!("git -C {at} config user.name NAME"))
            .run(format!("git -C {at} config user.email EMAIL"));
    }
    let other = if *base == branch { String::new() } else { format!("; you are on {branch}") };
    Finding::ok("project", format!("{name}: base branch {base}{other}"))
}

/// Sums up what `mxd gc` can free, and lists what only the user can decide about.
fn leftovers(name: &str, found: &[Leftover]) -> Vec<Finding> {
    let free: Vec<&Leftover> = found.iter().filter(|one| one.keep_reason.is_none()).collect();
    let mut findings = Vec::new();
    if let Some(first) = free.first() {
        let bytes = text::size(free.iter().map(|one| one.bytes).sum());
        let more = if free.len() > 1 { format!(", and {} more", free.len() - 1) } else { String::new() };
        let text = format!("{name}: {bytes} can be freed: {}{more}", first.what);
        findings.push(Finding::warning("leftovers", text).run("mxd gc"));
    }
    for one in found {
        if let Some(why) = &one.keep_reason {
            let finding = Finding::warning("leftovers", format!("{name}: {}", one.what));
            findings.push(match why.split('`').nth(1) {
                Some(command) => finding.run(command),
                None => finding.advise(why.as_str()),
            });
        }
    }
    if findings.is_empty() {
        findings.push(Finding::ok("leftovers", format!("{name}: none")));
    }
    findings
}
