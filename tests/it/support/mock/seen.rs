//! A request as the mock sees it, whatever the wire: who said what, with the bytes of each message beside it.

use std::sync::Arc;

use serde_json::Value;

/// The wire formats the mock speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wire {
    Anthropic,
    Responses,
    Chat,
}

/// A request for an answer, or for a count of its tokens.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of the vendors' requests")]
pub struct Seen {
    pub wire: Wire,
    pub counting: bool,
    pub model: String,
    pub stream: bool,
    /// The client asked for usage in the stream (chat only; the others always tell).
    pub include_usage: bool,
    /// The client asked for reasoning it can send back (responses only).
    pub encrypted_reasoning: bool,
    pub output_limit: Option<u64>,
    /// The bytes of the system prompt without cache marks; empty if there is none outside the messages.
    pub system: Arc<str>,
    pub system_text: String,
    /// The bytes of the tools without cache marks.
    pub tools_raw: Arc<str>,
    pub tools: Vec<ToolDef>,
    pub entries: Vec<Entry>,
    /// Tools, system and message blocks in the order in which they are cached.
    pub blocks: Vec<CacheBlock>,
    pub body: Arc<str>,
    pub value: Value,
}

#[derive(Clone, Debug)]
pub struct ToolDef {
    pub name: String,
    pub schema: Option<Value>,
}

/// One message or item.
#[derive(Clone, Debug)]
pub struct Entry {
    pub role: Role,
    pub parts: Vec<Part>,
    /// Its bytes without cache marks.
    pub raw: Arc<str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    System,
    User,
    Assistant,
    /// A tool's result where results are messages of their own.
    Tool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    Text(String),
    Call(Call),
    Result(ToolResult),
    Thinking,
    Media,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub id: String,
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult {
    pub call: String,
    pub text: String,
    pub is_error: bool,
}

/// A piece of the prefix and whether the cache may end after it.
#[derive(Clone, Debug)]
pub struct CacheBlock {
    pub raw: String,
    pub mark: Option<Lifetime>,
    pub path: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lifetime {
    Minutes5,
    Hour1,
}

impl Entry {
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Call(_) | Part::Result(_) | Part::Thinking | Part::Media => None,
        })
    }

    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.parts.iter().filter_map(|part| match part {
            Part::Call(call) => Some(call),
            Part::Text(_) | Part::Result(_) | Part::Thinking | Part::Media => None,
        })
    }

    pub fn results(&self) -> impl Iterator<Item = &ToolResult> {
        self.parts.iter().filter_map(|part| match part {
            Part::Result(result) => Some(result),
            Part::Text(_) | Part::Call(_) | Part::Thinking | Part::Media => None,
        })
    }
}

impl Seen {
    /// Returns what was said after the model's last word.
    pub fn last_turn(&self) -> &[Entry] {
        let start = self.entries.iter().rposition(|e| e.role == Role::Assistant).map_or(0, |at| at + 1);
        &self.entries[start..]
    }

    /// Returns what was said before the model's first word.
    pub fn first_turn(&self) -> &[Entry] {
        let end = self.entries.iter().position(|e| e.role == Role::Assistant).unwrap_or(self.entries.len());
        &self.entries[..end]
    }

    pub fn last_user_texts(&self) -> impl Iterator<Item = &str> {
        self.last_turn().iter().filter(|e| e.role == Role::User).flat_map(Entry::texts)
    }

    pub fn first_user_texts(&self) -> impl Iterator<Item = &str> {
        self.first_turn().iter().filter(|e| e.role == Role::User).flat_map(Entry::texts)
    }

    pub fn user_texts(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().filter(|e| e.role == Role::User).flat_map(Entry::texts)
    }

    pub fn last_results(&self) -> impl Iterator<Item = &ToolResult> {
        self.last_turn().iter().flat_map(Entry::results)
    }

    /// Returns the tool that the call with this id called, last first: ids may come again after a compaction.
    pub fn tool_of_call(&self, id: &str) -> Option<&str> {
        let mut calls = self.entries.iter().rev().flat_map(Entry::calls);
        calls.find(|call| call.id == id).map(|call| call.name.as_str())
    }
}
