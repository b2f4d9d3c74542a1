//! Tools have usable, distinct names and schemas of objects.

use std::collections::HashSet;

use super::{Findings, Rule};
use crate::support::mock::seen::{Seen, Wire};

pub fn check(seen: &Seen, found: &mut Findings) {
    let longest = match seen.wire {
        Wire::Anthropic => 128,
        Wire::Responses | Wire::Chat => 64,
    };
    let mut names = HashSet::new();
    for (index, tool) in seen.tools.iter().enumerate() {
        let name = &tool.name;
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if name.is_empty() || name.len() > longest || !name.chars().all(legal) {
            found.add(
                Rule::ToolName,
                format!("tools.{index}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,{longest}}}$'"),
            );
        }
        if !names.insert(name) {
            found.add(Rule::DuplicateTool, format!("tools: Tool names must be unique. ({name})"));
        }
        let is_object = tool.schema.as_ref().is_some_and(|schema| {
            schema["type"] == "object" && schema.get("properties").is_none_or(serde_json::Value::is_object)
        });
        if !is_object {
            found.add(Rule::ToolSchema, format!("tools.{index}.custom.input_schema.type: Input should be 'object'"));
        }
    }
}
