//! The rules that every request is held to, and what is said when one is broken.
//!
//! A rule is never stricter than the API it stands for, except where it is ours: prefix and duplicate rules protect
//! the cache and the log. Sentences follow the vendors' own, so that a client's classifier meets what it will meet.

pub mod cache;
pub mod duplicate;
pub mod pairing;
pub mod prefix;
pub mod roles;
pub mod tools;

use super::seen::{Role, Seen, Wire};

/// What a request can violate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    NotJson,
    MissingField,
    InvalidField,
    UnknownField,
    Header,
    FirstRole,
    LastRole,
    RoleOrder,
    BlockRole,
    UnansweredToolUse,
    OrphanToolResult,
    DuplicateToolResult,
    DuplicateToolUse,
    EmptyText,
    DuplicateMessage,
    CacheLifetime,
    CacheBreakpoints,
    ToolName,
    DuplicateTool,
    ToolSchema,
    MaxTokens,
    ThinkingBudget,
    ThinkingSignature,
    ReasoningAlone,
    PrefixSystem,
    PrefixTools,
    PrefixMessages,
    PrefixShrunk,
    ForkPrefix,
    Expectation,
    UnknownCapture,
    QueueEmpty,
    AmbiguousConversation,
}

/// A broken rule and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The number of the request, from 1.
    pub request: usize,
    pub conversation: String,
    pub rule: Rule,
    pub sentence: String,
}

/// What was found wrong with one request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings(pub Vec<(Rule, String)>);

impl Findings {
    pub fn add(&mut self, rule: Rule, sentence: impl Into<String>) {
        self.0.push((rule, sentence.into()));
    }
}

/// Holds `seen` to every rule that needs nothing but the request itself.
pub fn check_alone(seen: &Seen, max_output: u64, may_end_with_assistant: bool, found: &mut Findings) {
    roles::check(seen, may_end_with_assistant, found);
    pairing::check(seen, found);
    tools::check(seen, found);
    cache::check(seen, found);
    duplicate::check(seen, found);
    empty_text(seen, found);
    output_limit(seen, max_output, found);
}

fn empty_text(seen: &Seen, found: &mut Findings) {
    for (index, entry) in seen.entries.iter().enumerate() {
        if entry.role != Role::Tool && entry.texts().any(|text| text.trim().is_empty()) {
            found.add(Rule::EmptyText, format!("messages.{index}: text content blocks must be non-empty"));
        }
    }
}

fn output_limit(seen: &Seen, max_output: u64, found: &mut Findings) {
    let Some(limit) = seen.output_limit else { return };
    let model = &seen.model;
    if limit == 0 {
        found.add(Rule::MaxTokens, "max_tokens: Input should be greater than or equal to 1");
    } else if limit > max_output {
        found.add(
            Rule::MaxTokens,
            match seen.wire {
                Wire::Anthropic => format!(
                    "max_tokens: {limit} > {max_output}, which is the maximum allowed number of output tokens for {model}"
                ),
                Wire::Responses | Wire::Chat => format!(
                    "max_tokens is too large: {limit}. This model supports at most {max_output} completion tokens, \
                     whereas you provided {limit}."
                ),
            },
        );
    }
    let budget = seen.value["thinking"]["budget_tokens"].as_u64();
    if let Some(budget) = budget.filter(|budget| *budget >= limit) {
        found.add(
            Rule::ThinkingBudget,
            format!("`max_tokens` must be greater than `thinking.budget_tokens` ({limit} against {budget})."),
        );
    }
}
