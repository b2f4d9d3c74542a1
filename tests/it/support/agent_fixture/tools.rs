//! Tools that leave traces: what was carried out stands in a file, with the id of the call.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use mxd::engine::tools::control::{Done, Yield};
use mxd::model::Image;
use mxd::tools::{Call, Handler, Registry, Reply, ToolEffect, TypedTool, names};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::{Barrier, watch};

/// Returns the name of a tool as a model says it.
pub fn tool(name: &str) -> String {
    names::wire(name)
}

/// Holds calls of `slow` until the test lets them go.
#[derive(Default)]
pub struct Brake(watch::Sender<bool>);

impl Brake {
    pub fn release(&self) {
        self.0.send_replace(true);
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TextInput {
    text: String,
}

/// Writes its call and its text into the ledger.
struct Note(PathBuf);

fn write(ledger: &PathBuf, call: &str, text: &str) {
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(ledger).unwrap();
    file.write_all(format!("{call} {text}\n").as_bytes()).unwrap();
}

impl Handler for Note {
    const NAME: &'static str = "note";
    const DESCRIPTION: &'static str = "Write a text into the ledger.";
    const EFFECT: ToolEffect = ToolEffect::Opaque;
    const EXAMPLE: &'static str = r#"{"text":"a"}"#;
    type Input = TextInput;

    async fn run(self: Arc<Self>, input: TextInput, call: Call) -> Reply {
        // Before and after its effect it can be killed like any tool that waits for something.
        tokio::task::yield_now().await;
        write(&self.0, &call.id, &input.text);
        tokio::task::yield_now().await;
        Reply::text(format!("noted {}", input.text))
    }
}

struct Echo;

impl Handler for Echo {
    const NAME: &'static str = "echo";
    const DESCRIPTION: &'static str = "Returns its text.";
    const EFFECT: ToolEffect = ToolEffect::Reads;
    const EXAMPLE: &'static str = r#"{"text":"a"}"#;
    type Input = TextInput;

    async fn run(self: Arc<Self>, input: TextInput, _: Call) -> Reply {
        Reply::text(input.text)
    }
}

struct Fail;

impl Handler for Fail {
    const NAME: &'static str = "fail";
    const DESCRIPTION: &'static str = "Fails.";
    const EFFECT: ToolEffect = ToolEffect::Reads;
    const EXAMPLE: &'static str = r#"{"text":"a"}"#;
    type Input = TextInput;

    async fn run(self: Arc<Self>, input: TextInput, _: Call) -> Reply {
        Reply::error(format!("It cannot be done: {}", input.text))
    }
}

/// Returns a picture whose bytes depend on the text.
struct Picture;

impl Handler for Picture {
    const NAME: &'static str = "picture";
    const DESCRIPTION: &'static str = "Returns a picture.";
    const EFFECT: ToolEffect = ToolEffect::Reads;
    const EXAMPLE: &'static str = r#"{"text":"a"}"#;
    type Input = TextInput;

    async fn run(self: Arc<Self>, input: TextInput, call: Call) -> Reply {
        let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
        bytes.extend_from_slice(input.text.as_bytes());
        let data = call.context.blobs.put(bytes).await.unwrap();
        let image = Image { data, media_type: "image/png".to_owned(), name: Some(format!("{}.png", input.text)) };
        Reply { images: vec![image], ..Reply::text("a picture") }
    }
}

/// Waits until the test releases the brake or cuts it short, then writes into the ledger.
struct Slow(PathBuf, Arc<Brake>);

impl Handler for Slow {
    const NAME: &'static str = "slow";
    const DESCRIPTION: &'static str = "Takes its time.";
    const EFFECT: ToolEffect = ToolEffect::Opaque;
    const EXAMPLE: &'static str = r#"{"text":"a"}"#;
    type Input = TextInput;

    async fn run(self: Arc<Self>, input: TextInput, call: Call) -> Reply {
        let mut released = self.1.0.subscribe();
        tokio::select! {
            biased;
            () = call.context.tokens.cancelled() => Reply::error(format!("Cut short: {}", input.text)),
            _ = released.wait_for(|released| *released) => {
                write(&self.0, &call.id, &input.text);
                Reply::text(format!("slowly {}", input.text))
            }
        }
    }
}

/// Only reads, and ends when two calls of it run at the same time.
struct Meet(Barrier);

impl Handler for Meet {
    const NAME: &'static str = "meet";
    const DESCRIPTION: &'static str = "Waits for another call of this tool.";
    const EFFECT: ToolEffect = ToolEffect::Reads;
    const EXAMPLE: &'static str = r#"{"text":"a"}"#;
    type Input = TextInput;

    async fn run(self: Arc<Self>, input: TextInput, _: Call) -> Reply {
        self.0.wait().await;
        Reply::text(format!("met {}", input.text))
    }
}

/// Returns every tool of the tests.
pub(super) fn registry(ledger: PathBuf, brake: Arc<Brake>) -> Registry {
    let mut registry = Registry::default();
    registry.add(Arc::new(TypedTool::new(Note(ledger.clone())))).unwrap();
    registry.add(Arc::new(TypedTool::new(Echo))).unwrap();
    registry.add(Arc::new(TypedTool::new(Meet(Barrier::new(2))))).unwrap();
    registry.add(Arc::new(TypedTool::new(Fail))).unwrap();
    registry.add(Arc::new(TypedTool::new(Picture))).unwrap();
    registry.add(Arc::new(TypedTool::new(Slow(ledger, brake)))).unwrap();
    registry.add(Arc::new(TypedTool::new(Yield))).unwrap();
    registry.add(Arc::new(TypedTool::new(Done { check: None }))).unwrap();
    registry
}
