//! The first start: what was found on this machine to reach a model with, and what to do next; the guided set-up, and
//! where what it decides is written.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;

use tokio::sync::mpsc;

use crate::app::setup::{self, Decided, Needs, Start, Vendor, Way};
use crate::base::{Clock, Fault, SystemClock, text};
use crate::cli::console::{Console, Failure};
use crate::cli::place::Here;
use crate::config::environment::is_implicit;
use crate::config::paths::Home;
use crate::config::{KeyPath, Layer, Settings};
use crate::git::place::PlaceError;
use crate::provider::Catalogue;
use crate::provider::local::{self, LocalServer, Wishes};

/// What a model of which nobody tells is taken to read at least.
const ASSUMED_WINDOW: u64 = 32_768;

/// The vendors: what each is called, its key, its address, the group that the environment makes of them.
const VENDORS: [(Vendor, &str, &str, &str, &str); 2] = [
    (Vendor::Anthropic, "Anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "env-anthropic"),
    (Vendor::Openai, "OpenAI", "OPENAI_API_KEY", "OPENAI_BASE_URL", "env-openai"),
];

/// What there is to reach a model with.
pub struct Findings {
    /// Variables that hold a key.
    keys: Vec<&'static str>,
    /// Auth groups of the settings.
    groups: Vec<String>,
    servers: Vec<LocalServer>,
    config: String,
    is_set_up: bool,
}

impl Findings {
    /// Looks at the settings, and at the usual ports of this machine.
    pub async fn gather(settings: &Settings, home: &Home) -> Self {
        let keyed = |group: &str| settings.auth_groups.get(group).is_some_and(|group| group.api_key.is_some());
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let said = |name| std::env::var(name).ok();
        let wishes = Wishes { ollama: said("OLLAMA_HOST"), only: said("MXD_LOCAL_SERVERS") };
        Self {
            keys: VENDORS.iter().filter(|vendor| keyed(vendor.4)).map(|vendor| vendor.2).collect(),
            groups: settings.auth_groups.keys().filter(|name| !is_implicit(name)).cloned().collect(),
            servers: local::find(&wishes, &clock).await,
            config: home.config().display().to_string(),
            is_set_up: is_set_up(settings),
        }
    }

    /// Returns what was found, a line each.
    pub fn lines(&self) -> Vec<String> {
        let key = match self.keys.as_slice() {
            [] => "Key in the environment: none (ANTHROPIC_API_KEY, OPENAI_API_KEY).".to_owned(),
            keys => format!("Key in the environment: {}.", keys.join(", ")),
        };
        let groups = match self.groups.as_slice() {
            [] => format!("Settings: no way to reach a model in {}.", self.config),
            groups => format!("Settings: auth group {} in {}.", groups.join(", "), self.config),
        };
        let mut lines = vec![key, groups];
        lines.extend(self.servers.iter().map(|LocalServer { name, base_url, models }| {
            if models.is_empty() {
                return format!("Local server: {name} at {base_url}, no model yet: `ollama pull NAME` fetches one.");
            }
            format!("Local server: {name} at {base_url}, {}.", text::count(models.len(), "model", "models"))
        }));
        if self.servers.is_empty() {
            let names: Vec<_> = local::names().collect();
            lines.push(format!("Local server: none on the usual ports ({}).", names.join(", ")));
        }
        lines
    }

    /// Returns the servers that have a model to offer.
    fn usable(&self) -> impl Iterator<Item = &LocalServer> {
        self.servers.iter().filter(|server| !server.models.is_empty())
    }

    /// Returns the next step, for somebody who is not in front of the screen.
    pub fn next(&self) -> &'static str {
        if self.is_set_up {
            "Next: `mxd`, and say what you want done; or `mxd run \"what you want\"`."
        } else if self.usable().next().is_none() {
            "Next: `mxd` or, without a screen, `mxd --plain` asks for what is missing; or set ANTHROPIC_API_KEY or OPENAI_API_KEY; `mxd demo` needs neither."
        } else {
            "Next: `mxd` offers the local server; or set ANTHROPIC_API_KEY or OPENAI_API_KEY."
        }
    }

    /// Returns the ways to choose from: what is at hand first.
    fn ways(&self, variable: impl Fn(&str) -> Option<OsString>) -> Vec<Way> {
        let vendors = VENDORS.iter().map(|(vendor, name, _, url, _)| {
            let address = variable(url).and_then(|url| url.into_string().ok()).filter(|url| !url.trim().is_empty());
            let note = address.as_ref().map_or_else(|| "with an API key".to_owned(), |url| format!("key for {url}"));
            Way { label: (*name).to_owned(), note, vendor: *vendor, address, needs: Needs::Key }
        });
        let servers = self.usable().map(|server| Way {
            label: format!("{} on this machine", server.name),
            note: format!("no key; {}", text::count(server.models.len(), "model", "models")),
            vendor: Vendor::Openai,
            address: Some(server.base_url.clone()),
            needs: Needs::Nothing,
        });
        let (addressed, plain): (Vec<_>, Vec<_>) = vendors.partition(|way| way.address.is_some());
        let other = Way {
            label: "Another server".to_owned(),
            note: "its address, and a key if it wants one".to_owned(),
            vendor: Vendor::Openai,
            address: None,
            needs: Needs::Address,
        };
        addressed.into_iter().chain(servers).chain(plain).chain([other]).collect()
    }
}

/// Tells whether agents can reach a model. An address without a key may be all that is needed, but rarely is.
pub fn is_set_up(settings: &Settings) -> bool {
    match settings.root_auth() {
        Ok((name, group)) => group.api_key.is_some() || !is_implicit(name),
        // What is wrong there is for the person to decide; another way would not help.
        Err(error) => error != crate::config::settings::NoAuth::None,
    }
}

/// Says what was found and what comes next, as lines.
pub fn say(console: &mut Console, findings: &Findings) -> Result<(), Failure> {
    findings.lines().iter().try_for_each(|line| console.line(line))?;
    console.line(findings.next())
}

/// How the set-up went on.
pub enum Then {
    /// Something was decided and is written down, or nothing was to be decided.
    Open {
        decided: bool,
    },
    Leave(u8),
}

/// Finds out what is missing before anything can be of use: a repository, a way to reach a model. Nothing: nothing is.
async fn missing(here: &Here, home: &Home, settings: &Settings, always: bool) -> Result<Option<Start>, Failure> {
    let mut start = Start::default();
    match here.place(&here.folder()?) {
        // What cannot be worked on is said before anything is asked.
        Ok(place) => match place.branch() {
            Err(PlaceError::NoCommit(top)) => start.no_commit = Some(top.display().to_string()),
            Err(error) if here.peek(home)?.is_none() => return Err(error.into()),
            Ok(_) | Err(_) => {}
        },
        Err(PlaceError::NotARepository(path)) if may_become_one(&path) => {
            start.no_repository = Some(path.display().to_string());
        }
        Err(error) => return Err(error.into()),
    }
    let asks = always || !is_set_up(settings);
    if start.no_repository.is_none() && start.no_commit.is_none() && !asks {
        return Ok(None);
    }
    if asks {
        let findings = Findings::gather(settings, home).await;
        start.found = findings.lines();
        start.ways = findings.ways(|name| std::env::var_os(name));
    }
    Ok(Some(start))
}

/// Asks for what is missing, on the screen.
pub async fn guide(here: &Here, home: &Home, settings: &Settings, always: bool) -> Result<Then, Failure> {
    let Some(start) = missing(here, home, settings, always).await? else { return Ok(Then::Open { decided: false }) };
    let options = setup::Options {
        start,
        folder: here.folder()?,
        home: home.clone(),
        theme: settings.theme.clone(),
        clock: Arc::new(SystemClock),
    };
    keep(here, home, settings, setup::set_up(options).await?)
}

/// Asks for what is missing, line by line.
pub async fn guide_in_lines(
    console: &mut Console,
    here: &Here,
    home: &Home,
    settings: &Settings,
    always: bool,
    lines: &mut mpsc::UnboundedReceiver<io::Result<String>>,
) -> Result<Then, Failure> {
    let Some(start) = missing(here, home, settings, always).await? else { return Ok(Then::Open { decided: false }) };
    let say = |line: &str| console.note(line);
    let end = setup::set_up_in_lines(start, here.folder()?, Arc::new(SystemClock), lines, say).await?;
    keep(here, home, settings, end)
}

fn keep(here: &Here, home: &Home, settings: &Settings, end: setup::End) -> Result<Then, Failure> {
    Ok(match end {
        setup::End::Decided(decided) => {
            write(here, home, settings, &decided)?;
            Then::Open { decided: true }
        }
        setup::End::Skipped => Then::Open { decided: false },
        setup::End::Quit => Then::Leave(0),
        setup::End::Stopped(code) => Then::Leave(code),
    })
}

/// Tells whether a folder can be offered to become a repository: a home folder or the root of a disk never is.
fn may_become_one(folder: &Path) -> bool {
    let home = directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_owned());
    let home = home.and_then(|home| std::fs::canonicalize(home).ok());
    folder.parent().is_some() && home.is_none_or(|home| !home.starts_with(folder))
}

/// Writes what was decided: the way, the key and the model to the person's own settings, the budget to the project's.
fn write(here: &Here, home: &Home, settings: &Settings, decided: &Decided) -> Result<(), Fault> {
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
    let set = |layer: Layer, key: &str, value: &str| here.settings_files(home)?.set(layer, key, Some(value));
    set(Layer::Global, &group.to_string(), &serde_json::Value::Object(entry).to_string())?;
    let others = settings.auth_groups.keys().any(|name| !is_implicit(name));
    if others {
        set(Layer::Global, "defaultAuth", &serde_json::Value::from(name).to_string())?;
    }
    if let Some(model) = &decided.model {
        set(Layer::Global, "model", &serde_json::Value::from(model.as_str()).to_string())?;
        if !decided.windowed && Catalogue::default().facts(model).is_err() {
            let window = KeyPath::top("models").child(model).child("window");
            set(Layer::Global, &window.to_string(), &ASSUMED_WINDOW.to_string())?;
        }
    }
    if let Some(budget) = decided.budget {
        // The project's own settings exist once it is registered.
        here.located_or_registered(home)?;
        set(Layer::Local, "budgetUsd", &format!("{}", budget.0 as f64 / 1_000_000.0))?;
    }
    Ok(())
}
