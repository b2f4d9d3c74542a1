//! `mxd backends`: lists outside agent programs and tries them out.

use serde::Serialize;

use crate::base::Fault;
use crate::cli::agent_guard::Reach;
use crate::cli::config::settings;
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::exit;
use crate::cli::locate::{ProjectLocator, home};
use crate::cli::open_engine::runtime;
use crate::config::Settings;
use crate::config::profile::NATIVE;
use crate::engine::backend::outside::Program;
use crate::engine::backend::registry::{choose, plain_name, programs};
use crate::outside::Opened;
use crate::outside::locate::Login;
use crate::process;

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// List the programs that can do tasks. Starts nothing.
    List {
        /// Print one JSON object per line.
        #[arg(long)]
        json: bool,
    },
    /// Start a program and report what it can do.
    Test {
        /// Name of the backend.
        name: String,
        /// Print a JSON object.
        #[arg(long)]
        json: bool,
    },
}

impl Args {
    pub fn reach(&self) -> Reach {
        match self.action {
            Action::List { .. } => Reach::Reads,
            // It starts a program outside of the agent's sandbox.
            Action::Test { .. } => Reach::Changes,
        }
    }
}

pub fn run(console: &mut Console, here: &ProjectLocator, args: Args) -> Outcome {
    let home = home()?;
    let merged = settings(console, here, &home)?;
    let code = match args.action {
        Action::List { json } => list(console, &merged.settings, json)?,
        Action::Test { name, json } => {
            let program = choose(plain_name(&name), "the command line", &merged.settings)?;
            let folder = match here.repository() {
                Ok(place) => place.top,
                Err(_) => here.folder()?,
            };
            let records = home.root().join("running").join("backend-test");
            process::sweep(&records);
            test(console, &program, &folder, records, json)?
        }
    };
    console.finish()?;
    Ok(code)
}

/// A program as it is listed.
#[derive(Serialize)]
struct Entry {
    name: String,
    label: String,
    command: String,
    /// `None` if it is not installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    installed: bool,
    login: Login,
    is_default: bool,
    disabled: bool,
    /// The next step, if it cannot be used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    next: Vec<String>,
}

impl Entry {
    fn of(program: &Program, settings: &Settings) -> Self {
        let missing = program.missing();
        let login = program.login();
        let mut next = missing.as_ref().map(|fault| fault.hints.clone()).unwrap_or_default();
        if missing.is_none() && login == Login::Missing {
            next.extend(program.known.map(|known| format!("if you are not logged in: `{}`", known.login)));
        }
        if let (None, Some(known), Some(version)) = (&missing, program.known, program.version())
            && !known.is_tested(&version)
        {
            next.push(format!("version {version} was not tested; `{}` was", known.install));
        }
        Self {
            name: program.name.clone(),
            label: program.label.clone(),
            command: [std::slice::from_ref(&program.command), &program.args].concat().join(" "),
            version: program.version(),
            installed: missing.is_none(),
            login,
            is_default: plain_name(&settings.backend) == program.name,
            disabled: program.disabled || !settings.outside_agents,
            next,
        }
    }

    fn state(&self) -> String {
        let mut words = Vec::new();
        words.push(match (self.installed, &self.version) {
            (false, _) => "not installed".to_owned(),
            (true, Some(version)) => version.clone(),
            (true, None) => "installed".to_owned(),
        });
        if self.installed {
            words.push(
                match self.login {
                    Login::Likely => "set up",
                    Login::Missing => "no login found",
                    Login::Unknown => "login unknown",
                }
                .to_owned(),
            );
        }
        if self.disabled {
            words.push("disabled".to_owned());
        }
        if self.is_default {
            words.push("default".to_owned());
        }
        words.join(", ")
    }
}

fn list(console: &mut Console, settings: &Settings, json: bool) -> Result<u8, Failure> {
    if !json {
        let default = if plain_name(&settings.backend) == NATIVE { ", default" } else { "" };
        console.line(&format!("{NATIVE}  Matrix's own agent{default}"))?;
    }
    for program in programs(settings) {
        let entry = Entry::of(&program, settings);
        if json {
            console.json(&entry)?;
            continue;
        }
        console.line(&format!("{}  {} ({})", entry.name, entry.label, entry.state()))?;
        for step in &entry.next {
            console.line(&format!("  {step}"))?;
        }
    }
    if !json {
        console.line(
            "Choose one in a profile (`backend: NAME`) or for all tasks: `mxd config set --global backend NAME`.",
        )?;
    }
    Ok(0)
}

/// What a test found.
#[derive(Serialize)]
struct Tested {
    name: String,
    program: String,
    version: String,
    protocol: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<String>,
    can: Vec<&'static str>,
    cannot: Vec<&'static str>,
}

impl Tested {
    fn of(program: &Program, opened: Opened) -> Self {
        let can = opened.can;
        let abilities = [
            ("continue a session", can.load || can.resume),
            ("take messages during a turn", can.steer),
            ("read pictures", can.images),
            ("use tools over HTTP", can.mcp_http),
            ("take a system prompt", can.system_prompt),
            ("report costs", program.capabilities().cost),
        ];
        let of = |wanted: bool| abilities.iter().filter(|(_, is)| *is == wanted).map(|(words, _)| *words).collect();
        Self {
            name: program.name.clone(),
            program: opened.program,
            version: opened.version,
            protocol: opened.protocol,
            model: opened.model,
            mode: opened.mode,
            can: of(true),
            cannot: of(false),
        }
    }
}

fn test(
    console: &mut Console,
    program: &Program,
    folder: &std::path::Path,
    records: std::path::PathBuf,
    json: bool,
) -> Result<u8, Failure> {
    if let Some(fault) = program.missing() {
        return Err(fault.into());
    }
    let opened = runtime()?.block_on(async {
        tokio::select! {
            opened = program.try_out(folder, records) => opened.map_err(|error| program.open_fault(&error)),
            _ = tokio::signal::ctrl_c() => Err(Fault::user("interrupted; the program was stopped")),
        }
    });
    let tested = match opened {
        Ok(opened) => Tested::of(program, opened),
        Err(fault) => {
            console.fault(&fault);
            return Ok(exit::PROBLEMS);
        }
    };
    if json {
        console.json(&tested)?;
        return Ok(0);
    }
    let Tested { name, program, version, protocol, model, mode, can, cannot } = tested;
    console.line(&format!("{name}  ready: {program} {version} ({protocol})"))?;
    for (what, value) in [("model", model), ("mode", mode)] {
        if let Some(value) = value {
            console.line(&format!("  {what}: {value}"))?;
        }
    }
    console.line(&format!("  can {}", can.join(", ")))?;
    if !cannot.is_empty() {
        console.line(&format!("  cannot {}", cannot.join(", ")))?;
    }
    Ok(0)
}
