//! The accepted tool lists of servers. Pure.
//!
//! A description is text that agents follow, so a list that changes after it was accepted is not used before the user
//! has seen the change. Until then the accepted list stays in force: tools keep their accepted description and
//! schema, and new tools are left out.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::base::text;
use crate::config::{Server, trust};
use crate::model::ToolSpec;
use crate::tools::mcp::offers::{Offer, Offers};
use crate::tools::names;

/// How much of an old and a new description is shown.
const SHOWN: usize = 2_000;

/// The accepted tool lists of a project's servers, stored between starts.
pub trait ToolLists: Send + Sync + std::fmt::Debug {
    /// Records the tools that a server offers and returns the list in force. The first list of an entry is accepted;
    /// a list that differs from it is reported to the user.
    fn review(&self, server: &str, entry: &str, offered: Vec<ToolSpec>) -> Vec<ToolSpec>;
}

/// The known tools of one server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownTools {
    /// The hash of the entry. A changed entry starts with a new list.
    pub entry: String,
    pub accepted: Vec<ToolSpec>,
    /// A list that differs, and is not decided yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered: Option<Vec<ToolSpec>>,
    /// The hash of a list that the user declined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declined: Option<String>,
}

impl KnownTools {
    /// Accepts the first list of an entry.
    pub fn first(entry: &str, tools: Vec<ToolSpec>) -> Self {
        Self { entry: entry.to_owned(), accepted: tools, offered: None, declined: None }
    }

    /// Records the tools that the server offers now. Returns true if anything changed.
    pub fn offer(&mut self, server: &str, tools: Vec<ToolSpec>) -> bool {
        let new = hash(server, &tools);
        let is_settled = new == hash(server, &self.accepted) || self.declined.as_ref() == Some(&new);
        let offered = (!is_settled).then_some(tools);
        let changed = self.offered.as_ref().map(|tools| hash(server, tools)) != offered.as_ref().map(|_| new);
        self.offered = offered;
        changed
    }

    /// Returns the change that the user has to decide about, if there is one.
    pub fn change(&self, server: &str) -> Option<ToolChange> {
        let offered = self.offered.as_ref()?;
        let lines = changes(&self.accepted, offered);
        Some(ToolChange { server: server.to_owned(), hash: hash(server, offered), lines })
    }

    /// Applies the user's decision about the list with this hash. Returns false if no such list is pending.
    pub fn decide(&mut self, server: &str, decided: &str, approved: bool) -> bool {
        if self.offered.as_ref().is_none_or(|offered| hash(server, offered) != decided) {
            return false;
        }
        let offered = self.offered.take().unwrap_or_default();
        if approved {
            *self = Self::first(&self.entry, offered);
        } else {
            self.declined = Some(decided.to_owned());
        }
        true
    }
}

/// A tool list that differs from the accepted one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolChange {
    pub server: String,
    /// The hash of the server and its list.
    pub hash: String,
    /// The differences, for the user.
    pub lines: Vec<String>,
}

pub(super) fn entry_hash(server: &Server) -> String {
    blake3::hash(server.in_full().join("\n").as_bytes()).to_hex().to_string()
}

/// Returns the hash of a list: names, descriptions and schemas, independent of their order.
fn hash(server: &str, tools: &[ToolSpec]) -> String {
    let tools: BTreeMap<&str, Value> = tools.iter().map(|tool| (tool.name.as_str(), content(tool))).collect();
    trust::hash(&json!({ "server": server, "tools": tools }))
}

fn content(tool: &ToolSpec) -> Value {
    let schema: Value = tool.schema.read().unwrap_or_default();
    json!({ "description": tool.description, "schema": schema })
}

/// Returns the offers that the list in force allows.
pub(super) fn allowed(offers: &Offers, in_force: &[ToolSpec]) -> Offers {
    let mut allowed = Offers { tools: Vec::new(), left_out: offers.left_out.clone() };
    for offer in &offers.tools {
        match in_force.iter().find(|spec| spec.name == offer.spec.name) {
            Some(spec) if *spec == offer.spec => allowed.tools.push(Arc::clone(offer)),
            Some(spec) => allowed.tools.push(Arc::new(Offer { spec: spec.clone(), ..Offer::clone(offer) })),
            None => {
                let name = text::headline(&offer.name, 60);
                allowed.left_out.push(format!("Its tool \"{name}\" is new, and the user has not accepted it yet."));
            }
        }
    }
    allowed
}

fn changes(old: &[ToolSpec], new: &[ToolSpec]) -> Vec<String> {
    let find = |list: &[ToolSpec], name: &str| list.iter().find(|tool| tool.name == name).cloned();
    let shown = |text: &str| format!("{:?}", text::prefix(text, SHOWN));
    let name = |tool: &ToolSpec| names::display_name(&tool.name).into_owned();
    let mut lines = Vec::new();
    for tool in new {
        let Some(before) = find(old, &tool.name) else {
            lines.push(format!("new tool {}: {}", name(tool), shown(&tool.description)));
            continue;
        };
        if before.description != tool.description {
            lines.push(format!("{} was described as: {}", name(tool), shown(&before.description)));
            lines.push(format!("{} is described as: {}", name(tool), shown(&tool.description)));
        }
        if content(&before)["schema"] != content(tool)["schema"] {
            lines.push(format!("{} took: {}", name(tool), shown(before.schema.as_str())));
            lines.push(format!("{} takes: {}", name(tool), shown(tool.schema.as_str())));
        }
    }
    let gone = old.iter().filter(|tool| find(new, &tool.name).is_none());
    lines.extend(gone.map(|tool| format!("{} is gone", name(tool))));
    lines
}

#[cfg(test)]
#[path = "tool_list_tests.rs"]
mod tests;
