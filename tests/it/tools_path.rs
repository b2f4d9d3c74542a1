//! The one path: look up, parse, gate, run, bound.

#![allow(clippy::unwrap_used, reason = "a helper of tests may fail like a test")]

use std::sync::Arc;

use futures::future::BoxFuture;
use mxd::tools::{
    Call, ControlRequest, Gate, GateRequest, Handler, Permission, Registry, Reply, ToolEffect, TypedTool, execute,
    names,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::tools_support::{Bench, path_in, tool_use};

/// A tool that comes from outside the room and has state of its own.
struct Echo {
    prefix: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EchoInput {
    text: String,
    #[serde(default)]
    times: Option<usize>,
}

impl Handler for Echo {
    const NAME: &'static str = "echo";
    const DESCRIPTION: &'static str = "Says it again.";
    const EFFECT: ToolEffect = ToolEffect::Reads;
    const EXAMPLE: &'static str = r#"{"text": "hello"}"#;
    type Input = EchoInput;

    async fn run(self: Arc<Self>, input: EchoInput, call: Call) -> Reply {
        match input.text.as_str() {
            "panic" => panic!("a fault"),
            "hang" => std::future::pending().await,
            "done" => Reply { control: Some(ControlRequest::Yield), ..Reply::text(call.id) },
            text => Reply::text(format!("{}{}", self.prefix, text.repeat(input.times.unwrap_or(1)))),
        }
    }
}

fn bench() -> Bench {
    let mut bench = Bench::new();
    let mut registry = Registry::builtin();
    registry.add(Arc::new(TypedTool::new(Echo { prefix: "> ".to_owned() }))).unwrap();
    bench.context.registry = Arc::new(registry);
    bench
}

#[tokio::test]
async fn a_tool_from_outside_runs_like_any_other() {
    let bench = bench();
    let reply = bench.call("echo", json!({"text": "hi"})).await;
    assert_eq!((reply.text.as_str(), reply.is_error), ("> hi", false));
    let reply = bench.call("echo", json!({"text": "done"})).await;
    assert_eq!((reply.text.as_str(), reply.control), ("call-1", Some(ControlRequest::Yield)));
}

#[test]
fn two_tools_cannot_have_one_name() {
    let mut registry = Registry::builtin();
    registry.add(Arc::new(TypedTool::new(Echo { prefix: String::new() }))).unwrap();
    let refused = registry.add(Arc::new(TypedTool::new(Echo { prefix: String::new() }))).unwrap_err();
    assert!(refused.to_string().contains("mcp__mxd__echo"));
}

#[tokio::test]
async fn an_unknown_tool_is_answered_with_the_ones_there_are() {
    let reply = bench().call("serch", json!({})).await;
    assert!(reply.is_error);
    assert!(reply.text.contains("Did you mean mcp__mxd__search?") && reply.text.contains("mcp__mxd__bash"));
}

#[tokio::test]
async fn an_old_name_still_works() {
    let bench = bench();
    bench.write("a.txt", "needle\n");
    let reply = bench.call("mcp__mxd__grep", json!({"pattern": "needle"})).await;
    assert_eq!(reply.text, "a.txt:1:needle");
}

#[tokio::test]
async fn a_wrong_input_names_the_field_and_shows_an_example_and_nothing_runs() {
    let bench = bench();
    let reply = bench.call("bash", json!({"command": "touch made", "timeout_seconds": "soon"})).await;
    assert!(reply.is_error);
    assert!(reply.text.contains("\"timeout_seconds\" must be a whole number, not \"soon\""), "{}", reply.text);
    assert!(reply.text.contains("A valid input: {\"command\""), "{}", reply.text);
    assert!(!bench.root.join("made").exists());
    let reply = bench.call("edit_file", json!({"path": "a", "edits": [{"old_string": "x"}]})).await;
    assert!(reply.text.contains("\"edits[0].new_string\" is missing"), "{}", reply.text);
}

#[tokio::test]
async fn an_input_that_was_not_json_is_said_to_be_so() {
    let bench = bench();
    let mut call = tool_use("bash", &json!({}));
    call.malformed = Some("{\"command\": \"ls".to_owned());
    let reply = execute(&call, &bench.context).await;
    assert!(reply.is_error && reply.text.contains("was not valid JSON") && reply.text.contains("A valid input"));
}

#[test]
fn every_example_is_a_valid_input() {
    for tool in Registry::builtin().iter() {
        let example = mxd::base::Json::parse(tool.example().unwrap()).unwrap();
        assert!(tool.prepare(&example).is_ok(), "{}", tool.spec().name);
    }
}

#[test]
fn schemas_are_objects_that_refuse_unknown_fields() {
    for tool in Registry::builtin().iter() {
        let schema: serde_json::Value = tool.spec().schema.read().unwrap();
        assert_eq!(schema["type"], "object", "{}", tool.spec().name);
        assert_eq!(schema["additionalProperties"], false, "{}", tool.spec().name);
        assert!(!tool.spec().schema.as_str().contains("$ref"), "{}", tool.spec().name);
        assert!(tool.spec().name.starts_with("mcp__mxd__") && tool.spec().description.len() < 1200);
        assert!(names::split(&tool.spec().name).is_some());
    }
}

struct Deny;

impl Gate for Deny {
    fn check<'a>(&'a self, request: GateRequest<'a>) -> BoxFuture<'a, Permission> {
        Box::pin(async move {
            match request.effect {
                ToolEffect::Reads => Permission::Granted { note: None },
                ToolEffect::Writes | ToolEffect::Opaque => {
                    Permission::Denied { reason: format!("no {}", request.name), note: None }
                }
            }
        })
    }
}

#[tokio::test]
async fn the_gate_stands_between_a_valid_call_and_its_effect() {
    let mut bench = bench();
    bench.context.gate = Arc::new(Deny);
    let reply = bench.bash("touch made").await;
    assert_eq!((reply.text.as_str(), reply.is_error), ("Not permitted: no mcp__mxd__bash", true));
    assert!(!bench.root.join("made").exists());
    assert!(!bench.call("list_files", json!({})).await.is_error);
}

#[tokio::test]
async fn a_panic_is_a_reply() {
    let reply = bench().call("echo", json!({"text": "panic"})).await;
    assert!(reply.is_error && reply.text.contains("a fault in Matrix itself"), "{}", reply.text);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_ignores_cancellation_is_left_behind() {
    let bench = bench();
    bench.context.tokens.interrupt.cancel();
    assert!(bench.call("echo", json!({"text": "hang"})).await.text.contains("Not run"));
    let bench = self::bench();
    let interrupt = bench.context.tokens.interrupt.clone();
    let call = tool_use("echo", &json!({"text": "hang"}));
    let (reply, ()) = tokio::join!(execute(&call, &bench.context), async { interrupt.cancel() });
    assert!(reply.is_error && reply.text.contains("Interrupted"));
}

#[tokio::test]
async fn a_reply_that_is_too_long_is_cut_and_kept() {
    let bench = bench();
    let reply = bench.call("echo", json!({"text": "0123456789\n", "times": 20_000})).await;
    assert!(reply.text.len() < bench.context.limits.reply_bytes + 500, "{}", reply.text.len());
    let full = reply.full.unwrap();
    assert_eq!(full.bytes, 2 + 11 * 20_000);
    let named = path_in(&reply.text, "the whole is in ", ": read it");
    assert_eq!(std::fs::metadata(named).unwrap().len(), full.bytes);
}
