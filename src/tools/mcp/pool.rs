//! The servers of a project, shared by all its agents.

use std::collections::HashSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use futures::future::join_all;
use serde::Serialize;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::base::IdSource;
use crate::config::{Server, ServerState};
use crate::model::ToolSpec;
use crate::process::Environment;
use crate::tools::mcp::failure::{Failure, seconds};
use crate::tools::mcp::offers::Offers;
use crate::tools::mcp::slot::{Lease, ServerHealth, ServerStatus, Slot, unapproved};
use crate::tools::mcp::tool::{ExternalTool, UnconfiguredTool};
use crate::tools::mcp::tool_list::{self, ToolLists};
use crate::tools::names;
use crate::tools::tool::{Tool, ToolEffect};

/// The environment of servers, besides their entries.
#[derive(Clone, Debug)]
pub struct Options {
    /// The project's folder. Servers start in it; relative paths in their entries are resolved against it.
    pub root: PathBuf,
    /// The folder for the error streams of servers, as `mcp-<server>.log`. `None` keeps only their last lines.
    pub logs: Option<PathBuf>,
    /// The folder of the records of running processes, which the next start sweeps.
    pub records: Option<PathBuf>,
    /// The environment variables of servers, before those of their entries.
    pub environment: Environment,
    pub ids: IdSource,
    pub limits: Limits,
    /// The tool lists that the user accepted. `None` accepts every list.
    pub tool_lists: Option<Arc<dyn ToolLists>>,
}

#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How long [`Pool::tools`] waits for servers that are not ready. A little longer than the 10 s after which a
    /// server that ignores the newer handshake gets the older one.
    pub wait: Duration,
    /// How long a server may take to get ready. Some are downloaded first.
    pub start: Duration,
    /// How long an unused server is kept.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { wait: Duration::from_secs(12), start: Duration::from_secs(60), grace: Duration::from_secs(60) }
    }
}

/// Tools that are missing, with the reason for the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MissingTools {
    pub server: String,
    pub reason: String,
}

/// The configured servers. Dropping the pool ends them all.
pub struct Pool {
    slots: RwLock<Vec<Arc<Slot>>>,
    options: Arc<Options>,
    closing: CancellationToken,
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.slots().iter().map(|slot| slot.name())).finish()
    }
}

impl Pool {
    /// Returns a pool of these servers, without starting them.
    pub fn new(servers: Vec<Server>, options: Options) -> Self {
        let (options, closing) = (Arc::new(options), CancellationToken::new());
        let active: HashSet<String> = servers
            .iter()
            .filter(|server| server.state == ServerState::Active)
            .map(|server| server.name.clone())
            .collect();
        // Of two entries with one name, the active one counts.
        let counts = |server: &Server| server.state == ServerState::Active || !active.contains(&server.name);
        let slots = servers
            .into_iter()
            .filter(counts)
            .map(|server| Arc::new(Slot::new(server, Arc::clone(&options), closing.clone())))
            .collect();
        Self { slots: RwLock::new(slots), options, closing }
    }

    fn slots(&self) -> Vec<Arc<Slot>> {
        self.slots.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn is_empty(&self) -> bool {
        self.slots().is_empty()
    }

    /// Lets the server with this entry hash start, after the user approved it.
    pub fn approve(&self, hash: &str) {
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        for slot in slots.iter_mut() {
            if matches!(&slot.server.state, ServerState::NeedsApproval { hash: asked } if asked == hash) {
                let server = Server { state: ServerState::Active, ..slot.server.clone() };
                *slot = Arc::new(Slot::new(server, Arc::clone(&self.options), self.closing.clone()));
            }
        }
    }

    /// Returns every tool of every server that is ready in time, and the missing ones. Starts servers that do not
    /// run.
    pub async fn tools(&self) -> (Vec<Arc<dyn Tool>>, Vec<MissingTools>) {
        let slots = self.slots();
        let listings = join_all(slots.iter().map(|slot| self.listing(slot))).await;
        let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
        let mut missing = Vec::new();
        let mut taken = HashSet::new();
        for (slot, listing) in slots.iter().zip(listings) {
            let mut miss = |reason| missing.push(MissingTools { server: slot.name().to_owned(), reason });
            let offers = match listing {
                Some(Ok(offers)) => offers,
                Some(Err(reason)) => {
                    miss(slot.clean(&reason));
                    continue;
                }
                None => continue,
            };
            for offer in &offers.tools {
                if taken.insert(offer.spec.name.clone()) {
                    tools.push(Arc::new(ExternalTool::new(offer.spec.clone(), offer.effect, Lease::new(slot))));
                } else {
                    // Server "a" with tool "_b" and server "a_" with tool "b" have the same wire name.
                    miss(format!(
                        "Its tool \"{}\" is left out: another server already has a tool called \"{}\"; rename a server.",
                        offer.name, offer.spec.name
                    ));
                }
            }
            offers.left_out.iter().for_each(|sentence| miss(sentence.clone()));
        }
        (tools, missing)
    }

    /// Returns the external tools of a session's frozen specs, without starting anything: a server starts with the
    /// first call. Built-in tools are skipped.
    pub fn promised(&self, specs: &[ToolSpec]) -> Vec<Arc<dyn Tool>> {
        let external =
            specs.iter().filter(|spec| matches!(names::split(&spec.name), Some((server, _)) if server != names::OWN));
        let slots = self.slots();
        let tools = external.map(|spec| -> Arc<dyn Tool> {
            let of = |slot: &&Arc<Slot>| spec.name.starts_with(&names::external(slot.name(), ""));
            match slots.iter().find(of) {
                Some(slot) => Arc::new(ExternalTool::new(spec.clone(), ToolEffect::Opaque, Lease::new(slot))),
                None => Arc::new(UnconfiguredTool { spec: spec.clone() }),
            }
        });
        tools.collect()
    }

    /// Returns the status of every server.
    pub fn status(&self) -> Vec<ServerStatus> {
        let status = |slot: &Arc<Slot>| ServerStatus { server: slot.name().to_owned(), health: slot.health() };
        self.slots().iter().map(status).collect()
    }

    /// Ends every server and waits until their processes have ended.
    pub async fn shutdown(&self) {
        self.closing.cancel();
        let slots = self.slots();
        join_all(slots.iter().map(|slot| slot.close())).await;
    }

    /// Returns the tools of a server that the user has accepted.
    fn accepted(&self, slot: &Slot, offers: Arc<Offers>) -> Arc<Offers> {
        let Some(lists) = &self.options.tool_lists else { return offers };
        let offered = offers.tools.iter().map(|offer| offer.spec.clone()).collect();
        let in_force = lists.review(slot.name(), &tool_list::entry_hash(&slot.server), offered);
        Arc::new(tool_list::allowed(&offers, &in_force))
    }

    /// Returns the tools of a server, or why there are none. `None` if the server is disabled.
    async fn listing(&self, slot: &Arc<Slot>) -> Option<Result<Arc<Offers>, String>> {
        match slot.health() {
            ServerHealth::Disabled => return None,
            ServerHealth::NeedsApproval { .. } => return Some(Err(unapproved(slot.name()))),
            ServerHealth::NotStarted
            | ServerHealth::Starting
            | ServerHealth::Ready { .. }
            | ServerHealth::Failed { .. } => {}
        }
        let _lease = Lease::new(slot);
        Some(match timeout(self.options.limits.wait, slot.offers()).await {
            Ok(Ok(offers)) => Ok(self.accepted(slot, offers)),
            Ok(Err(Failure::Unavailable { reason, .. })) => Err(reason),
            Ok(Err(failure)) => Err(failure.to_string()),
            Err(_) => Err(format!(
                "It was not ready within {}. It goes on starting; its tools come when the context is built anew.",
                seconds(self.options.limits.wait)
            )),
        })
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.closing.cancel();
        self.slots().iter().for_each(|slot| slot.abandon());
    }
}
