//! The fields of a profile: one table for the reader, the schema for editors and the documentation.

use serde_json::{Map, Value as Json, json};

use crate::config::yaml::Value;

/// A field of a profile.
pub struct Field {
    pub name: &'static str,
    /// What it means, as a sentence without its end.
    pub about: &'static str,
    kind: Kind,
}

/// The values of a field, for the schema.
enum Kind {
    Text,
    Names,
    Count(u32),
    Amount,
    Flag,
    Choice(&'static [&'static str]),
}

const MODES: &[&str] = &["ask", "edits", "sandboxed", "plan", "refuse", "bypass", "delegate"];

const fn field(name: &'static str, kind: Kind, about: &'static str) -> Field {
    Field { name, about, kind }
}

pub const FIELDS: [Field; 23] = [
    field("name", Kind::Text, "Letters, digits, - _ and .; the file name by default"),
    field("label", Kind::Text, "What people see instead of the name"),
    field("description", Kind::Text, "When to use it. Agents that delegate work read this. Required"),
    field("backend", Kind::Text, "The program that carries out its runs; not in a repository's profile"),
    field("model", Kind::Text, "A model id, or inherit for the configured model"),
    field("auth", Kind::Text, "An auth group of your settings; not in a repository's profile"),
    field("effort", Kind::Text, "How hard to think, in the provider's own word"),
    field("tools", Kind::Names, "The only tools it has"),
    field("disallowed_tools", Kind::Names, "Tools it does not have"),
    field("readonly", Kind::Flag, "true takes away the tools that write files and run commands"),
    field("max_turns", Kind::Count(1), "After this many turns the agent stops and asks you"),
    field("max_depth", Kind::Count(0), "How many levels of tasks may be below a task with this profile"),
    field("budget", Kind::Amount, "What a task with this profile may cost, in US dollars"),
    field("review", Kind::Flag, "Whether you review the work before it counts as done"),
    field("permissions", Kind::Choice(MODES), "The permission mode"),
    field("mode_after", Kind::Choice(MODES), "The permission mode after a plan was approved"),
    field("plan_review", Kind::Choice(&["user", "above"]), "Who reviews a plan first"),
    field("skills", Kind::Names, "The only skills it is told of; all by default"),
    field("preload", Kind::Names, "Skills whose whole text it is given at the start"),
    field("include", Kind::Names, "Files of the repository that it is given at the start"),
    field("system", Kind::Choice(&["add", "replace", "minimal"]), "What the prompt is added to"),
    field("prompt", Kind::Text, "Instructions in front of the text below the front matter"),
    field("mode", Kind::Choice(MODES), "Another name for permissions"),
];

/// Names of other programs for the same field.
const ALIASES: [(&str, &str); 6] = [
    ("budgetusd", "budget"),
    ("permissionmode", "permissions"),
    ("displayname", "label"),
    ("reasoningeffort", "effort"),
    ("isreadonly", "readonly"),
    ("steps", "max_turns"),
];

/// Fields of other programs without an equivalent, with what to do instead.
const UNSUPPORTED: [(&str, &str); 9] = [
    ("hooks", "a profile cannot add hooks"),
    ("mcpservers", "servers are configured in the settings (`mxd help mcp`); tools: can name their tools"),
    ("memory", "an agent keeps what it learns in .mxd/memory.md of the repository"),
    ("initialprompt", "the first message is the task's brief"),
    ("handoffs", "agents create tasks for each other with create_task"),
    ("temperature", "the provider's default is used"),
    ("topp", "the provider's default is used"),
    ("timeoutmins", "max_turns: and budget: limit a task"),
    ("permission", "use permissions: with a mode, or rules in the settings (`mxd help permissions`)"),
];

/// Fields of other programs that say what is true here anyway, or that only a person reads.
const SILENT: [&str; 11] = [
    "background",
    "isbackground",
    "isolation",
    "color",
    "colour",
    "kind",
    "author",
    "license",
    "metadata",
    "tags",
    "version",
];

/// The tools that `readonly` takes away.
pub const WRITING_TOOLS: [&str; 4] = ["write_file", "edit_file", "bash", "background"];

/// Similarity from which an unknown field counts as a typo of a known one.
const TYPO_SIMILARITY: f64 = 0.88;

/// What the key of a field means.
pub(super) enum FieldMeaning {
    Known(&'static str),
    /// It has no effect, and needs none.
    Silent,
    /// It has no effect: what to do instead.
    Unsupported(&'static str),
    Unknown,
    /// Nearly the name of this field.
    Typo(&'static str),
    /// A field that is expected here but has other names.
    Wrong(&'static str),
}

pub(super) fn meaning(key: &str, value: &Value) -> FieldMeaning {
    let wanted = fold(key);
    // Other programs say by `mode` where an agent can be chosen.
    let is_place = matches!(value, Value::Text { text, .. } if ["primary", "subagent", "all"].contains(&text.trim()));
    if wanted == "mode" {
        return if is_place { FieldMeaning::Silent } else { FieldMeaning::Known("permissions") };
    }
    if wanted == "knowledge" {
        return FieldMeaning::Wrong("skills: names skills, include: names files");
    }
    if let Some((_, field)) = ALIASES.iter().find(|(alias, _)| *alias == wanted) {
        return FieldMeaning::Known(field);
    }
    if let Some(field) = FIELDS.iter().find(|field| fold(field.name) == wanted) {
        return FieldMeaning::Known(field.name);
    }
    if SILENT.contains(&wanted.as_str()) {
        return FieldMeaning::Silent;
    }
    if let Some((_, instead)) = UNSUPPORTED.iter().find(|(name, _)| *name == wanted) {
        return FieldMeaning::Unsupported(instead);
    }
    let near = FIELDS.iter().map(|field| (strsim::jaro_winkler(&fold(field.name), &wanted), field.name));
    let nearest = near.max_by(|(a, _), (b, _)| a.total_cmp(b)).filter(|(score, _)| *score >= TYPO_SIMILARITY);
    nearest.map_or(FieldMeaning::Unknown, |(_, nearest)| FieldMeaning::Typo(nearest))
}

fn fold(name: &str) -> String {
    name.to_ascii_lowercase().replace(['_', '-'], "")
}

/// Returns the JSON schema of the front matter, for editors.
pub fn schema() -> Json {
    let properties: Map<String, Json> = FIELDS.iter().map(|field| (field.name.to_owned(), field.schema())).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Front matter of a Matrix profile",
        "type": "object",
        "required": ["description"],
        "properties": properties,
    })
}

impl Field {
    fn schema(&self) -> Json {
        let mut schema = match self.kind {
            Kind::Text => json!({"type": "string"}),
            Kind::Names => json!({"oneOf": [
                {"type": "array", "items": {"type": "string"}},
                {"type": "string", "description": "Names separated by commas"},
            ]}),
            Kind::Count(least) => json!({"type": "integer", "minimum": least}),
            Kind::Amount => json!({"type": ["number", "string"], "exclusiveMinimum": 0}),
            Kind::Flag => json!({"type": "boolean"}),
            Kind::Choice(words) => json!({"enum": words}),
        };
        schema["description"] = self.about.into();
        schema
    }
}

#[cfg(test)]
#[path = "fields_tests.rs"]
mod tests;
