//! Every route, used as its documentation says.

use serde_json::{Value, json};

use super::{Served, until};
use crate::cli_support::World;
use crate::engine_support::{call, root, say};
use mxd::serve::http::Timeouts;
use mxd::serve::http::openapi;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_is_sent_its_reply_is_waited_for_and_a_question_answered() {
    let world = World::new();
    let served = Served::start(&world).await;
    let wait = format!("{}?wait=turn&timeout=60", served.messages());
    let reply = served.post(&wait, &json!({"text": "Hello"})).await.ok();
    assert_eq!((&reply["text"], &reply["stop"]), (&json!("Hello from the root."), &json!("end_turn")));
    assert!(reply["turn"].is_string() && reply["message"].is_string());
    // The next turn asks: the wait ends with the question.
    let waiting = served.post(&wait, &json!({"text": "Paint"})).await;
    assert_eq!(waiting.status, 409);
    let (refusal, asks) = (waiting.json(), served.get(&format!("/v1/projects/{}/asks", served.project)).await.ok());
    assert_eq!((&refusal["ask"]["question"], &refusal["kind"]), (&json!("Which colour?"), &json!("user")));
    let ask = asks["rows"][0]["id"].as_str().unwrap();
    assert_eq!(refusal["ask"]["id"], ask);
    let wrong = served.post(&format!("/v1/asks/{ask}"), &json!({"choice": "option-9"})).await;
    assert_eq!(wrong.status, 409, "{wrong:?}");
    let done = served.post(&format!("/v1/asks/{ask}"), &json!({"choice": "option-2"})).await.ok();
    assert_eq!(done, json!({"outcome": "done"}));
    let again = served.post(&format!("/v1/asks/{ask}"), &json!({"choice": "option-1"})).await;
    assert_eq!(again.status, 404, "the first answer counts");
    until("it paints", async || page(&served).await.to_string().contains("I paint it")).await;
    served.end().await;
}

async fn page(served: &Served) -> Value {
    let query = json!({"query": "page", "task": served.root, "before": null, "count": 100});
    served.post(&format!("/v1/projects/{}/queries", served.project), &query).await.ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_with_a_key_is_carried_out_once() {
    let world = World::new();
    let served = Served::start(&world).await;
    let (path, body) = (served.messages(), json!({"text": "Only once"}));
    let key = "Idempotency-Key: a-1\r\n";
    let (first, second) = tokio::join!(served.post_with(&path, &body, key), served.post_with(&path, &body, key));
    assert_eq!((first.status, second.status), (202, 202), "{first:?}");
    assert_eq!(first.json(), second.json());
    let third = served.post_with(&path, &body, key).await;
    assert_eq!(third.header("idempotency-replayed"), Some("true"));
    assert_eq!(third.json()["message"], first.json()["message"]);
    // With the reply, which came long ago or is about to.
    let reply = served.post_with(&format!("{path}?wait=turn"), &body, key).await;
    assert_eq!((reply.status, &reply.json()["text"]), (200, &json!("Hello from the root.")), "{reply:?}");
    assert_eq!(page(&served).await.to_string().matches("\"body\":\"Only once\"").count(), 1);
    let other = served.post_with(&path, &json!({"text": "Something else"}), key).await;
    assert_eq!(other.status, 422);
    // A refusal is an outcome, too.
    let commands = format!("/v1/projects/{}/commands", served.project);
    let undo = json!({"command": "undo_merge", "task": served.root});
    let refused = served.post_with(&commands, &undo, "Idempotency-Key: a-2\r\n").await;
    assert_eq!(refused.status, 409);
    let repeated = served.post_with(&commands, &undo, "Idempotency-Key: a-2\r\n").await;
    assert_eq!((repeated.status, repeated.header("idempotency-replayed")), (409, Some("true")));
    served.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn projects_settings_commands_and_blobs_are_served() {
    let world = World::new();
    let long = call("bash", json!({"command": "seq 1 20000"}));
    let script = json!([root(json!([long, say("Done.")]))]);
    let served = Served::with(&world, script, Timeouts::default(), None).await;
    assert_eq!(served.get("/v1/health").await.ok()["ok"], true);
    let listed = served.get("/v1/projects").await.ok();
    assert_eq!(listed, json!({"projects": [{"id": served.project, "name": "app"}]}));
    let by_name = served.get("/v1/projects/app").await.ok();
    assert_eq!(by_name["snapshot"]["root"], json!(served.root));
    assert!(by_name["seq"].is_u64() && by_name["epoch"].is_string());
    let create = json!({"command": "create", "parent": served.root, "before": null, "draft": {"title": "Paint"}, "start": "draft"});
    let created = served.post("/v1/projects/app/commands", &create).await.ok();
    assert_eq!(created["outcome"]["created"]["title"], "Paint");
    let settings = served.get("/v1/projects/app/config").await.ok();
    assert!(settings["settings"].as_array().unwrap().iter().any(|row| row["key"] == "maxDepth"));
    let reply = served.post(&format!("{}?wait=turn", served.messages()), &json!({"text": "Count"})).await.ok();
    assert_eq!(reply["text"], "Done.");
    let events = page(&served).await;
    let blob =
        events["data"]["events"].as_array().unwrap().iter().find_map(|event| event["body"]["full"]["blob"].as_str());
    let path = format!("/v1/projects/app/blobs/{}", blob.expect("a long output has a blob"));
    let whole = served.get(&path).await;
    let has_end = String::from_utf8_lossy(&whole.body).contains("19999\n20000\n");
    assert!(whole.status == 200 && has_end, "{}", whole.head);
    for (range, bytes) in [("bytes=0-3", &whole.body[..4]), ("bytes=-6", &whole.body[whole.body.len() - 6..])] {
        let request = format!("{}Range: {range}\r\n\r\n", served.head("GET", &path));
        let part = served.raw(request.into_bytes()).await;
        assert_eq!((part.status, part.body.as_slice()), (206, bytes), "{range}");
        assert!(part.header("content-range").unwrap().ends_with(&format!("/{}", whole.body.len())));
    }
    assert_eq!(whole.header("content-disposition"), Some("attachment"));
    served.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_operation_of_the_document_exists_and_needs_its_token() {
    let world = World::new();
    let served = Served::start(&world).await;
    let document = served.get("/v1/openapi.json").await.ok();
    assert_eq!(document["openapi"], "3.0.3");
    for operation in openapi::OPERATIONS {
        let method = operation.method.to_uppercase();
        let path = operation.path.replace("{project}", "app").replace("{task}", &served.root);
        let path = path.replace("{ask}", "01AAAAAAAAAAAAAAAAAAAAAAAA").replace("{blob}", &"0".repeat(64));
        let request = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", served.address);
        let without = served.raw(request.into_bytes()).await;
        let is_open = operation.path == "/v1/health";
        assert_eq!(without.status, if is_open { 200 } else { 401 }, "{method} {path} without a token");
        if operation.path.ends_with("/updates") {
            continue;
        }
        let with = served.raw(format!("{}\r\n", served.head(&method, &path)).into_bytes()).await;
        assert!(![0, 401, 403, 405, 500].contains(&with.status) || path == "/", "{method} {path}: {with:?}");
        let is_missing =
            with.status == 404 && with.json()["message"].as_str().unwrap().starts_with("there is nothing at");
        assert!(!is_missing, "{method} {path}");
    }
    served.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_answer_has_a_known_secret() {
    let world = World::new();
    let secret = "sk-mxd-http-test-4711";
    mxd::base::known_secrets::remember([secret.to_owned()]);
    let show = call("bash", json!({"command": format!("echo {secret}")}));
    let script = json!([root(json!([show, say(&format!("It is {secret}."))]))]);
    let served = Served::with(&world, script, Timeouts::default(), None).await;
    let wait = format!("{}?wait=turn", served.messages());
    let mut answers = vec![served.post(&wait, &json!({"text": format!("What is {secret}?")})).await];
    assert_eq!(answers[0].json()["text"], "It is ****.");
    for query in [
        json!({"query": "page", "task": served.root, "before": null, "count": 100}),
        json!({"query": "raw_session", "task": served.root, "from": 0}),
    ] {
        answers.push(served.post("/v1/projects/app/queries", &query).await);
    }
    for path in ["/v1/projects/app", "/v1/projects/app/config", "/v1/projects/app/asks", "/v1/me"] {
        answers.push(served.get(path).await);
    }
    // A refusal that repeats its input.
    answers.push(served.get(&format!("/v1/projects/{secret}")).await);
    for answer in answers {
        let mut text = String::from_utf8_lossy(&answer.body).into_owned();
        if let Some(data) = answer.json()["data"].as_str() {
            let decoded = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, data).unwrap();
            text.push_str(&String::from_utf8_lossy(&decoded));
        }
        assert!(!text.contains(secret) && !text.contains(&served.token), "{text}");
    }
    served.end().await;
}
