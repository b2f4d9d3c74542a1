//! Converts a server's tools: wire names, unchanged schemas, and a reason for each tool that is left out. Pure.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use rmcp::model::{JsonObject, Tool};
use serde_json::Value;

use crate::base::{Json, text};
use crate::model::{ToolSpec, render};
use crate::tools::bound;
use crate::tools::names;
use crate::tools::tool::ToolEffect;

/// The longest name that every vendor accepts, if necessary shortened on its wire.
const LONGEST_NAME: usize = 128;
/// The largest schema of one tool: it is sent with every request.
const LONGEST_SCHEMA: usize = 64_000;
const LONGEST_DESCRIPTION: usize = 8 << 10;

#[derive(Clone, Debug)]
pub(super) struct Offer {
    pub(super) spec: ToolSpec,
    /// The server's name for it.
    pub(super) name: String,
    pub(super) effect: ToolEffect,
}

/// The tools of a server at one moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Offers {
    pub(super) tools: Vec<Arc<Offer>>,
    /// Why some of its tools are left out.
    pub(super) left_out: Vec<String>,
}

impl Offers {
    pub(super) fn new(server: &str, listed: Vec<Tool>) -> Self {
        let mut offers = Self::default();
        let mut seen = HashSet::new();
        for tool in listed {
            let name = tool.name.to_string();
            match offer(server, &tool) {
                Ok(_) if !seen.insert(name.clone()) => offers.leave_out(&name, "the server lists it twice"),
                Ok(offer) => offers.tools.push(Arc::new(offer)),
                Err(reason) => offers.leave_out(&name, &reason),
            }
        }
        offers
    }

    /// Returns the tool with this wire name.
    pub(super) fn find(&self, wire: &str) -> Option<&Arc<Offer>> {
        self.tools.iter().find(|offer| offer.spec.name == wire)
    }

    fn leave_out(&mut self, name: &str, reason: &str) {
        self.left_out.push(format!("Its tool \"{}\" is left out: {reason}.", text::headline(name, 60)));
    }
}

fn offer(server: &str, tool: &Tool) -> Result<Offer, String> {
    let name = tool.name.to_string();
    if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err("its name is empty, or has spaces or control characters in it".to_owned());
    }
    let wire = names::external(server, &name);
    if wire.len() > LONGEST_NAME {
        return Err(format!(
            "its full name \"mcp__{server}__…\" has {} bytes and may have {LONGEST_NAME}; give the server a shorter name",
            wire.len()
        ));
    }
    let schema = schema(&tool.input_schema)?;
    let title = tool.title.as_deref().or_else(|| tool.annotations.as_ref()?.title.as_deref());
    let description = tool.description.as_deref().or(title).unwrap_or_default();
    let reads_only = tool.annotations.as_ref().is_some_and(|hints| hints.read_only_hint == Some(true));
    Ok(Offer {
        spec: ToolSpec {
            name: wire,
            description: render::escape_tags(&bound::text(description, LONGEST_DESCRIPTION)).into_owned(),
            schema,
        },
        name,
        effect: if reads_only { ToolEffect::Reads } else { ToolEffect::Opaque },
    })
}

/// Returns the schema unchanged, except for its type: vendors refuse a whole request if a schema is not an object,
/// and some servers omit that.
fn schema(schema: &JsonObject) -> Result<Json, String> {
    let unreadable = |error: serde_json::Error| format!("its schema cannot be written: {error}");
    let json = match schema.get("type") {
        Some(Value::String(kind)) if kind == "object" => Json::of(schema).map_err(unreadable)?,
        None => {
            let mut typed = JsonObject::new();
            typed.insert("type".to_owned(), Value::from("object"));
            typed.extend(schema.clone());
            Json::of(&typed).map_err(unreadable)?
        }
        Some(_) => return Err("its input is not an object".to_owned()),
    };
    // Escaped like any other foreign text; `<` occurs only within strings, so the JSON stays equivalent.
    let json = match render::escape_tags(json.as_str()) {
        Cow::Borrowed(_) => json,
        Cow::Owned(escaped) => Json::parse(escaped).map_err(unreadable)?,
    };
    let bytes = json.as_str().len();
    if bytes > LONGEST_SCHEMA {
        let (size, most) = (text::size(bytes as u64), text::size(LONGEST_SCHEMA as u64));
        return Err(format!("its schema has {size}; at most {most} are sent with every request"));
    }
    Ok(json)
}

#[cfg(test)]
#[path = "offers_tests.rs"]
mod tests;
