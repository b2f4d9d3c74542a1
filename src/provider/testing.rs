//! Test support for providers: a small configuration, messages, and blobs in memory.

use std::collections::HashMap;
use std::io;

use crate::base::Json;
use crate::model::content::{BlobId, BlobRef, Content, Image};
use crate::model::conversation::{Block, Role, RoleMessage, Thought, ToolOutcome, ToolUse, Wire};
use crate::model::event::{CachePolicy, SessionConfig, SystemPrompt};
use crate::model::tool::ToolSpec;
use crate::provider::encode::{BlobSource, BodyOptions, EncodedMessage, body, encode_message};
use crate::provider::response::Signal;
use crate::provider::{Decoder, Response};

#[derive(Default)]
pub struct Blobs(HashMap<BlobId, Vec<u8>>);

impl Blobs {
    pub fn put(&mut self, bytes: &[u8]) -> BlobRef {
        let blob: BlobId = blake3::hash(bytes).to_hex().parse().unwrap();
        self.0.insert(blob.clone(), bytes.to_vec());
        BlobRef { blob, bytes: bytes.len() as u64 }
    }

    pub fn image(&mut self, bytes: &[u8], name: Option<&str>) -> Image {
        Image { data: self.put(bytes), media_type: "image/png".to_owned(), name: name.map(str::to_owned) }
    }
}

impl BlobSource for Blobs {
    fn read(&self, blob: &BlobId) -> io::Result<Vec<u8>> {
        self.0.get(blob).cloned().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }
}

pub fn config(wire: Wire) -> SessionConfig {
    let tool = |name: &str| ToolSpec {
        name: name.to_owned(),
        description: format!("Runs {name}."),
        schema: Json::parse(r#"{"type":"object"}"#).unwrap(),
    };
    SessionConfig {
        model: "test-model".to_owned(),
        wire,
        tools: vec![tool("bash"), tool("mcp__git hub__search.all")],
        system: SystemPrompt { stable: "Be brief.".to_owned(), variable: "Today.".to_owned() },
        cache: CachePolicy::default(),
        max_output: 4096,
        effort: None,
    }
}

pub fn user(blocks: Vec<Block>) -> RoleMessage {
    RoleMessage { role: Role::User, blocks }
}

pub fn assistant(blocks: Vec<Block>) -> RoleMessage {
    RoleMessage { role: Role::Assistant, blocks }
}

pub fn text(text: &str) -> Block {
    Block::Text(text.to_owned())
}

pub fn call(id: &str, name: &str, input: &str) -> Block {
    let input = Json::parse(input).unwrap();
    Block::ToolUse(ToolUse { call: id.to_owned(), name: name.to_owned(), input, malformed: None })
}

pub fn result(id: &str, text: &str, is_error: bool) -> Block {
    Block::ToolResult(ToolOutcome { call: id.to_owned(), content: Content::text(text), is_error, images: Vec::new() })
}

pub fn thought(wire: Wire, text: &str, signature: Option<&str>, redacted: Option<&str>) -> Block {
    Block::Thinking(Thought {
        text: text.to_owned(),
        signature: signature.map(str::to_owned),
        redacted: redacted.map(str::to_owned),
        wire,
    })
}

pub fn segments(wire: Wire, messages: &[RoleMessage], blobs: &Blobs) -> Vec<EncodedMessage> {
    messages.iter().map(|message| encode_message(wire, message, blobs).unwrap()).collect()
}

/// Returns the streaming request for a conversation, as text.
pub fn request(config: &SessionConfig, messages: &[RoleMessage], blobs: &Blobs) -> String {
    let body = body(config, &segments(config.wire, messages, blobs), &BodyOptions::streaming());
    String::from_utf8(body.to_bytes().to_vec()).unwrap()
}

/// Returns a stream of these events, named by their `type`.
pub fn stream(events: &[&str]) -> String {
    let line = |event: &&str| {
        let value: serde_json::Value = serde_json::from_str(event).unwrap_or_default();
        let name = value["type"].as_str().map(|name| format!("event: {name}\n")).unwrap_or_default();
        format!("{name}data: {event}\n\n")
    };
    events.iter().map(line).collect()
}

/// Decodes a whole stream.
pub fn decode(config: &SessionConfig, stream: &str) -> (Vec<Signal>, Result<Response, crate::provider::ApiError>) {
    let mut decoder = Decoder::new(config, "salt");
    let signals = decoder.push(stream.as_bytes());
    (signals, decoder.finish())
}
