//! Starts a program. Every agent program is started here, and nowhere else.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::programs::NESTING;
use crate::process::{self, ChildSpec, Environment, Process, StartError, StdioPipes};

/// How a program is started.
#[derive(Clone, Debug)]
pub struct Launcher {
    /// Shown to users.
    pub label: String,
    pub program: OsString,
    pub arguments: Vec<String>,
    /// The variables of the program. They hold no credential, unless the user asked for that.
    pub environment: Environment,
    /// The folder for the record of the running process.
    pub records: Option<PathBuf>,
}

impl Launcher {
    /// Starts the program in a folder, below a host that lets nothing of it survive. `id` is safe as a file name.
    pub fn start(&self, id: &str, cwd: &Path) -> Result<(Process, StdioPipes), StartError> {
        let mut environment = self.environment.clone();
        for name in NESTING {
            environment = environment.without(*name);
        }
        let spec = ChildSpec {
            environment: environment.with("NO_PROXY", no_proxy()).with("no_proxy", no_proxy()),
            label: self.label.clone(),
            records: self.records.clone(),
            ..ChildSpec::new(id, self.program.clone(), cwd).arguments(&self.arguments)
        };
        process::start_with_stdio(process::host_spec(spec))
    }
}

/// Returns the hosts that are reached without a proxy: ours too, because our tools are served there.
fn no_proxy() -> String {
    const OURS: &str = "127.0.0.1,localhost";
    match std::env::var("NO_PROXY").or_else(|_| std::env::var("no_proxy")) {
        Ok(hosts) if !hosts.trim().is_empty() => format!("{hosts},{OURS}"),
        Ok(_) | Err(_) => OURS.to_owned(),
    }
}
