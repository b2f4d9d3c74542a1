use super::*;
use crate::base::Json;
use crate::engine::review::BranchConflict;
use crate::engine::snapshot::Snapshot;
use crate::engine::update::Update;
use crate::model::conversation::ToolUse;
use crate::model::{Body, TaskNode};
use crate::ui::testing::{Screen, event, snapshot, task};

fn call(screen: &mut Screen, task: TaskId, command: &str) {
    let input = Json::of(&serde_json::json!({ "command": command })).unwrap();
    let body = Body::ToolCall(ToolUse { call: "c".to_owned(), name: "bash".to_owned(), input, malformed: None });
    screen.engine(Update::Event { task, event: std::sync::Arc::new(event(900, 0, body)) });
}

fn clash(screen: &mut Screen, task: TaskId, with: TaskId) {
    let mut view = screen.task(task).clone();
    view.clashes = vec![BranchConflict { with, files: vec!["src/app.rs".to_owned()] }];
    screen.engine(Update::Task { task: Box::new(view) });
}

#[test]
fn the_newest_calls_of_all_agents_are_listed_below_the_tree() {
    let mut screen = Screen::new(120, 40);
    let (login, wide) = (screen.ids().login, screen.ids().wide);
    assert!(!screen.shows(" Live"), "nothing has happened yet");
    call(&mut screen, login, "cargo check");
    call(&mut screen, wide, "make docs");
    let text = screen.text();
    let left: Vec<String> = text.lines().map(|line| line.chars().take(36).collect()).collect();
    let line = |words: &str| left.iter().rposition(|line| line.contains(words));
    assert!(line(" Live") < line("make docs") && line("make docs") < line("cargo check"), "{text}");
}

#[test]
fn conflict_is_shown_once_and_its_key_goes_from_one_side_to_the_other() {
    let mut screen = Screen::new(120, 40);
    let (store, docs) = (screen.ids().store, screen.ids().docs);
    clash(&mut screen, store, docs);
    clash(&mut screen, docs, store);
    let left: String = screen.text().lines().map(|line| line.chars().take(36).collect::<String>() + "\n").collect();
    let words = left.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("token store and docs both change src/app.rs g x compare"), "{left}");
    assert_eq!(left.matches("both change").count(), 1, "{left}");
    screen.keys("esc g x");
    assert_eq!(screen.model.selected(), store);
    screen.keys("g x");
    assert_eq!(screen.model.selected(), docs);
}

#[test]
fn rows_are_kept_while_a_long_tree_fills_the_sidebar() {
    let mut all: Snapshot = snapshot();
    for number in 100..300 {
        let mut node = TaskNode::new(task(number), format!("task {number}"), "engineer", all.tasks[0].node.created_at);
        node.parent = Some(all.root);
        all.tasks[0].node.children.push(node.id);
        all.tasks.push(TaskView::of(node));
    }
    let mut screen = Screen::of(120, 40, all);
    let login = screen.ids().login;
    call(&mut screen, login, "cargo check");
    assert!(screen.shows(" Live") && screen.shows("cargo check"), "{}", screen.text());
    screen.keys("esc G");
    assert!(screen.shows("task 299") && screen.shows(" Live"), "the end of the list is above it: {}", screen.text());
}
