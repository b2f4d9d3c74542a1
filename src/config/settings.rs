//! The effective settings as typed values. Created only by merging; keys and defaults are declared in
//! [`crate::config::table`].

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::base::{Fault, MicroUsd, Secret};
use crate::config::hooks::HookGroup;
use crate::config::{environment, mask};
use crate::model::event::CacheLife;
use crate::permit::Mode;

/// All settings, with defaults.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub struct Settings {
    pub auth_groups: BTreeMap<String, AuthGroup>,
    pub default_auth: Option<String>,
    pub model: Option<String>,
    pub child_auth: Option<String>,
    pub child_model: Option<String>,
    pub effort: Option<String>,
    pub cache: CacheLives,
    pub models: BTreeMap<String, ModelFacts>,
    /// The budget of one task. `None` for no limit.
    #[serde(default, rename = "budgetUsd", deserialize_with = "dollars")]
    pub budget: Option<MicroUsd>,
    pub max_depth: u32,
    /// Number of open tasks from which creating another needs the user's approval.
    pub max_tasks: u32,
    /// Number of tasks an agent may create in one turn without the user's approval.
    pub max_tasks_per_turn: u32,
    pub max_running: u32,
    /// Time after which a question is answered with its default. `None` for never.
    #[serde(default, rename = "clarifyTimeoutMs", deserialize_with = "optional_millis")]
    pub clarify_timeout: Option<Duration>,
    pub verify: Option<String>,
    /// Whether the user reviews work before a task passes.
    pub review: bool,
    /// The default profile of new tasks.
    pub profile: String,
    /// The backend of profiles that name none.
    pub backend: String,
    pub backends: BTreeMap<String, BackendEntry>,
    pub outside_agents: bool,
    pub permissions: Permissions,
    /// When the user allowed the mode `bypass` in this project.
    pub bypass_consent: Option<String>,
    /// The user's own hooks, by event.
    pub hooks: BTreeMap<String, Vec<HookGroup>>,
    pub disable_all_hooks: bool,
    /// `None` allows all.
    pub allowed_http_hook_urls: Option<Vec<String>>,
    pub approved_lifecycle_hooks: Vec<String>,
    /// The servers that may start. [`crate::config::Merged::servers`] also has the others.
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
    /// Whether the UI captures the mouse.
    pub mouse: bool,
    pub notify: Notify,
    #[serde(default)]
    pub serve: Serve,
    /// Other machines, as ssh names them.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// Number of sessions of closed tasks that gc keeps. `None` for all.
    pub session_keep: Option<u32>,
    pub durability: Durability,
    pub on_hangup: OnHangup,
}

/// A provider with its credentials.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuthGroup {
    pub provider: Provider,
    pub api_key: Option<Secret>,
    pub base_url: Option<Endpoint>,
    pub api: Option<OpenAiApi>,
    pub script: Option<PathBuf>,
}

/// The API of an auth group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Provider {
    Anthropic,
    Openai,
    Scripted,
}

/// One of the two OpenAI APIs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpenAiApi {
    Responses,
    Chat,
}

/// An address that may contain a password, which is masked in output.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Endpoint(String);

impl Endpoint {
    pub fn new(address: impl Into<String>) -> Self {
        Self(address.into())
    }

    /// Returns the unmasked address.
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

/// The lifetime of the provider's prompt cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct CacheLives {
    pub root: CacheLife,
    pub child: CacheLife,
}

/// The user's facts about a model.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelFacts {
    pub window: Option<u64>,
    pub max_output: Option<u64>,
    pub prices: Option<Prices>,
}

/// Prices per million tokens. `None` if unknown.
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

/// An MCP server.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpServer {
    #[serde(flatten)]
    pub transport: Transport,
    /// The timeout of one call.
    #[serde(rename = "timeoutMs", deserialize_with = "millis")]
    pub timeout: Duration,
    pub disabled: bool,
}

/// How an outside agent program is started.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackendEntry {
    pub command: Option<String>,
    pub args: Option<Args>,
    pub env: BTreeMap<String, Secret>,
    pub inherit: Vec<String>,
    pub protocol: BackendProtocol,
    pub mode: Option<String>,
    /// How long it may take to open a session.
    #[serde(rename = "startMs", deserialize_with = "millis")]
    pub start: Duration,
    /// How long it may be silent during a turn.
    #[serde(rename = "idleMs", deserialize_with = "millis")]
    pub idle: Duration,
    pub disabled: bool,
}

/// The protocol of an outside agent program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BackendProtocol {
    #[default]
    Acp,
    Json,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Transport {
    /// A program to start, which communicates over stdin and stdout.
    Stdio { command: String, args: Args, env: BTreeMap<String, Secret>, cwd: Option<PathBuf> },
    /// A running server.
    Http { url: Endpoint, headers: BTreeMap<String, Secret> },
}

/// A program's arguments. Possible secrets are masked in output.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Args(Vec<String>);

impl Args {
    /// Returns the unmasked arguments.
    pub fn expose(&self) -> &[String] {
        &self.0
    }
}

impl fmt::Debug for Args {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(mask::scrub_args(&self.0)).finish()
    }
}

/// What agents may do without asking, from all layers. [`crate::config::Merged::rules`] has the parsed rules.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Permissions {
    #[serde(default, deserialize_with = "permission_mode")]
    pub mode: Option<Mode>,
    pub allow: Vec<String>,
    pub ask: Vec<String>,
    pub deny: Vec<String>,
}

/// The keys of an action. Empty if the action has no key.
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

/// How the user is notified.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Notify {
    pub desktop: bool,
    pub bell: bool,
    pub command: Option<String>,
}

/// How `mxd serve` can be reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Serve {
    /// The address for HTTP. `None` for no HTTP.
    pub http: Option<String>,
}

/// When an event counts as saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// When it is on the disk.
    Sync,
    /// When the operating system has it. A power failure may lose it.
    Os,
}

/// What agents do when the terminal is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnHangup {
    /// Go on without a screen.
    Continue,
    Stop,
}

/// The reason why no auth group can be selected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    #[error("no model provider is configured")]
    None,
    #[error("there are several auth groups ({}) and no default is set", .0.join(", "))]
    Several(Vec<String>),
    #[error("there is no auth group \"{0}\"")]
    Missing(String),
}

impl From<AuthError> for Fault {
    fn from(error: AuthError) -> Self {
        let fault = Self::config(error.to_string());
        match error {
            AuthError::None => fault
                .hint("set ANTHROPIC_API_KEY or OPENAI_API_KEY in the environment")
                .hint("or save one in the settings: `mxd config set --global authGroups.main.provider anthropic`")
                .hint("and its key: `mxd config set --global authGroups.main.apiKey KEY`"),
            AuthError::Several(_) => fault.hint("choose one: `mxd config set --global defaultAuth NAME`"),
            AuthError::Missing(_) => fault.hint("`mxd config get authGroups` lists the groups"),
        }
    }
}

impl Settings {
    pub fn auth(&self, name: &str) -> Result<(&str, &AuthGroup), AuthError> {
        let found = self.auth_groups.get_key_value(name).map(|(name, group)| (name.as_str(), group));
        found.ok_or_else(|| AuthError::Missing(name.to_owned()))
    }

    /// Returns the auth group of the root: the default, else the only one, else the environment's.
    pub fn root_auth(&self) -> Result<(&str, &AuthGroup), AuthError> {
        if let Some(name) = &self.default_auth {
            return self.auth(name);
        }
        let groups = self.auth_groups.iter().map(|(name, group)| (name.as_str(), group));
        let (implicit, written): (Vec<_>, Vec<_>) = groups.partition(|(name, _)| environment::is_implicit(name));
        match written.as_slice() {
            [only] => Ok(*only),
            // Anthropic sorts first. A group without a key is the last resort.
            [] => implicit
                .iter()
                .find(|(_, group)| group.api_key.is_some())
                .or(implicit.first())
                .copied()
                .ok_or(AuthError::None),
            many => Err(AuthError::Several(many.iter().map(|(name, _)| (*name).to_owned()).collect())),
        }
    }

    /// Returns the auth group of subtasks.
    pub fn child_auth(&self) -> Result<(&str, &AuthGroup), AuthError> {
        self.child_auth.as_deref().map_or_else(|| self.root_auth(), |name| self.auth(name))
    }

    /// Returns the model of subtasks.
    pub fn child_model(&self) -> Option<&str> {
        self.child_model.as_deref().or(self.model.as_deref())
    }
}

fn permission_mode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Mode>, D::Error> {
    let Some(word) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
    word.parse().map(Some).map_err(D::Error::custom)
}

fn dollars<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<MicroUsd>, D::Error> {
    let Some(dollars) = Option::<f64>::deserialize(deserializer)? else { return Ok(None) };
    MicroUsd::from_dollars(dollars).map(Some).ok_or_else(|| D::Error::custom("not an amount in USD"))
}

fn millis<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    u64::deserialize(deserializer).map(Duration::from_millis)
}

fn optional_millis<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    Ok(Option::deserialize(deserializer)?.map(Duration::from_millis))
}
