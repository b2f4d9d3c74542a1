//! Recognises processes that an agent started. They may read, and change nothing.
//!
//! An agent's shell runs as the user, so it could connect to the socket as well as call `mxd`.

use std::path::PathBuf;

use crate::base::Fault;
use crate::config::paths::Home;
use crate::process::lineage;

/// Returns the folders with the records of running processes of every project.
pub fn record_folders(home: &Home) -> Vec<PathBuf> {
    let projects = std::fs::read_dir(home.project_folders()).into_iter().flatten().flatten();
    projects.map(|project| project.path().join("running")).collect()
}

/// Returns true if this process descends from an agent. Reads the process table.
pub fn is_inside_agent(home: &Home) -> bool {
    lineage::is_inside(home.root(), &record_folders(home))
}

/// Returns true if the process `pid` descends from an agent. Reads the process table.
pub fn descends_from_agent(home: &Home, pid: i32) -> bool {
    lineage::descends(pid, home.root(), &record_folders(home))
}

/// Returns the refusal of a change by an agent's process.
pub fn refusal() -> Fault {
    Fault::user(
        "this command changes settings, approvals, budgets, tasks or answers, and an agent's process may not do that",
    )
    .hint("ask the user to run it in their own terminal")
}
