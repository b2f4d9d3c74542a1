//! `mxd doctor`: checks the environment, the settings, the providers and the projects.
//!
//! Changes nothing, starts no server, and asks providers only for their list of models. Each problem comes with
//! remedies: commands to paste, or a sentence where no command helps.

mod machine;
mod projects;
mod providers;
mod settings;

use serde::Serialize;

use crate::base::{Fault, text};
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::exit;
use crate::cli::locate::{ProjectLocator, home};
use crate::cli::open_engine::runtime;
use crate::engine::secrets;

#[derive(clap::Args)]
pub struct Args {
    /// Print one JSON finding per line.
    #[arg(long)]
    json: bool,
    /// Check every registered project.
    #[arg(long)]
    all: bool,
    /// Skip network checks.
    #[arg(long)]
    offline: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
enum Level {
    Ok,
    /// It works, but not as well as it could.
    Warning,
    /// Something does not work.
    Error,
}

impl Level {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A fix for a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Remedy {
    /// A shell command. Words in capitals are placeholders.
    Run(String),
    /// An instruction that is not a command.
    Do(String),
}

/// The result of one check.
#[derive(Clone, Debug, Serialize)]
struct Finding {
    check: &'static str,
    level: Level,
    text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    remedies: Vec<Remedy>,
}

impl Finding {
    fn new(check: &'static str, level: Level, text: impl Into<String>) -> Self {
        Self { check, level, text: text.into(), remedies: Vec::new() }
    }

    fn ok(check: &'static str, text: impl Into<String>) -> Self {
        Self::new(check, Level::Ok, text)
    }

    fn warning(check: &'static str, text: impl Into<String>) -> Self {
        Self::new(check, Level::Warning, text)
    }

    fn error(check: &'static str, text: impl Into<String>) -> Self {
        Self::new(check, Level::Error, text)
    }

    /// Returns an error finding for `fault`. A hint with a command in backticks becomes a command to run.
    fn from_fault(check: &'static str, fault: &Fault) -> Self {
        let remedies = fault.hints.iter().map(|hint| match hint.split('`').nth(1) {
            Some(command) => Remedy::Run(command.to_owned()),
            None => Remedy::Do(hint.clone()),
        });
        Self { remedies: remedies.collect(), ..Self::error(check, &fault.message) }
    }

    fn run(mut self, command: impl Into<String>) -> Self {
        self.remedies.push(Remedy::Run(command.into()));
        self
    }

    fn advise(mut self, what: impl Into<String>) -> Self {
        self.remedies.push(Remedy::Do(what.into()));
        self
    }
}

pub fn run(console: &mut Console, here: &ProjectLocator, args: &Args) -> Outcome {
    let runtime = runtime()?;
    let mut findings = vec![
        Finding::ok("version", format!("mxd {}", crate::cli::VERSION)),
        machine::terminal(),
        runtime.block_on(machine::git()),
    ];
    match home() {
        Err(fault) => findings.push(Finding::from_fault("data folder", &fault)),
        Ok(home) => {
            findings.extend(machine::data_folder(&home));
            findings.extend(settings::files(here, &home));
            // If this fails, `settings::files` has reported each problem.
            if let Ok(merged) = here.settings(&home) {
                if secrets::are_exposed(&merged) {
                    findings.push(machine::account());
                }
                findings.extend(settings::servers(here, &merged.servers));
                if merged.fault().is_none() {
                    findings.extend(runtime.block_on(providers::check_all(&merged.settings, args.offline)));
                }
            }
            findings.extend(runtime.block_on(projects::check_all(here, &home, args.all)));
        }
    }
    print_findings(console, &findings, args.json)?;
    let failed = findings.iter().any(|finding| finding.level == Level::Error);
    Ok(if failed { exit::PROBLEMS } else { 0 })
}

fn print_findings(console: &mut Console, findings: &[Finding], json: bool) -> Result<(), Failure> {
    let width = findings.iter().map(|finding| finding.check.len()).max().unwrap_or_default();
    for finding in findings {
        if json {
            console.json(finding)?;
            continue;
        }
        let Finding { check, level, text, remedies } = finding;
        console.line(&format!("{:<7}  {check:<width$}  {text}", level.word()))?;
        for remedy in remedies {
            let line = match remedy {
                Remedy::Run(command) => format!("`{command}`"),
                Remedy::Do(what) => what.clone(),
            };
            let head = if line.starts_with("or ") { "" } else { "try: " };
            console.line(&format!("{:<7}  {:<width$}    {head}{line}", "", ""))?;
        }
    }
    if !json {
        let count = |level: Level| findings.iter().filter(|finding| finding.level == level).count();
        console.line(&match (count(Level::Error), count(Level::Warning)) {
            (0, 0) => "no problems found".to_owned(),
            (0, warnings) => format!("no errors, {}", text::count(warnings, "warning", "warnings")),
            (errors, 0) => text::count(errors, "error", "errors"),
            (errors, warnings) => {
                format!("{}, {}", text::count(errors, "error", "errors"), text::count(warnings, "warning", "warnings"))
            }
        })?;
    }
    console.finish()
}
