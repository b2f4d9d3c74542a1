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
use crate::cli::paint::{Span, Style};
use crate::cli::table::wrap;
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
    /// It was not checked, or does not matter here.
    Note,
    /// It works, but not as well as it could.
    Warning,
    /// Something does not work.
    Error,
}

impl Level {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }

    fn style(self) -> Style {
        match self {
            Self::Ok => Style::Good,
            Self::Note => Style::Dim,
            Self::Warning => Style::Warning,
            Self::Error => Style::Bad,
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

    fn note(check: &'static str, text: impl Into<String>) -> Self {
        Self::new(check, Level::Note, text)
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
                findings.extend(settings::backends(&merged.settings));
                findings.extend(settings::profiles(here, &home, &merged.settings.profile));
                findings.extend(settings::skills(here, &home));
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
        let room = if console.is_terminal() { console.width().saturating_sub(width + 11) } else { usize::MAX };
        for (at, line) in wrap(text, room).into_iter().enumerate() {
            let (word, check) = if at == 0 { (level.word(), *check) } else { ("", "") };
            console.spans(&[
                Span::new(format!("{word:<7}"), level.style()),
                Span::new(format!("  {check:<width$}  "), Style::Strong),
                Span::plain(line),
            ])?;
        }
        for remedy in remedies {
            let (line, style) = match remedy {
                Remedy::Run(command) => (format!("`{command}`"), Style::Accent),
                Remedy::Do(what) => (what.clone(), Style::Plain),
            };
            let head = if line.starts_with("or ") { "" } else { "try: " };
            // Little indentation on a terminal: commands are pasted, and a wrapped one is hard to select.
            let indent = if console.is_terminal() { 9 } else { 13 + width };
            console.spans(&[Span::dim(format!("{:indent$}{head}", "")), Span::new(line, style)])?;
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
