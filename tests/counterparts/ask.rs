//! Our client against somebody else's server: `ask BASE_URL [WIRE...]`, wires being `anthropic`, `responses`, `chat`.
//!
//! On each wire it asks for text, for thinking, for a tool call whose result it sends back, and meets a limit. The server
//! answers as `aimock.sh` says. Prints what came, and fails if it was not what it should be.
#![allow(clippy::print_stdout, reason = "a program says what it saw")]

use std::error::Error;
use std::io;
use std::sync::Arc;

use mxd::base::{Json, Secret, SystemClock};
use mxd::model::content::BlobId;
use mxd::model::conversation::{Block, Role, RoleMessage, ToolOutcome, Wire};
use mxd::model::event::{SessionConfig, StopReason, SystemPrompt};
use mxd::model::{Content, ToolSpec};
use mxd::provider::encode::encode_message;
use mxd::provider::http::{HttpProvider, Timeouts};
use mxd::provider::{
    ApiError, BlobSource, BodyOptions, Credential, ErrorClass, Provider as _, ProviderRequest, Response, ResponseBlock,
    Signal,
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

type Failure = Box<dyn Error>;

struct NoBlobs;

impl BlobSource for NoBlobs {
    fn read(&self, blob: &BlobId) -> io::Result<Vec<u8>> {
        Err(io::Error::other(format!("there is no blob {blob} here")))
    }
}

struct Client {
    provider: HttpProvider,
    config: Arc<SessionConfig>,
}

/// A response, and the text that was shown on the way.
struct Answer {
    response: Response,
    shown: String,
}

impl Client {
    fn new(url: &str, wire: Wire) -> Result<Self, Failure> {
        let credential = Credential {
            group: "other".to_owned(),
            wire,
            base_url: url.to_owned(),
            api_key: Some(Secret::new("sk-other")),
        };
        let schema = r#"{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}"#;
        let config = SessionConfig {
            model: if wire == Wire::Anthropic { "claude-haiku-4-5" } else { "gpt-5" }.to_owned(),
            wire,
            tools: vec![ToolSpec {
                name: "read".to_owned(),
                description: "Reads a file.".to_owned(),
                schema: Json::parse(schema)?,
            }],
            system: SystemPrompt { stable: "You are asked.".to_owned(), variable: String::new() },
            max_output: 1_024,
            ..SessionConfig::default()
        };
        let provider = HttpProvider::new(credential, Timeouts::default(), Arc::new(SystemClock));
        Ok(Self { provider, config: Arc::new(config) })
    }

    async fn ask(&self, conversation: &[RoleMessage]) -> Result<Result<Answer, ApiError>, Failure> {
        let segments = conversation
            .iter()
            .map(|speech| encode_message(self.config.wire, speech, &NoBlobs))
            .collect::<Result<Vec<_>, _>>()?;
        let call = ProviderRequest::respond(self.config.clone(), &segments, &BodyOptions::streaming());
        let (signals, mut incoming) = mpsc::channel(64);
        let listened = async {
            let mut shown = String::new();
            while let Some(signal) = incoming.recv().await {
                if let Signal::Text(text) = signal {
                    shown.push_str(&text);
                }
            }
            shown
        };
        let (response, shown) = tokio::join!(self.provider.respond(call, signals, CancellationToken::new()), listened);
        Ok(response.map(|response| Answer { response, shown }))
    }
}

fn user(text: &str) -> RoleMessage {
    RoleMessage { role: Role::User, blocks: vec![Block::Text(text.to_owned())] }
}

/// Returns the response as the conversation keeps it.
fn kept(response: &Response) -> RoleMessage {
    let blocks = response.blocks.iter().cloned().map(|block| match block {
        ResponseBlock::Text(text) => Block::Text(text),
        ResponseBlock::Thinking(thought) => Block::Thinking(thought),
        ResponseBlock::ToolUse(call) => Block::ToolUse(call),
    });
    RoleMessage { role: Role::Assistant, blocks: blocks.collect() }
}

fn check(holds: bool, what: &str, seen: impl std::fmt::Debug) -> Result<(), Failure> {
    if holds {
        println!("  ok: {what}");
        return Ok(());
    }
    Err(format!("{what}: {seen:?}").into())
}

async fn talk(url: &str, wire: Wire) -> Result<(), Failure> {
    println!("{wire:?}");
    let client = Client::new(url, wire)?;

    let text = client.ask(&[user("AIMOCK_TEXT")]).await??;
    check(text.response.text() == "Hello from the other side.", "a text", &text.response)?;
    check(text.shown == text.response.text(), "shown as it came", &text.shown)?;
    check(text.response.stop == StopReason::EndTurn, "a stop reason", &text.response.stop)?;
    println!("  usage: {:?} (reported: {})", text.response.tokens, text.response.usage_reported);

    let mut thought = vec![user("AIMOCK_THINK")];
    let answer = client.ask(&thought).await??;
    check(answer.response.text() == "I have thought.", "a text after thinking", &answer.response)?;
    thought.push(kept(&answer.response));
    thought.push(user("AIMOCK_TEXT again"));
    let answer = client.ask(&thought).await??;
    check(!answer.response.text().is_empty(), "a conversation with thinking in it", &answer.response)?;

    let mut conversation = vec![user("AIMOCK_TOOL")];
    let called = client.ask(&conversation).await??.response;
    let call = called.calls().next().cloned().ok_or("no tool was called")?;
    check(call.name == "read" && call.input.as_str().contains("hello.txt"), "a tool call", &call)?;
    check(called.stop == StopReason::ToolUse, "its stop reason", &called.stop)?;
    conversation.push(kept(&called));
    let outcome =
        ToolOutcome { call: call.call, content: Content::text("Hello."), is_error: false, images: Vec::new() };
    conversation.push(RoleMessage { role: Role::User, blocks: vec![Block::ToolResult(outcome)] });
    let answer = client.ask(&conversation).await??;
    check(answer.response.text() == "The file was read.", "an answer to its result", &answer.response)?;

    match client.ask(&[user("AIMOCK_LIMIT")]).await? {
        Err(error) => check(error.class == ErrorClass::RateLimit, "a limit", error.to_string()),
        Ok(answer) => Err(format!("no limit but {:?}", answer.response).into()),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().or_else(|| std::env::var("AIMOCK_URL").ok()).ok_or("ask BASE_URL [WIRE...]")?;
    let mut wires: Vec<Wire> = Vec::new();
    for word in arguments {
        wires.push(match word.as_str() {
            "anthropic" => Wire::Anthropic,
            "responses" => Wire::OpenaiResponses,
            "chat" => Wire::OpenaiChat,
            other => return Err(format!("there is no wire called {other}").into()),
        });
    }
    if wires.is_empty() {
        wires = vec![Wire::Anthropic, Wire::OpenaiResponses, Wire::OpenaiChat];
    }
    for wire in wires {
        talk(&url, wire).await?;
    }
    println!("all passed");
    Ok(())
}
