//! What programs do, well or badly, one scenario each, with the events and Asks that must come of it.

#![allow(clippy::needless_pass_by_value, reason = "values are written where they are needed")]

use futures::stream::{self, StreamExt as _};
use mxd::model::backend::{BackendEvent, SessionOrigin};
use mxd::model::event::{Exit, InterruptReason, StopReason};
use mxd::model::{AskKind, Body, Content};
use serde_json::{Value, json};

use super::{Seen, Stage};
use crate::cli_support::World;

/// How many scenarios play at once.
const AT_ONCE: usize = 4;

struct Behaviour {
    name: &'static str,
    scenario: Value,
    /// More settings of the backend.
    backend: Value,
    /// More settings.
    settings: Value,
    check: fn(&Seen),
}

fn plays(name: &'static str, turns: Value, check: fn(&Seen)) -> Behaviour {
    scenario(name, json!({"turns": turns}), check)
}

fn scenario(name: &'static str, scenario: Value, check: fn(&Seen)) -> Behaviour {
    Behaviour { name, scenario, backend: json!({}), settings: json!({}), check }
}

fn update(kind: &str, fields: Value) -> Value {
    let mut update = fields;
    update["sessionUpdate"] = json!(kind);
    json!({"update": update})
}

fn call(fields: Value) -> Value {
    update("tool_call", fields)
}

fn asks_for(options: Value) -> Value {
    let call =
        json!({"toolCallId": "t", "title": "echo hi", "kind": "execute", "rawInput": {"command": "echo hi > b.txt"}});
    json!({"ask": {"toolCall": call, "options": options}})
}

fn usual_options() -> Value {
    json!([
        {"optionId": "always", "kind": "allow_always", "name": "Always"},
        {"optionId": "yes", "kind": "allow_once", "name": "Yes"},
        {"optionId": "no", "kind": "reject_once", "name": "No"},
    ])
}

fn tool(name: &str, arguments: Value) -> Value {
    json!({"tool": {"name": name, "arguments": arguments}})
}

fn result_text(seen: &Seen) -> String {
    let results = seen.bodies(|body| match body {
        Body::ToolResult(result) => match &result.content {
            Content::Text { text } => Some(text.clone()),
            Content::Blob(_) => None,
        },
        _ => None,
    });
    results.join("\n")
}

fn failed(seen: &Seen, words: &str) {
    assert_eq!(seen.asks.iter().map(mxd::model::Ask::kind).collect::<Vec<_>>(), [AskKind::LaunchFailed], "{seen:#?}");
    assert!(seen.asks[0].detail.contains(words), "{:?}", seen.asks[0]);
}

fn sessions(seen: &Seen) -> Vec<SessionOrigin> {
    seen.bodies(|body| match body {
        Body::Backend(BackendEvent::Session { session }) => Some(session.origin.clone()),
        _ => None,
    })
}

fn kept(seen: &Seen) -> Vec<String> {
    seen.bodies(|body| match body {
        Body::Backend(BackendEvent::Update { kind, .. }) => Some(kind.clone()),
        _ => None,
    })
}

fn stop(seen: &Seen) -> StopReason {
    let ends = seen.bodies(|body| match body {
        Body::TurnEnded(end) => Some(end.stop.clone()),
        _ => None,
    });
    ends.last().cloned().expect("a turn ended")
}

fn exits(seen: &Seen) -> Vec<Exit> {
    seen.bodies(|body| match body {
        Body::RunEnded(ended) => Some(ended.exit.clone()),
        _ => None,
    })
}

fn talk() -> Vec<Behaviour> {
    vec![
        plays("text in pieces is one text", json!([[{"say": "Hel"}, {"say": "lo."}]]), |seen| {
            assert_eq!((seen.said(), seen.count("turn_ended")), (vec!["Hello."], 1));
            assert_eq!(sessions(seen), [SessionOrigin::New]);
            assert!(seen.prompts[0].to_string().contains("Go."), "{:?}", seen.prompts);
        }),
        plays("thinking is told apart", json!([[{"think": "hm"}, {"say": "a"}]]), |seen| {
            assert_eq!((seen.count("thinking"), seen.said()), (1, vec!["a"]));
        }),
        plays("a turn of nothing is a turn", json!([[]]), |seen| {
            assert_eq!((seen.count("turn_ended"), seen.asks.len()), (1, 0));
        }),
        plays("an unknown update is kept", json!([[update("brand_new", json!({"x": 1})), {"say": "a"}]]), |seen| {
            assert_eq!((kept(seen), seen.said()), (vec!["brand_new".to_owned()], vec!["a"]));
        }),
        plays("an update without a kind is kept", json!([[{"update": {"x": 1}}, {"say": "a"}]]), |seen| {
            assert_eq!((kept(seen).len(), seen.said()), (1, vec!["a"]));
        }),
        plays(
            "an unknown notification is kept",
            json!([[{"send": {"method": "session/other", "params": {}}}, {"say": "a"}]]),
            |seen| {
                assert_eq!((kept(seen), seen.said()), (vec!["session/other".to_owned()], vec!["a"]));
            },
        ),
        plays(
            "a notification of a vendor is ignored",
            json!([[{"send": {"method": "_auth/status", "params": {}}}, {"say": "a"}]]),
            |seen| {
                assert_eq!((kept(seen).len(), seen.said()), (0, vec!["a"]));
            },
        ),
        plays(
            "an update of another session is kept apart",
            json!([[{"send": {"method": "session/update", "params": {"sessionId": "other", "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "b"}}}}}, {"say": "a"}]]),
            |seen| assert_eq!((kept(seen).len(), seen.said()), (1, vec!["a"])),
        ),
        plays(
            "an unknown request is refused",
            json!([[{"request": {"method": "craft/drain", "params": {}}}]]),
            |seen| {
                assert_eq!(seen.outcomes[0]["error"]["code"], -32601);
            },
        ),
        plays(
            "a line that is no message ends nothing",
            json!([[{"raw": "Segmentation fault? no."}, {"say": "a"}]]),
            |seen| {
                assert_eq!((kept(seen).len(), seen.said()), (1, vec!["a"]));
            },
        ),
        plays("a message that is cut off ends nothing", json!([[{"raw": "{\"jsonrpc\":"}, {"say": "a"}]]), |seen| {
            assert_eq!(seen.said(), ["a"]);
        }),
        plays("a huge text is kept whole", json!([[{"huge": 2_000_000}]]), |seen| {
            assert_eq!(seen.said().iter().map(|text| text.len()).sum::<usize>(), 2_000_000);
        }),
        plays("a flood of updates is kept", json!([[{"flood": 3_000}]]), |seen| {
            assert!(seen.said().concat().ends_with("2999 "), "the last word of the flood");
        }),
        plays("a notice is shown", json!([[update("notice", json!({"message": "quota is low"}))]]), |seen| {
            let notices = seen.bodies(|body| match body {
                Body::Backend(BackendEvent::Notice { text }) => Some(text.as_str()),
                _ => None,
            });
            assert_eq!(notices, ["quota is low"]);
        }),
        plays(
            "a plan is kept",
            json!([[update(
                "plan",
                json!({"entries": [{"content": "a", "status": "completed"}, {"content": "b", "status": "pending"}]})
            )]]),
            |seen| {
                let plans = seen.bodies(|body| match body {
                    Body::Backend(BackendEvent::Plan { entries }) => Some(entries.len()),
                    _ => None,
                });
                assert_eq!(plans, [2]);
            },
        ),
        scenario(
            "an update after the turn disturbs nothing",
            json!({"turns": [[{"say": "a"}]], "after": [{"say": "late"}]}),
            |seen| {
                assert_eq!((seen.said()[0], seen.count("turn_ended")), ("a", 1));
            },
        ),
        scenario(
            "a program that answers a prompt twice ends one turn",
            json!({"turns": [[{"say": "a"}, {"send": {"jsonrpc": "2.0", "id": 3, "result": {"stopReason": "end_turn"}}}, {"say": "b"}]]}),
            |seen| assert_eq!((seen.count("turn_ended"), seen.asks.len()), (1, 0)),
        ),
    ]
}

fn calls() -> Vec<Behaviour> {
    vec![
        plays(
            "a call and its result",
            json!([[
                call(json!({"toolCallId": "t", "kind": "execute", "status": "pending", "rawInput": {}})),
                update(
                    "tool_call_update",
                    json!({"toolCallId": "t", "rawInput": {"command": "ls"}, "status": "in_progress"})
                ),
                update("tool_call_update", json!({"toolCallId": "t", "status": "completed", "rawOutput": "a.txt"})),
            ]]),
            |seen| {
                assert_eq!(
                    (seen.count("tool_call"), seen.count("tool_result"), result_text(seen)),
                    (1, 1, "a.txt".to_owned())
                );
            },
        ),
        plays(
            "a call that is never closed is closed with the turn",
            json!([[call(json!({"toolCallId": "t", "kind": "execute", "rawInput": {"command": "ls"}}))]]),
            |seen| {
                assert!(result_text(seen).contains("did not report"), "{}", result_text(seen));
            },
        ),
        plays(
            "an update of an unknown call begins it",
            json!([[update(
                "tool_call_update",
                json!({"toolCallId": "x", "status": "completed", "title": "Search", "kind": "search"})
            )]]),
            |seen| {
                assert_eq!((seen.count("tool_call"), seen.count("tool_result")), (1, 1));
            },
        ),
        plays(
            "a failed call is an error",
            json!([[call(
                json!({"toolCallId": "t", "kind": "edit", "status": "failed", "locations": [{"path": "/x"}]})
            )]]),
            |seen| {
                let errors = seen.bodies(|body| match body {
                    Body::ToolResult(result) => Some(result.is_error),
                    _ => None,
                });
                assert_eq!(errors, [true]);
            },
        ),
        plays(
            "a call that ends twice has one result",
            json!([[
                call(
                    json!({"toolCallId": "t", "kind": "execute", "status": "completed", "rawInput": {"command": "ls"}, "rawOutput": "a"})
                ),
                update("tool_call_update", json!({"toolCallId": "t", "status": "failed", "rawOutput": "b"})),
            ]]),
            |seen| assert_eq!(result_text(seen), "a"),
        ),
        plays("what nothing forbids is allowed once, not always", json!([[asks_for(usual_options())]]), |seen| {
            assert_eq!(seen.outcomes[0]["optionId"], "yes");
            assert_eq!(
                (seen.count("tool_call"), seen.asks.len()),
                (1, 0),
                "the call is recorded although nobody announced it"
            );
        }),
        plays("a request without options is cancelled", json!([[asks_for(json!([]))]]), |seen| {
            assert_eq!(seen.outcomes[0]["outcome"], "cancelled");
        }),
        Behaviour {
            settings: json!({"permissions": {"deny": ["bash(echo *)"]}}),
            ..plays("what a rule denies is rejected", json!([[asks_for(usual_options()), {"say": "a"}]]), |seen| {
                assert_eq!((seen.outcomes[0]["optionId"].as_str(), seen.said()), (Some("no"), vec!["a"]));
            })
        },
        Behaviour {
            settings: json!({"permissions": {"mode": "ask"}}),
            ..plays("what nothing decides is an Ask that stays open", json!([[asks_for(usual_options())]]), |seen| {
                let kinds: Vec<_> = seen.asks.iter().map(mxd::model::Ask::kind).collect();
                assert_eq!((kinds, seen.outcomes.len()), (vec![AskKind::Permission], 0));
                assert_eq!(seen.asks[0].tool_call.as_deref(), Some("t"));
            })
        },
        plays(
            "our own tools need no permission in the program",
            json!([[{"ask": {"toolCall": {"toolCallId": "m", "title": "mcp__mxd__get_tree"}, "options": usual_options()}}]]),
            |seen| assert_eq!((seen.outcomes[0]["optionId"].as_str(), seen.count("tool_call")), (Some("yes"), 0)),
        ),
        plays(
            "a file is read through our tools",
            json!([[{"request": {"method": "fs/read_text_file", "params": {"path": "README.md"}}}]]),
            |seen| {
                assert!(
                    seen.outcomes[0]["result"]["content"].is_string() || seen.outcomes[0]["error"].is_object(),
                    "{:?}",
                    seen.outcomes
                );
            },
        ),
        plays(
            "a file outside of the worktree is not written",
            json!([[{"request": {"method": "fs/write_text_file", "params": {"path": "/etc/nope", "content": "x"}}}]]),
            |seen| {
                assert!(seen.outcomes[0]["error"]["code"].is_i64(), "{:?}", seen.outcomes);
            },
        ),
        plays(
            "a file in the worktree is written",
            json!([[
                {"request": {"method": "fs/write_text_file", "params": {"path": "new.txt", "content": "x"}}},
                {"request": {"method": "fs/read_text_file", "params": {"path": "new.txt"}}},
            ]]),
            |seen| assert_eq!(seen.outcomes[1]["result"]["content"], "x"),
        ),
        plays(
            "a file method without a path is refused",
            json!([[{"request": {"method": "fs/read_text_file", "params": {}}}]]),
            |seen| {
                assert_eq!(seen.outcomes[0]["error"]["code"], -32602);
            },
        ),
    ]
}

fn ends() -> Vec<Behaviour> {
    vec![
        plays("a turn that hits the output limit", json!([[{"end": {"stopReason": "max_tokens"}}]]), |seen| {
            assert_eq!(stop(seen), StopReason::MaxTokens);
        }),
        plays("a refusal", json!([[{"end": {"stopReason": "refusal"}}]]), |seen| {
            assert_eq!(stop(seen), StopReason::Refusal);
        }),
        plays("an unknown stop reason is kept", json!([[{"end": {"stopReason": "tired"}}]]), |seen| {
            assert_eq!(stop(seen), StopReason::Other("tired".to_owned()));
        }),
        plays("an answer without a stop reason ends the turn", json!([[{"end": {}}]]), |seen| {
            assert_eq!(stop(seen), StopReason::EndTurn);
        }),
        plays(
            "tokens are counted and the cost is unknown, not nothing",
            json!([[{"end": {"stopReason": "end_turn", "usage": {"inputTokens": 100, "outputTokens": 5}}}]]),
            |seen| {
                let usage = seen.bodies(|body| match body {
                    Body::Usage(usage) => Some((usage.tokens.total(), usage.cost)),
                    _ => None,
                });
                assert_eq!(usage, [(105, None)]);
            },
        ),
        plays("no numbers at all are an unknown cost", json!([[{"say": "a"}]]), |seen| {
            let usage = seen.bodies(|body| match body {
                Body::Usage(usage) => Some((usage.estimated, usage.cost)),
                _ => None,
            });
            assert_eq!(usage, [(true, None)]);
        }),
        plays(
            "a cost that grows is booked once",
            json!([[
                update("usage_update", json!({"used": 10, "size": 1000, "cost": {"amount": 0.25, "currency": "USD"}})),
                update("usage_update", json!({"used": 20, "size": 1000, "cost": {"amount": 0.5, "currency": "USD"}})),
            ]]),
            |seen| {
                let usage = seen.bodies(|body| match body {
                    Body::Usage(usage) => usage.cost,
                    _ => None,
                });
                assert_eq!(usage, [mxd::base::MicroUsd(500_000)]);
            },
        ),
        plays(
            "an error of the model becomes an Ask",
            json!([[{"fail": {"code": 400, "message": "bad request", "data": {"details": "no such model"}}}]]),
            |seen| {
                failed(seen, "no such model");
                assert!(matches!(&exits(seen)[0], Exit::Interrupted(InterruptReason::Program(_))));
            },
        ),
        plays(
            "a login that ran out becomes an Ask",
            json!([[{"fail": {"code": -32000, "message": "Authentication required"}}]]),
            |seen| {
                failed(seen, "log in");
            },
        ),
        scenario(
            "a program that wants a login becomes an Ask",
            json!({"new_error": {"code": -32000, "message": "Authentication required"}}),
            |seen| {
                failed(seen, "log in to the program");
            },
        ),
        scenario("a program that speaks another version", json!({"initialize": {"protocolVersion": 2}}), |seen| {
            failed(seen, "version 2");
        }),
        scenario("a program that gives no session", json!({"session": {"sessionId": ""}}), |seen| {
            failed(seen, "no session id");
        }),
        scenario(
            "a program that refuses a session",
            json!({"new_error": {"code": -32603, "message": "Internal error", "data": {"details": "disk full"}}}),
            |seen| failed(seen, "disk full"),
        ),
        scenario("a program that ends at once", json!({"exit": 3, "stderr": "cannot find libfoo"}), |seen| {
            failed(seen, "exit code 3");
            failed(seen, "cannot find libfoo");
        }),
        Behaviour {
            backend: json!({"startMs": 400}),
            ..scenario("a program that never answers", json!({"silent": true}), |seen| failed(seen, "did not answer"))
        },
        Behaviour {
            backend: json!({"command": "/nonexistent/agent"}),
            ..scenario("a program that is not there", json!({}), |seen| failed(seen, "is not on your PATH"))
        },
        Behaviour {
            backend: json!({"idleMs": 400}),
            ..plays(
                "a program that is silent for too long",
                json!([[{"say": "a"}, {"await_cancel": true}, {"never": true}]]),
                |seen| failed(seen, "silent"),
            )
        },
        Behaviour {
            backend: json!({"mode": "turbo"}),
            ..scenario(
                "a mode that does not exist is said to be ignored",
                json!({"session": {"modes": {"currentModeId": "default", "availableModes": [{"id": "default"}]}}, "turns": [[]]}),
                |seen| {
                    let ignored = seen.bodies(|body| match body {
                        Body::Backend(BackendEvent::Session { session }) => Some(session.ignored.clone()),
                        _ => None,
                    });
                    assert_eq!(ignored, [["mode turbo (it uses default)"]]);
                },
            )
        },
        Behaviour {
            backend: json!({"mode": "plan"}),
            ..scenario(
                "a mode that exists is set",
                json!({"session": {"modes": {"currentModeId": "default", "availableModes": [{"id": "default"}, {"id": "plan"}]}}, "turns": [[]]}),
                |seen| {
                    assert!(
                        seen.received
                            .iter()
                            .any(|it| it["method"] == "session/set_mode" && it["params"]["modeId"] == "plan")
                    );
                },
            )
        },
    ]
}

fn deaths() -> Vec<Behaviour> {
    vec![
        plays(
            "a program that dies is started again and goes on with its session",
            json!([[{"say": "a"}, {"kill": true}], [{"say": "b"}]]),
            |seen| {
                assert_eq!(
                    (seen.said(), sessions(seen)),
                    (vec!["a", "b"], vec![SessionOrigin::New, SessionOrigin::Continued])
                );
                assert!(seen.prompts[1].to_string().contains("interrupted"), "{:?}", seen.prompts[1]);
                assert!(seen.received.iter().any(|it| it["method"] == "session/load"));
                assert!(!seen.said().contains(&"old 0"), "what a load repeats is not recorded again");
            },
        ),
        plays(
            "a program that always dies becomes an Ask",
            json!([[{"exit": 7}], [{"exit": 7}], [{"exit": 7}], [{"exit": 7}]]),
            |seen| {
                failed(seen, "exit code 7");
                assert_eq!(seen.prompts.len(), 3);
            },
        ),
        scenario(
            "a session that cannot be loaded is replaced, with a digest",
            json!({"turns": [[{"say": "I found it."}, {"kill": true}], [{"say": "b"}]], "load_error": {"code": -32002, "message": "not found"}}),
            |seen| {
                assert!(matches!(&sessions(seen)[1], SessionOrigin::Replaced { reason } if reason == "not found"));
                assert!(seen.prompts[1].to_string().contains("I found it."), "{:?}", seen.prompts[1]);
            },
        ),
        scenario(
            "a program that cannot load gets a digest",
            json!({"initialize": {"protocolVersion": 1, "agentCapabilities": {"mcpCapabilities": {"http": true}}}, "turns": [[{"say": "I found it."}, {"kill": true}], [{"say": "b"}]]}),
            |seen| {
                assert!(matches!(&sessions(seen)[1], SessionOrigin::Replaced { .. }));
                assert!(
                    seen.prompts[0].to_string().contains("You are an agent in Matrix"),
                    "without a system prompt, the first prompt says it"
                );
                assert!(seen.prompts[1].to_string().contains("I found it."));
            },
        ),
        plays(
            "a call that dies with its program is answered as unknown",
            json!([[call(json!({"toolCallId": "t", "kind": "execute", "status": "in_progress", "rawInput": {"command": "ls"}})), {"kill": true}], []]),
            |seen| {
                assert_eq!((seen.count("tool_call"), seen.count("tool_result")), (1, 1));
            },
        ),
        scenario(
            "a program that ends after its turn is missed by nobody",
            json!({"turns": [[{"say": "a"}]], "after": [{"exit": 0}]}),
            |seen| {
                assert_eq!((seen.said(), seen.asks.len()), (vec!["a"], 0));
            },
        ),
    ]
}

fn tools() -> Vec<Behaviour> {
    vec![
        plays("our tools answer, and the call is recorded", json!([[tool("get_tree", json!({}))]]), |seen| {
            assert_eq!(seen.outcomes[0]["result"]["isError"], false);
            let names = seen.bodies(|body| match body {
                Body::ToolCall(call) => Some(call.name.as_str()),
                _ => None,
            });
            assert_eq!(names, ["mcp__mxd__get_tree"]);
        }),
        plays(
            "done ends the task with the turn",
            json!([[tool("done", json!({"status": "passed", "result": "It works."})), {"say": "Bye."}]]),
            |seen| {
                assert_eq!((seen.status.as_str(), exits(seen)), ("passed", vec![Exit::DonePassed]));
                assert_eq!(seen.said(), ["Bye."]);
            },
        ),
        plays(
            "a task can fail",
            json!([[tool("done", json!({"status": "failed", "result": "No network."}))]]),
            |seen| assert_eq!(seen.status, "failed"),
        ),
        plays("a call with a bad input is an error", json!([[tool("done", json!({"status": "perhaps"}))]]), |seen| {
            assert_eq!((seen.outcomes[0]["result"]["isError"].as_bool(), exits(seen)), (Some(true), vec![]));
        }),
        plays("yield returns at once", json!([[tool("yield", json!({}))]]), |seen| {
            assert!(seen.outcomes[0].to_string().contains("End your turn"), "{:?}", seen.outcomes);
            assert_eq!(seen.prompts.len(), 1);
        }),
        plays(
            "a question to the user returns at once",
            json!([[tool("clarify", json!({"question": "Which?", "choices": ["a", "b"]}))]]),
            |seen| {
                assert_eq!(seen.asks.iter().map(mxd::model::Ask::kind).collect::<Vec<_>>(), [AskKind::Clarify]);
                assert_eq!(seen.outcomes[0]["result"]["isError"], false);
            },
        ),
        plays("an unknown tool is an error", json!([[tool("rm_rf", json!({}))]]), |seen| {
            assert_eq!(seen.outcomes[0]["result"]["isError"], true);
        }),
        scenario(
            "without our tools, a task is declared done in words",
            json!({"lists_tools": false, "turns": [[{"say": "All good.\nDONE passed: it works"}]]}),
            |seen| {
                assert_eq!(seen.status, "passed");
            },
        ),
        plays(
            "the card of our own tool is not shown twice",
            json!([[
                call(
                    json!({"toolCallId": "m", "title": "mcp__mxd__get_tree", "status": "in_progress", "rawInput": {"a": 1}})
                ),
                tool("get_tree", json!({})),
            ]]),
            |seen| assert_eq!(seen.count("tool_call"), 1),
        ),
    ]
}

async fn play(behaviours: Vec<Behaviour>) {
    let count = behaviours.len();
    let played = stream::iter(behaviours).map(|behaviour| async move {
        let Behaviour { name, scenario, backend, settings, check } = behaviour;
        let world = World::new();
        let stage = Stage::with(&world, &scenario, backend);
        for (key, value) in settings.as_object().unwrap() {
            stage.set(key, value.clone());
        }
        let seen = stage.run().await;
        println!("{name}");
        check(&seen);
    });
    assert_eq!(played.buffer_unordered(AT_ONCE).collect::<Vec<()>>().await.len(), count);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_programs_say_is_recorded_whatever_its_form() {
    play(talk()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_are_recorded_and_permitted() {
    play(calls()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_end_of_a_turn_is_a_sentence_or_an_ask() {
    play(ends()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_dies_is_continued_or_replaced() {
    play(deaths()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn our_tools_reach_programs_and_never_wait() {
    play(tools()).await;
}
