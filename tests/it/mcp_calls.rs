//! What external tools answer, and how it reaches a model.

#![allow(clippy::unwrap_used, reason = "a helper of tests may fail like a test")]

use std::time::Duration;

use mxd::tools::mcp::ServerHealth;
use mxd::tools::{CancelTokens, ToolEffect, execute};
use serde_json::{Value, json};

use crate::mcp_server;
use crate::mcp_support::{Servers, scripted};
use crate::tools_support::{path_in, runs, tool_use, until};

#[tokio::test]
async fn a_servers_tools_are_offered_page_by_page_with_their_schemas() {
    let servers = Servers::one().await;
    let registry = &servers.bench.context.registry;
    let offered: Vec<_> = registry.iter().filter(|tool| tool.spec().name.starts_with("mcp__box__")).collect();
    let listed = mcp_server::tools();
    assert_eq!(offered.len(), listed.len() - 1, "all but the one whose name has a space");
    let echo = registry.get("mcp__box__echo").unwrap();
    assert_eq!(echo.spec().description, "Says it again.");
    assert_eq!(echo.spec().schema.as_str(), listed[0]["inputSchema"].to_string());
    assert_eq!(echo.effect(), ToolEffect::Reads);
    assert_eq!(registry.get("mcp__box__sum").unwrap().effect(), ToolEffect::Opaque);
    let [missing] = servers.missing.as_slice() else { panic!("{:?}", servers.missing) };
    assert!(missing.server == "box" && missing.reason.contains("two words"), "{missing:?}");
    let ServerHealth::Ready { tools, protocol, .. } = servers.health("box") else { panic!("not ready") };
    assert_eq!((tools.len(), protocol.as_str()), (offered.len(), "2025-06-18"));
    servers.pool.shutdown().await;
}

#[tokio::test]
async fn text_structure_and_errors_arrive_as_they_were_meant() {
    let servers = Servers::one().await;
    let reply = servers.call("echo", json!({"text": "grüß dich\n"})).await;
    assert_eq!((reply.text.as_str(), reply.is_error), ("grüß dich\n", false));
    let reply = servers.call("sum", json!({"a": 2, "b": 40})).await;
    assert_eq!(reply.text, r#"{"sum":42}"#, "structured content that is also text is said once");
    let reply = servers.call("structured", json!({})).await;
    assert_eq!(reply.text, r#"{"rows":[1,2.5,null]}"#);
    let reply = servers.call("fail", json!({})).await;
    assert_eq!((reply.text.as_str(), reply.is_error), ("disk full", true));
    let reply = servers.call("empty", json!({})).await;
    assert_eq!((reply.text.as_str(), reply.is_error), ("(the answer is empty)", false));
    let reply = servers.call("refuse", json!({})).await;
    assert!(reply.is_error && reply.text.contains("refused the call: text is missing [-32602]"), "{}", reply.text);
    let reply = servers.call("echo", json!(["not", "an", "object"])).await;
    assert!(reply.is_error && reply.text.contains("must be a JSON object"), "{}", reply.text);
    servers.pool.shutdown().await;
}

#[tokio::test]
async fn pictures_sounds_and_resources_become_blobs_that_can_be_looked_at() {
    let servers = Servers::one().await;
    let reply = servers.call("picture", json!({})).await;
    assert_eq!(reply.images.len(), 1);
    assert_eq!(reply.images[0].media_type, "image/png");
    let kept = servers.bench.context.blobs.path(&reply.images[0].data);
    assert!(std::fs::read(kept).unwrap().starts_with(b"\x89PNG"));
    let lines: Vec<&str> = reply.text.lines().collect();
    assert_eq!(lines[..2], ["here:", "[picture: png picture, 1x1, 69 B]"]);
    assert_eq!(std::fs::read(path_in(lines[2], "[audio/wav, 3 B: kept in ", "]")).unwrap(), [0, 1, 2]);

    let reply = servers.call("resources", json!({})).await;
    assert_eq!(reply.images[0].name.as_deref(), Some("file:///c.png"));
    let lines: Vec<&str> = reply.text.lines().collect();
    assert_eq!(lines[..2], ["[resource file:///a.txt, text/plain]", "inside"]);
    let before = "[file:///b.bin, application/octet-stream, 4 B: kept in ";
    assert_eq!(std::fs::read(path_in(lines[2], before, "]")).unwrap(), [0xde, 0xad, 0xbe, 0xef]);
    assert_eq!(lines[3], "[file:///c.png: png picture, 1x1, 69 B]");
    assert_eq!(lines[4], "[link to the resource \"d\": file:///d.md, text/markdown, 4.1 KB]");

    let reply = servers.call("broken", json!({})).await;
    assert_eq!(reply.images, []);
    assert!(reply.text.contains("not base64") && reply.text.contains("download it again"), "{}", reply.text);
    servers.pool.shutdown().await;
}

#[tokio::test]
async fn a_long_answer_is_cut_like_any_other() {
    let servers = Servers::one().await;
    let reply = servers.call("long", json!({})).await;
    assert!(reply.text.len() < servers.bench.context.limits.reply_bytes + 500);
    assert_eq!(reply.full.unwrap().bytes, 220_000);
    // More than is read at once: said at once, not when the call's time is up.
    let reply = servers.call("long", json!({"times": 2_000_000})).await;
    assert!(reply.is_error && reply.text.contains("its answer has 24.0 MB, and at most 16.8 MB"), "{}", reply.text);
    assert_eq!(servers.call("echo", json!({"text": "still there"})).await.text, "still there");
    servers.pool.shutdown().await;
}

#[tokio::test]
async fn a_server_sees_its_own_variables_and_nobodys_secrets() {
    let servers = Servers::one().await;
    let reply = servers.call("environment", json!({})).await;
    let seen: Value = serde_json::from_str(&reply.text).unwrap();
    assert_eq!(seen["env"]["SOME_TOKEN"], "****", "it is in the entry, and the model does not read it");
    let ours = |name: &str| name == "SOME_TOKEN" || name.starts_with("GIT_CONFIG_KEY_");
    let secret = |name: &&String| mxd::process::environment::is_secret(name) && !ours(name);
    let secrets: Vec<_> = seen["env"].as_object().unwrap().keys().filter(secret).collect();
    assert_eq!(secrets, [mxd::process::environment::RUN_MARKER]);
    assert_eq!(seen["env"]["GIT_TERMINAL_PROMPT"], "0");
    assert_eq!(seen["terminal"], false);
    assert_eq!(seen["cwd"], json!(servers.bench.root));
    servers.pool.shutdown().await;
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_given_up_and_the_server_is_told() {
    let slow = |notes: &std::path::Path| {
        let mut entry = scripted("normal", notes);
        entry["timeoutMs"] = json!(2_000);
        json!({"box": entry})
    };
    let servers = Servers::new(slow, |_| {}).await;
    let reply = servers.call("slow", json!({})).await;
    assert!(reply.is_error && reply.text.contains("no answer within 2 s (timeoutMs"), "{}", reply.text);
    until("the server is told", || servers.notes().iter().any(|line| line.ends_with(" true"))).await;
    assert_eq!(servers.call("echo", json!({"text": "still here"})).await.text, "still here");
    assert_eq!(servers.starts(), 1);
    servers.pool.shutdown().await;
}

#[tokio::test]
async fn a_server_that_answers_nobody_any_more_is_replaced() {
    let slow = |notes: &std::path::Path| {
        let mut entry = scripted("normal", notes);
        entry["timeoutMs"] = json!(2_000);
        json!({"box": entry})
    };
    let servers = Servers::new(slow, |_| {}).await;
    let pid = servers.pid();
    let reply = servers.call("hang", json!({})).await;
    assert!(reply.is_error && reply.text.contains("no answer within 2 s"), "{}", reply.text);
    until("it is given up", || servers.health("box") == ServerHealth::NotStarted).await;
    until("its process is ended", || !runs(pid)).await;
    assert_eq!(servers.call("echo", json!({"text": "another"})).await.text, "another");
    servers.pool.shutdown().await;
}

#[tokio::test]
async fn an_interrupted_call_answers_at_once_and_the_server_is_told() {
    let mut servers = Servers::one().await;
    for teardown in [false, true] {
        let tokens = CancelTokens::default();
        servers.bench.context.tokens = tokens.clone();
        let call = tool_use("mcp__box__slow", &json!({}));
        let (context, before) = (servers.bench.context.clone(), servers.notes().len());
        let running = tokio::spawn(async move { execute(&call, &context).await });
        until("the call has arrived", || servers.notes().len() > before).await;
        if teardown {
            tokens.teardown.cancel();
        } else {
            tokens.interrupt.cancel();
        }
        let reply = tokio::time::timeout(Duration::from_secs(30), running).await.unwrap().unwrap();
        assert!(reply.is_error && reply.text.starts_with("Interrupted."), "{}", reply.text);
        until("the server is told", || servers.notes().len() > before + 1).await;
        assert!(servers.notes().last().unwrap().ends_with(" true"), "{:?}", servers.notes());
    }
    servers.bench.context.tokens = CancelTokens::default();
    assert_eq!(servers.call("echo", json!({"text": "still here"})).await.text, "still here");
    assert_eq!(servers.starts(), 1);
    servers.pool.shutdown().await;
}

#[tokio::test]
async fn questions_to_a_user_or_a_model_are_declined() {
    let servers = Servers::one().await;
    let reply = servers.call("ask", json!({"method": "elicitation/create"})).await;
    assert_eq!(reply.text, r#"{"action":"decline"}"#);
    let reply = servers.call("ask", json!({"method": "sampling/createMessage"})).await;
    assert!(reply.text.contains("-32601"), "{}", reply.text);
    servers.pool.shutdown().await;
}

#[tokio::test]
async fn a_tool_that_is_gone_is_said_to_be_gone_and_a_new_one_waits_for_the_next_segment() {
    let mut servers = Servers::one().await;
    assert_eq!(servers.call("change", json!({})).await.text, "changed");
    let reply = servers.call("echo", json!({"text": "hello"})).await;
    assert!(reply.is_error && reply.text.contains("no longer has the tool \"echo\""), "{}", reply.text);
    let reply = servers.call("added", json!({})).await;
    assert!(reply.text.contains("There is no tool called"), "{}", reply.text);
    servers.offer().await;
    let names: Vec<String> = servers.bench.context.registry.specs().into_iter().map(|spec| spec.name).collect();
    assert!(names.contains(&"mcp__box__added".to_owned()) && !names.contains(&"mcp__box__echo".to_owned()));
    assert_eq!(servers.starts(), 1);
    servers.pool.shutdown().await;
}
