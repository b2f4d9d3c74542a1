use serde_json::{Value, json};

use super::testing::{Fixture, access, port};
use super::*;
use crate::base::Json;
use crate::tools::names;

fn names_of(registry: &Registry) -> Vec<String> {
    registry.iter().map(|tool| names::display_name(&tool.spec().name).into_owned()).collect()
}

fn registry(change: impl FnOnce(&mut Access)) -> Registry {
    let mut access = access(port().0);
    change(&mut access);
    let mut registry = Registry::default();
    add(&mut registry, access).unwrap();
    registry
}

const COMMON: [&str; 8] =
    ["yield", "done", "send_message", "clarify", "get_tree", "get_task", "search_tasks", "submit_plan"];

#[test]
fn tools_that_more_agents_have_come_first_in_a_stable_order() {
    let root = names_of(&registry(|_| {}));
    assert_eq!(root, names_of(&registry(|_| {})));
    let sub_task = names_of(&registry(|access| access.is_root = false));
    let at_the_limit = names_of(&registry(|access| (access.is_root, access.may_delegate) = (false, false)));
    assert_eq!(at_the_limit, COMMON);
    assert!(root.starts_with(&sub_task) && sub_task.starts_with(&at_the_limit), "{root:?}");
    let delegating = [
        "create_task",
        "update_task",
        "reorder_tasks",
        "fork_task_context",
        "stop_task",
        "hand_over",
        "close_task",
        "reset_task",
        "delete_task",
        "review_plan",
    ];
    assert_eq!(sub_task[COMMON.len()..], delegating);
    assert_eq!(root[sub_task.len()..], ["list_projects", "send_message_to_project"]);
}

#[test]
fn only_a_root_with_access_gets_the_project_tools() {
    let without = names_of(&registry(|access| access.projects = None));
    assert!(!without.iter().any(|name| name.contains("project")), "{without:?}");
    let flat = names_of(&registry(|access| access.may_delegate = false));
    assert_eq!(flat[COMMON.len()..], ["list_projects", "send_message_to_project"]);
}

#[test]
fn a_name_that_is_taken_leaves_the_registry_as_it_was() {
    let mut crowded = Registry::default();
    crowded.add(tool(get_task::GetTask(port().0))).unwrap();
    let error = add(&mut crowded, access(port().0)).unwrap_err();
    assert_eq!(error, DuplicateTool(names::wire(names::GET_TASK)));
    assert_eq!(names_of(&crowded), ["get_task"]);
}

#[test]
fn every_example_is_a_valid_input() {
    for tool in registry(|_| {}).iter() {
        let example = tool.example().unwrap();
        let prepared = tool.prepare(&Json::parse(example).unwrap());
        assert!(prepared.is_ok(), "{}: {}", tool.spec().name, prepared.err().unwrap());
    }
}

#[test]
fn a_field_that_does_not_exist_is_refused_by_every_tool() {
    for tool in registry(|_| {}).iter() {
        let mut input: Value = serde_json::from_str(tool.example().unwrap()).unwrap();
        input["taskId"] = json!("x");
        let error = tool.prepare(&Json::of(&input).unwrap()).err().unwrap();
        assert!(error.problem.starts_with("\"taskId\" is not a field"), "{}: {error}", tool.spec().name);
    }
}

#[test]
fn every_field_has_a_description() {
    for tool in registry(|_| {}).iter() {
        let schema: Value = tool.spec().schema.read().unwrap();
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let words = field["description"].as_str().unwrap_or_default();
            assert!(words.ends_with('.'), "{} {name}: {words:?}", tool.spec().name);
        }
    }
}

#[tokio::test]
async fn a_refusal_of_the_engine_is_an_error_with_its_reason() {
    let mut fixture = Fixture::new();
    fixture.refusal = Some(Fault::user("there is no task 01J"));
    let (_, reply) = fixture.call("get_task", json!({"task": "01J"})).await;
    assert!(reply.is_error && reply.text.starts_with("there is no task 01J"), "{reply:?}");
    assert!(reply.text.contains("get_tree lists the tasks with their ids"), "{reply:?}");
    let (_, reply) = fixture.call("clarify", json!({"question": "Which?"})).await;
    assert_eq!((reply.text.as_str(), reply.is_error), ("there is no task 01J", true));
}

#[tokio::test]
async fn a_closed_port_is_an_error() {
    let mut fixture = Fixture::new();
    fixture.requests.close();
    let (_, reply) = fixture.call("get_tree", json!({})).await;
    assert!(reply.is_error && reply.text.contains("shutting down"), "{reply:?}");
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_request_waits_briefly_for_its_answer() {
    let tokens = CancelTokens::default();
    tokens.interrupt.cancel();
    let in_time = async {
        tokio::time::sleep(GRACE / 2).await;
        Ok("Closed.".to_owned())
    };
    assert_eq!(answer_until(in_time, &tokens).await, Reply::text("Closed."));
    let reply = answer_until(std::future::pending(), &tokens).await;
    assert!(reply.is_error && reply.text.contains("may have been done"), "{reply:?}");
}
