//! A program as the settings and the table of known programs describe it.

use std::path::PathBuf;
use std::time::Duration;

use crate::base::{Fault, Secret};
use crate::config::Settings;
use crate::config::settings::BackendProtocol;
use crate::engine::backend::Capabilities;
use crate::outside::locate::{self, Login};
use crate::outside::programs::{self, Known, Quirks, ToolDoor};
use crate::outside::{Launcher, OpenError, OpenRequest, Opened, acp, json_lines};
use crate::process::Environment;

/// How long a program may take to open a session, and be silent during a turn, unless the settings say otherwise.
const START: Duration = Duration::from_secs(60);
const IDLE: Duration = Duration::from_mins(30);

/// An outside program that can be a backend.
#[derive(Clone, Debug)]
pub struct Program {
    /// The name of the backend.
    pub name: String,
    pub label: String,
    pub command: String,
    pub args: Vec<String>,
    pub protocol: BackendProtocol,
    pub mode: Option<String>,
    pub disabled: bool,
    pub known: Option<&'static Known>,
    pub(super) quirks: Quirks,
    pub(super) start: Duration,
    pub(super) idle: Duration,
    variables: Vec<(String, Secret)>,
    inherit: Vec<String>,
}

impl Program {
    /// Returns the program with this name. `None` if neither the table nor the settings know how to start it.
    pub fn of(name: &str, settings: &Settings) -> Option<Self> {
        let known = programs::find(name);
        let entry = settings.backends.get(name);
        let own_command = entry.and_then(|entry| entry.command.clone());
        let command = own_command.clone().or_else(|| known.map(|known| known.command.to_owned()))?;
        let args = match (entry.and_then(|entry| entry.args.as_ref()), known) {
            (Some(args), _) => args.expose().to_vec(),
            (None, Some(known)) => known.args.iter().map(|arg| (*arg).to_owned()).collect(),
            (None, None) => Vec::new(),
        };
        let variables =
            entry.map(|entry| entry.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect());
        Some(Self {
            name: name.to_owned(),
            label: known.map_or(name, |known| known.label).to_owned(),
            command,
            args,
            protocol: entry.map(|entry| entry.protocol).unwrap_or_default(),
            mode: entry.and_then(|entry| entry.mode.clone()),
            disabled: entry.is_some_and(|entry| entry.disabled),
            known,
            quirks: known.map_or(Quirks::UNKNOWN, |known| known.quirks),
            start: entry.map_or(START, |entry| entry.start),
            idle: entry.map_or(IDLE, |entry| entry.idle),
            variables: variables.unwrap_or_default(),
            inherit: entry.map(|entry| entry.inherit.clone()).unwrap_or_default(),
        })
    }

    /// Returns a program of which nothing is known, for what can be said about it.
    pub(in crate::engine::backend) fn unknown() -> Self {
        Self {
            name: String::new(),
            label: String::new(),
            command: String::new(),
            args: Vec::new(),
            protocol: BackendProtocol::Acp,
            mode: None,
            disabled: false,
            known: None,
            quirks: Quirks::UNKNOWN,
            start: START,
            idle: IDLE,
            variables: Vec::new(),
            inherit: Vec::new(),
        }
    }

    pub fn capabilities(&self) -> Capabilities {
        Capabilities {
            steer: self.quirks.steer && self.protocol == BackendProtocol::Acp,
            interrupt: true,
            // A new session gets a digest of the conversation up to that point.
            resume: true,
            fork: true,
            compact: false,
            // Programs of the user's own may report costs; the table says it of the others.
            cost: self.quirks.cost || self.known.is_none(),
            our_tools: false,
        }
    }

    /// Returns the file of the program on the user's `PATH`.
    pub fn find(&self) -> Option<PathBuf> {
        locate::find(&self.command, &std::env::var_os("PATH").unwrap_or_default())
    }

    /// Returns the version of the installed program, as far as a file says it.
    pub fn version(&self) -> Option<String> {
        locate::version(&self.find()?)
    }

    pub fn login(&self) -> Login {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        locate::login(&self.quirks, home.as_deref())
    }

    /// Returns why the program cannot be started, with the next step. `None` if it can.
    pub fn missing(&self) -> Option<Fault> {
        if self.find().is_some() {
            return None;
        }
        let fault = Fault::environment(format!("{}: the program `{}` is not on your PATH", self.label, self.command));
        let Some(known) = self.known else {
            let set = format!("`mxd config set --global backends.{}.command PATH`", self.name);
            return Some(fault.hint(format!("install it, or say where it is: {set}")));
        };
        let path = std::env::var_os("PATH").unwrap_or_default();
        let base = known.without_adapter.filter(|base| locate::find(base, &path).is_some());
        let fault = match base {
            Some(base) => fault.hint(format!("`{base}` is installed, but it needs an adapter: `{}`", known.install)),
            None => fault.hint(format!("install it: `{}`", known.install)),
        };
        Some(fault.hint(format!("then log in: `{}`", known.login)))
    }

    /// Adds the variables of the program to an environment without credentials.
    pub fn environment(&self, environment: Environment) -> Environment {
        let mut environment = environment;
        for (name, value) in self.quirks.env {
            environment = environment.with(*name, *value);
        }
        if self.quirks.tools == ToolDoor::CodexConfig {
            environment = environment.with("CODEX_CONFIG", CODEX_CONFIG);
        }
        for name in &self.inherit {
            environment = environment.inherit(name.clone());
        }
        for (name, value) in &self.variables {
            environment = environment.with(name, value.expose());
        }
        environment
    }

    /// Returns the fault of a session that could not be opened, with the next step.
    pub fn open_fault(&self, error: &OpenError) -> Fault {
        let fault = Fault::environment(format!("{}: {error}", self.label));
        let login = self.known.map(|known| known.login);
        match error {
            OpenError::Login(_) => match login {
                Some(login) => fault.hint(format!("log in in another terminal: `{login}`, then try again")),
                None => fault.hint("log in to the program in another terminal, then try again"),
            },
            OpenError::Silent { .. } => fault
                .hint(format!("see whether it starts: `mxd backends test {}`", self.name))
                .hint(format!("or give it more time: `mxd config set --global backends.{}.startMs 180000`", self.name)),
            OpenError::Protocol(_) | OpenError::Start(_) => match self.known {
                Some(known) => fault.hint(format!("install the version that was tested: `{}`", known.install)),
                None => fault.hint(format!("see `mxd backends test {}`", self.name)),
            },
            OpenError::Refused(_) | OpenError::Died { .. } => {
                fault.hint(format!("see what it says: `mxd backends test {}`", self.name))
            }
        }
    }
}

/// Keeps our tools in the list of tools that the model sees.
const CODEX_CONFIG: &str = r#"{"features":{"code_mode":{"direct_only_tool_namespaces":["mcp__mxd"]}}}"#;

impl Program {
    /// Starts the program in a folder, opens a session and ends it again. Sends no prompt.
    pub async fn try_out(&self, cwd: &std::path::Path, records: PathBuf) -> Result<Opened, OpenError> {
        let launcher = Launcher {
            label: self.label.clone(),
            program: self.command.clone().into(),
            arguments: self.args.clone(),
            environment: self.environment(Environment::new()),
            records: Some(records),
        };
        let request = OpenRequest {
            process_id: format!("backend-test-{}", std::process::id()),
            cwd: cwd.to_owned(),
            folders: Vec::new(),
            system: String::new(),
            model: None,
            effort: None,
            mode: self.mode.clone(),
            tools: None,
            resume: None,
            limit: self.start,
            wire_log: None,
        };
        match self.protocol {
            BackendProtocol::Acp => {
                let (session, opened) = acp::open(&launcher, &self.quirks, &request).await?;
                session.close().await;
                Ok(opened)
            }
            BackendProtocol::Json => {
                let (session, opened) = json_lines::open(&launcher, &request).await?;
                session.close().await;
                Ok(opened)
            }
        }
    }
}
