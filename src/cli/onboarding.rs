//! First start: finds providers on this machine, runs the guided set-up, and writes its result to the settings.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;

use tokio::sync::mpsc;

use crate::app::setup::{self, ConnectionOption, Needs, SetupResult, Start, Vendor};
use crate::base::{Clock, Fault, SystemClock, text};
use crate::cli::console::{Console, Failure};
use crate::cli::locate::ProjectLocator;
use crate::config::environment::is_implicit;
use crate::config::paths::Home;
use crate::config::profile::NATIVE;
use crate::config::settings::Provider;
use crate::config::{KeyPath, Layer, Settings};
use crate::engine::backend::outside::Program;
use crate::engine::backend::registry::{plain_name, programs};
use crate::git::discover::DiscoverError;
use crate::provider::Catalogue;
use crate::provider::local::{self, LocalServer, LocalServerOptions};

/// Context window for a model whose window is unknown.
const ASSUMED_WINDOW: u64 = 32_768;

/// Vendors: name, note, variable of the key, variable of the address, implicit auth group.
const VENDORS: [(Vendor, &str, &str, &str, &str, &str); 2] = [
    (
        Vendor::Anthropic,
        "Anthropic",
        "Claude models, with an API key",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_BASE_URL",
        "env-anthropic",
    ),
    (Vendor::Openai, "OpenAI", "GPT models, with an API key", "OPENAI_API_KEY", "OPENAI_BASE_URL", "env-openai"),
];

/// The providers found on this machine.
pub struct Findings {
    /// Environment variables that hold a key.
    keys: Vec<&'static str>,
    /// Auth groups in the settings.
    groups: Vec<String>,
    servers: Vec<LocalServer>,
    config: String,
    /// Installed agent programs that could do the work: their labels and backend names.
    programs: Vec<(String, String)>,
    /// The backend that the user has chosen instead of a provider.
    backend: Option<String>,
    is_set_up: bool,
}

impl Findings {
    /// Searches the settings, the environment and the usual local ports.
    pub async fn gather(settings: &Settings, home: &Home) -> Self {
        let has_key = |group: &str| settings.auth_groups.get(group).is_some_and(|group| group.api_key.is_some());
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let variable = |name| std::env::var(name).ok();
        let options = LocalServerOptions { ollama: variable("OLLAMA_HOST"), only: variable("MXD_LOCAL_SERVERS") };
        Self {
            keys: VENDORS.iter().filter(|vendor| has_key(vendor.5)).map(|vendor| vendor.3).collect(),
            groups: settings.auth_groups.keys().filter(|name| !is_implicit(name)).cloned().collect(),
            servers: local::find(&options, &clock).await,
            config: home.config().display().to_string(),
            programs: installed_programs(settings),
            backend: Some(settings.backend.clone()).filter(|_| has_backend(settings)),
            is_set_up: is_set_up(settings),
        }
    }

    /// Returns all findings, one line each.
    pub fn lines(&self) -> Vec<String> {
        self.found().into_iter().chain(self.missing()).collect()
    }

    /// Returns what is there, one line each.
    fn found(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.keys.is_empty() {
            lines.push(format!("Key in the environment: {}.", self.keys.join(", ")));
        }
        if !self.groups.is_empty() {
            lines.push(format!("Settings: auth group {} in {}.", self.groups.join(", "), self.config));
        }
        if let Some(backend) = &self.backend {
            lines.push(format!("Agent program: all tasks are done by {backend}."));
        }
        lines.extend(self.servers.iter().map(|LocalServer { name, base_url, models }| {
            if models.is_empty() {
                return format!("Local server: {name} at {base_url}, no models yet: run `ollama pull NAME`.");
            }
            format!("Local server: {name} at {base_url}, {}.", text::count(models.len(), "model", "models"))
        }));
        lines
    }

    /// Returns what is not there, one line each.
    fn missing(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.keys.is_empty() {
            lines.push("Key in the environment: none (ANTHROPIC_API_KEY, OPENAI_API_KEY).".to_owned());
        }
        if self.groups.is_empty() {
            lines.push(format!("Settings: no provider in {} yet.", self.config));
        }
        if self.backend.is_none() && self.keys.is_empty() && self.groups.is_empty() {
            lines.extend(self.programs.iter().map(|(label, name)| {
                format!(
                    "Agent program: {label} is installed. To let it do the work with its own login: `mxd config set --global backend {name}`."
                )
            }));
        }
        if self.servers.is_empty() {
            let names: Vec<_> = local::names().collect();
            lines.push(format!("Local server: none on the usual ports ({}).", names.join(", ")));
        }
        lines
    }

    /// Returns the servers that have a model.
    fn usable(&self) -> impl Iterator<Item = &LocalServer> {
        self.servers.iter().filter(|server| !server.models.is_empty())
    }

    /// Returns the next step, for output outside the UI.
    pub fn next(&self) -> &'static str {
        if self.is_set_up {
            "Next: run `mxd` and describe what you want, or `mxd run \"what you want\"`."
        } else if self.usable().next().is_none() {
            "Next: run `mxd` (or `mxd --plain`) to set up a provider, or set ANTHROPIC_API_KEY or OPENAI_API_KEY. `mxd demo` needs neither."
        } else {
            "Next: run `mxd` to use the local server, or set ANTHROPIC_API_KEY or OPENAI_API_KEY."
        }
    }

    /// Returns the providers to choose from. Those that need no key come before those that do.
    fn connections(&self, variable: impl Fn(&str) -> Option<OsString>) -> Vec<ConnectionOption> {
        let vendors = VENDORS.iter().map(|(vendor, name, models, _, url, _)| {
            let address = variable(url).and_then(|url| url.into_string().ok()).filter(|url| !url.trim().is_empty());
            let note = address.as_ref().map_or_else(|| (*models).to_owned(), |url| format!("key for {url}"));
            ConnectionOption { label: (*name).to_owned(), note, vendor: *vendor, address, needs: Needs::Key }
        });
        let servers = self.usable().map(|server| ConnectionOption {
            label: format!("{} on this machine", server.name),
            note: format!("no key, {}", text::count(server.models.len(), "model", "models")),
            vendor: Vendor::Openai,
            address: Some(server.base_url.clone()),
            needs: Needs::Nothing,
        });
        let (addressed, plain): (Vec<_>, Vec<_>) = vendors.partition(|option| option.address.is_some());
        let other = ConnectionOption {
            label: "Another server".to_owned(),
            note: "any OpenAI-compatible URL".to_owned(),
            vendor: Vendor::Openai,
            address: None,
            needs: Needs::Address,
        };
        addressed.into_iter().chain(servers).chain(plain).chain([other]).collect()
    }
}

/// Returns true if a provider is configured. An implicit group with an address but no key does not count.
pub fn is_set_up(settings: &Settings) -> bool {
    if has_backend(settings) {
        return true;
    }
    match settings.root_auth() {
        Ok((name, group)) => group.api_key.is_some() || !is_implicit(name),
        // Other errors are for the user to fix; another provider would not help.
        Err(error) => error != crate::config::settings::AuthError::None,
    }
}

/// Returns true if an outside program does the work, which has a login of its own.
fn has_backend(settings: &Settings) -> bool {
    plain_name(&settings.backend) != NATIVE && settings.outside_agents
}

/// Returns the label and name of each installed agent program.
fn installed_programs(settings: &Settings) -> Vec<(String, String)> {
    let usable = |program: &Program| settings.outside_agents && !program.disabled && program.missing().is_none();
    programs(settings).into_iter().filter(usable).map(|program| (program.label, program.name)).collect()
}

/// Prints the findings and the next step.
pub fn print_findings(console: &mut Console, findings: &Findings) -> Result<(), Failure> {
    findings.lines().iter().try_for_each(|line| console.line(line))?;
    console.line(findings.next())
}

/// The next step after the set-up.
pub enum NextStep {
    /// Open the project. `decided` is true if the set-up changed the settings.
    Open { decided: bool },
    /// Exit with this code.
    Exit(u8),
}

/// Why the set-up runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SetupReason {
    /// It asks only for what is missing.
    #[default]
    Missing,
    /// The user asked for it.
    Requested,
    /// The provider rejected the key: it asks for another one.
    RejectedKey,
}

/// Returns the set-up for what is missing: a repository, a commit, a provider. `None` if nothing is.
async fn missing_setup(
    here: &ProjectLocator,
    home: &Home,
    settings: &Settings,
    reason: SetupReason,
) -> Result<Option<Start>, Failure> {
    let mut start = Start::default();
    match here.place(&here.folder()?) {
        // Report an unusable repository before asking anything.
        Ok(place) => match place.branch() {
            Err(DiscoverError::NoCommit(top)) => start.no_commit = Some(top.display().to_string()),
            Err(error) if here.peek(home)?.is_none() => return Err(error.into()),
            Ok(_) | Err(_) => {}
        },
        Err(DiscoverError::NotARepository(path)) if can_become_repository(&path) => {
            start.no_repository = Some(path.display().to_string());
        }
        Err(error) => return Err(error.into()),
    }
    let asks = reason != SetupReason::Missing || !is_set_up(settings);
    if start.no_repository.is_none() && start.no_commit.is_none() && !asks {
        return Ok(None);
    }
    if asks {
        let findings = Findings::gather(settings, home).await;
        start.found = findings.found();
        start.missing = findings.missing();
        start.connections = findings.connections(|name| std::env::var_os(name));
        let current = current_connection(settings).filter(|_| reason == SetupReason::RejectedKey);
        if let Some(current) = current {
            start.connections.insert(0, current);
            start.only_key = true;
        }
    }
    Ok(Some(start))
}

/// Returns the connection of the root's auth group, to change its key.
fn current_connection(settings: &Settings) -> Option<ConnectionOption> {
    let (_, group) = settings.root_auth().ok()?;
    let vendor = match group.provider {
        Provider::Anthropic => Vendor::Anthropic,
        Provider::Openai => Vendor::Openai,
        Provider::Scripted => return None,
    };
    let name = VENDORS.iter().find(|known| known.0 == vendor).map_or("", |known| known.1);
    let address = group.base_url.as_ref().map(ToString::to_string);
    Some(ConnectionOption { label: name.to_owned(), note: String::new(), vendor, address, needs: Needs::Key })
}

/// Runs the set-up in the UI, if something is missing or there is a reason for it.
pub async fn guide(
    here: &ProjectLocator,
    home: &Home,
    settings: &Settings,
    reason: SetupReason,
) -> Result<NextStep, Failure> {
    let Some(start) = missing_setup(here, home, settings, reason).await? else {
        return Ok(NextStep::Open { decided: false });
    };
    let options = setup::Options {
        start,
        folder: here.folder()?,
        home: home.clone(),
        theme: settings.theme.clone(),
        clock: Arc::new(SystemClock),
    };
    save(here, home, settings, setup::set_up(options).await?)
}

/// Like [`guide`], line by line.
pub async fn guide_in_lines(
    console: &mut Console,
    here: &ProjectLocator,
    home: &Home,
    settings: &Settings,
    reason: SetupReason,
    lines: &mut mpsc::UnboundedReceiver<io::Result<String>>,
) -> Result<NextStep, Failure> {
    let Some(start) = missing_setup(here, home, settings, reason).await? else {
        return Ok(NextStep::Open { decided: false });
    };
    let say = |line: &str| console.note(line);
    let end = setup::set_up_in_lines(start, here.folder()?, Arc::new(SystemClock), lines, say).await?;
    save(here, home, settings, end)
}

fn save(here: &ProjectLocator, home: &Home, settings: &Settings, end: setup::End) -> Result<NextStep, Failure> {
    Ok(match end {
        setup::End::Decided(decided) => {
            write(here, home, settings, &decided)?;
            NextStep::Open { decided: true }
        }
        setup::End::Skipped => NextStep::Open { decided: false },
        setup::End::Quit => NextStep::Exit(0),
        setup::End::Stopped(code) => NextStep::Exit(code),
    })
}

/// Returns true if the set-up may offer `git init` here: not in a home folder, its parents, or the root of a disk.
fn can_become_repository(folder: &Path) -> bool {
    let home = directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_owned());
    let home = home.and_then(|home| std::fs::canonicalize(home).ok());
    folder.parent().is_some() && home.is_none_or(|home| !home.starts_with(folder))
}

/// Returns the auth group that only gets another key: the root's, if the same connection was set up without a model.
fn rekeyed_group<'a>(settings: &'a Settings, decided: &SetupResult) -> Option<&'a str> {
    let (name, _) = settings.root_auth().ok().filter(|(name, _)| !is_implicit(name))?;
    let current = current_connection(settings)?;
    let is_same = current.vendor == decided.attempt.vendor && current.address == decided.attempt.address;
    (is_same && decided.model.is_none()).then_some(name)
}

/// Writes the provider, the key and the model to the user's settings, and the budget to the project's.
fn write(here: &ProjectLocator, home: &Home, settings: &Settings, decided: &SetupResult) -> Result<(), Fault> {
    let set = |layer: Layer, key: &str, value: &str| here.settings_files(home)?.set(layer, key, Some(value));
    if let (Some(name), Some(key)) = (rekeyed_group(settings, decided), &decided.attempt.key) {
        let path = KeyPath::top("authGroups").child(name).child("apiKey");
        return set(Layer::Global, &path.to_string(), &serde_json::Value::from(key.expose()).to_string());
    }
    let taken = |name: &str| settings.auth_groups.contains_key(name);
    let mut names = ["main".to_owned()].into_iter().chain((2..).map(|number| format!("main{number}")));
    let name = names.find(|name| !taken(name)).unwrap_or_default();
    let group = KeyPath::top("authGroups").child(&name);
    let provider = match decided.attempt.vendor {
        Vendor::Anthropic => "anthropic",
        Vendor::Openai => "openai",
    };
    let mut entry = serde_json::Map::new();
    entry.insert("provider".to_owned(), provider.into());
    if let Some(key) = &decided.attempt.key {
        entry.insert("apiKey".to_owned(), key.expose().into());
    }
    if let Some(address) = &decided.attempt.address {
        entry.insert("baseUrl".to_owned(), address.as_str().into());
    }
    set(Layer::Global, &group.to_string(), &serde_json::Value::Object(entry).to_string())?;
    let others = settings.auth_groups.keys().any(|name| !is_implicit(name));
    if others {
        set(Layer::Global, "defaultAuth", &serde_json::Value::from(name).to_string())?;
    }
    if let Some(model) = &decided.model {
        set(Layer::Global, "model", &serde_json::Value::from(model.as_str()).to_string())?;
        if !decided.has_window && Catalogue::default().facts(model).is_err() {
            let window = KeyPath::top("models").child(model).child("window");
            set(Layer::Global, &window.to_string(), &ASSUMED_WINDOW.to_string())?;
        }
    }
    if let Some(budget) = decided.budget {
        // Only a registered project has settings of its own.
        here.locate_or_register(home)?;
        set(Layer::Local, "budgetUsd", &format!("{}", budget.0 as f64 / 1_000_000.0))?;
    }
    Ok(())
}
