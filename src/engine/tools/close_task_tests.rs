use serde_json::json;

use super::*;
use crate::engine::tools::testing::{command_of, id, rejection_of, reply_to};

#[tokio::test]
async fn a_task_is_closed_by_name() {
    let (command, words) = command_of("close_task", json!({"task": "01JZ"})).await;
    assert_eq!(command, Command::Close { task: id("01JZ") });
    assert_eq!(words, "Closed \"Task\".");
}

#[tokio::test]
async fn the_reply_names_where_unmerged_work_is_kept() {
    let (task, input) = (id("01JZ"), json!({"task": "01JZ"}));
    let set_aside = ArchivedWork { archived: true, files: Some("/aside".into()), drafts: Some("/drafts".into()) };
    let words = reply_to("close_task", input.clone(), Outcome::Closed { task, recurs: true, set_aside }).await;
    for part in ["will run again", &format!("refs/mxd/archive/{task}."), "in /aside.", "in /drafts."] {
        assert!(words.contains(part), "{part}: {words}");
    }
    let words = reply_to("close_task", input, Outcome::Reset { recurs: true }).await;
    assert!(words.starts_with("Reset \"Task\"") && words.ends_with("will run again."), "{words}");
}

#[tokio::test]
async fn the_task_must_be_named() {
    let reason = rejection_of("close_task", json!({})).await;
    assert!(reason.contains("\"task\" is missing (a text)") && reason.contains(CloseTask::EXAMPLE), "{reason}");
}
