//! What the tests of this room share: a small configuration, speeches, and blobs in memory.

use std::collections::HashMap;
use std::io;

use crate::base::Json;
use crate::model::content::{BlobId, BlobRef, Content, Image};
use crate::model::conversation::{Block, Role, Speech, Thought, ToolOutcome, ToolUse, Wire};
use crate::model::event::{CachePolicy, SessionConfig, SystemPrompt};
use crate::model::tool::ToolSpec;
use crate::provider::encode::{BlobSource, BodyOptions, Segment, body, encode_speech};
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

pub fn user(blocks: Vec<Block>) -> Speech {
    Speech { role: Role::User, blocks }
}

pub fn assistant(blocks: Vec<Block>) -> Speech {
    Speech { role: Role::Assistant, blocks }
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

pub fn segments(wire: Wire, speeches: &[Speech], blobs: &Blobs) -> Vec<Segment> {
    speeches.iter().map(|speech| encode_speech(wire, speech, blobs).unwrap()).collect()
}

/// Returns the streaming request for a conversation, as text.
pub fn request(config: &SessionConfig, speeches: &[Speech], blobs: &Blobs) -> String {
    let body = body(config, &segments(config.wire, speeches, blobs), &BodyOptions::streaming());
    String::from_utf8(body.whole().to_vec()).unwrap()
}

/// Returns the stream that these events make, with names where `type` gives one.
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
