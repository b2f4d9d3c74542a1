//! The settings in force, typed. Made only by merging; which keys exist and what they default to is said in
//! [`crate::config::table`], not here.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::base::{Fault, MicroUsd, Secret};
use crate::config::{environment, mask};
use crate::model::event::CacheLife;

/// Everything that can be set, with the defaults filled in.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Settings {
    pub auth_groups: BTreeMap<String, AuthGroup>,
    pub default_auth: Option<String>,
    pub model: Option<String>,
    pub child_auth: Option<String>,
    pub child_model: Option<String>,
    pub effort: Option<String>,
    pub cache: CacheLives,
    pub models: BTreeMap<String, ModelFacts>,
    /// What one task may cost. Nothing: no limit.
    #[serde(default, rename = "budgetUsd", deserialize_with = "dollars")]
    pub budget: Option<MicroUsd>,
    pub max_depth: u32,
    /// How many open tasks a project may have before creating one more asks.
    pub max_tasks: u32,
    /// How many tasks an agent may create in one turn before it asks.
    pub max_tasks_per_turn: u32,
    pub max_running: u32,
    /// When a question with a default answers itself. Nothing: never.
    #[serde(default, rename = "clarifyTimeoutMs", deserialize_with = "optional_millis")]
    pub clarify_timeout: Option<Duration>,
    pub verify: Option<String>,
    /// Whether the person looks at work before it counts as done.
    pub review: bool,
    /// The profile of a task for which none is chosen.
    pub profile: String,
    /// The servers that may start. [`crate::config::Merged::servers`] also knows the others.
    pub mcp_servers: BTreeMap<String, McpServer>,
    pub approved_mcp_servers: Vec<String>,
    pub declined_mcp_servers: Vec<String>,
    pub approved_hooks: Vec<String>,
    pub declined_hooks: Vec<String>,
    pub approved_tasks: Vec<String>,
    pub declined_tasks: Vec<String>,
    pub approved_projects: Vec<String>,
    pub declined_projects: Vec<String>,
    pub theme: String,
    pub keys: BTreeMap<String, KeyBinding>,
    /// Whether the screen takes clicks and the wheel.
    pub mouse: bool,
    pub notify: Notify,
    /// How many sessions of closed tasks are kept when what is not needed is freed. Nothing: all.
    pub session_keep: Option<u32>,
    pub durability: Durability,
}

/// A way to reach a model.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuthGroup {
    pub provider: Provider,
    pub api_key: Option<Secret>,
    pub base_url: Option<Endpoint>,
    pub api: Option<OpenAiApi>,
    pub script: Option<PathBuf>,
}

/// Which interface an auth group speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Provider {
    Anthropic,
    Openai,
    Scripted,
}

/// Which of the two OpenAI interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpenAiApi {
    Responses,
    Chat,
}

/// An address that may carry a password: shown without it.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Endpoint(String);

impl Endpoint {
    pub fn new(address: impl Into<String>) -> Self {
        Self(address.into())
    }

    /// Returns the address as it must be used.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&mask::scrub(&self.0))
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({self})")
    }
}

/// How long the beginning of a conversation is kept by the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct CacheLives {
    pub root: CacheLife,
    pub child: CacheLife,
}

/// What the person knows about a model.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelFacts {
    pub window: Option<u64>,
    pub max_output: Option<u64>,
    pub prices: Option<Prices>,
}

/// What a million tokens cost. Nothing: not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Prices {
    #[serde(default, deserialize_with = "dollars")]
    pub input: Option<MicroUsd>,
    #[serde(default, deserialize_with = "dollars")]
    pub output: Option<MicroUsd>,
    #[serde(default, deserialize_with = "dollars")]
    pub cache_read: Option<MicroUsd>,
    #[serde(default, deserialize_with = "dollars")]
    pub cache_write_5m: Option<MicroUsd>,
    #[serde(default, deserialize_with = "dollars")]
    pub cache_write_1h: Option<MicroUsd>,
}

/// A server of external tools.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpServer {
    #[serde(flatten)]
    pub transport: Transport,
    /// How long one call may take.
    #[serde(rename = "timeoutMs", deserialize_with = "millis")]
    pub timeout: Duration,
    pub disabled: bool,
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Transport {
    /// A program that is started, and spoken to over its standard input and output.
    Stdio { command: String, args: Args, env: BTreeMap<String, Secret>, cwd: Option<PathBuf> },
    /// A server that runs.
    Http { url: Endpoint, headers: BTreeMap<String, Secret> },
}

/// A program's arguments: shown without what looks like a secret.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Args(Vec<String>);

impl Args {
    /// Returns the arguments as they must be passed.
    pub fn expose(&self) -> &[String] {
        &self.0
    }
}

impl fmt::Debug for Args {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(mask::scrub_args(&self.0)).finish()
    }
}

/// The keys of an action. None: the action has no key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyBinding(pub Vec<String>);

impl<'de> Deserialize<'de> for KeyBinding {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum OneOrMany {
            One(String),
            Many(Vec<String>),
        }
        Ok(match OneOrMany::deserialize(deserializer)? {
            OneOrMany::One(key) => Self(vec![key]),
            OneOrMany::Many(keys) => Self(keys),
        })
    }
}

/// How the person is told that something waits.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Notify {
    pub desktop: bool,
    pub bell: bool,
    pub command: Option<String>,
}

/// When an event counts as kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// When the disk has it.
    Sync,
    /// When the operating system has it.
    Os,
}

/// Why no auth group can be chosen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoAuth {
    #[error("no way to reach a model is set up")]
    None,
    #[error("there are several auth groups ({}) and no default", .0.join(", "))]
    Several(Vec<String>),
    #[error("there is no auth group \"{0}\"")]
    Missing(String),
}

impl From<NoAuth> for Fault {
    fn from(error: NoAuth) -> Self {
        let fault = Self::config(error.to_string());
        match error {
            NoAuth::None => fault
                .hint("set ANTHROPIC_API_KEY or OPENAI_API_KEY in the environment")
                .hint("or keep one: `mxd config set --global authGroups.main.provider anthropic`")
                .hint("and its key: `mxd config set --global authGroups.main.apiKey KEY`"),
            NoAuth::Several(_) => fault.hint("choose one: `mxd config set --global defaultAuth NAME`"),
            NoAuth::Missing(_) => fault.hint("`mxd config get authGroups` shows the groups there are"),
        }
    }
}

impl Settings {
    /// Returns the auth group called `name`.
    pub fn auth(&self, name: &str) -> Result<(&str, &AuthGroup), NoAuth> {
        let found = self.auth_groups.get_key_value(name).map(|(name, group)| (name.as_str(), group));
        found.ok_or_else(|| NoAuth::Missing(name.to_owned()))
    }

    /// Returns the auth group of the root: the one that is named, else the only one, else the environment's.
    pub fn root_auth(&self) -> Result<(&str, &AuthGroup), NoAuth> {
        if let Some(name) = &self.default_auth {
            return self.auth(name);
        }
        let groups = self.auth_groups.iter().map(|(name, group)| (name.as_str(), group));
        let (implicit, written): (Vec<_>, Vec<_>) = groups.partition(|(name, _)| environment::is_implicit(name));
        match written.as_slice() {
            [only] => Ok(*only),
            // Anthropic's sorts first; a group without a key is only the last resort.
            [] => implicit
                .iter()
                .find(|(_, group)| group.api_key.is_some())
                .or(implicit.first())
                .copied()
                .ok_or(NoAuth::None),
            many => Err(NoAuth::Several(many.iter().map(|(name, _)| (*name).to_owned()).collect())),
        }
    }

    /// Returns the auth group of sub tasks.
    pub fn child_auth(&self) -> Result<(&str, &AuthGroup), NoAuth> {
        self.child_auth.as_deref().map_or_else(|| self.root_auth(), |name| self.auth(name))
    }

    /// Returns the model of sub tasks.
    pub fn child_model(&self) -> Option<&str> {
        self.child_model.as_deref().or(self.model.as_deref())
    }
}

fn dollars<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<MicroUsd>, D::Error> {
    let Some(dollars) = Option::<f64>::deserialize(deserializer)? else { return Ok(None) };
    MicroUsd::from_dollars(dollars).map(Some).ok_or_else(|| D::Error::custom("not an amount of dollars"))
}

fn millis<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    u64::deserialize(deserializer).map(Duration::from_millis)
}

fn optional_millis<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    Ok(Option::deserialize(deserializer)?.map(Duration::from_millis))
}
