use super::*;
use crate::engine::snapshot::Snapshot;
use crate::ui::testing::{Ids, snapshot, task};

fn pane() -> (ProjectState, State) {
    let project = ProjectState::new(snapshot());
    let state = State::new(&project);
    (project, state)
}

fn titles(project: &ProjectState, state: &State) -> Vec<String> {
    state.rows().iter().map(|row| project.title(row.id).chars().take(8).collect()).collect()
}

#[test]
fn selection_stays_on_its_task() {
    let (mut project, mut state) = pane();
    let ids = Ids::default();
    state.select(&project, ids.docs);
    project.remove(ids.store);
    state.sync(&project, 10);
    assert_eq!(state.selected(), ids.docs);
    assert_eq!(state.place(ids.docs), Some(3));
}

#[test]
fn removed_selection_moves_to_the_parent() {
    let (mut project, mut state) = pane();
    let ids = Ids::default();
    state.select(&project, ids.store);
    let mut login = project.task(ids.login).unwrap().clone();
    login.node.children.retain(|child| *child != ids.store);
    project.put(login);
    state.sync(&project, 10);
    assert_eq!(state.selected(), ids.login);
}

#[test]
fn selecting_a_folded_task_unfolds_it() {
    let (project, mut state) = pane();
    let ids = Ids::default();
    state.select(&project, ids.login);
    state.fold(&project);
    state.sync(&project, 10);
    assert_eq!(state.place(ids.callback), None);
    state.select(&project, ids.callback);
    state.sync(&project, 10);
    assert_eq!(state.selected(), ids.callback);
    assert!(state.place(ids.callback).is_some());
}

#[test]
fn filter_keeps_ancestors_and_searches_folds() {
    let (project, mut state) = pane();
    state.fold_all(&project);
    state.filter.insert("CALLBACK");
    state.filter_changed();
    state.sync(&project, 10);
    assert_eq!(titles(&project, &state), ["orchestr", "add oaut", "callback"]);
    assert_eq!(state.rows().iter().map(|row| row.passive).collect::<Vec<_>>(), [true, true, false]);
    assert!(state.clear_filter());
    state.sync(&project, 10);
    assert!(state.rows().len() > 3);
}

#[test]
fn filter_modes_select_tasks() {
    let (project, mut state) = pane();
    let mut shown = Vec::new();
    for _ in 0..4 {
        shown.push((state.mode().word(), state.rows().iter().filter(|row| !row.passive).count()));
        state.cycle_mode();
        state.sync(&project, 10);
    }
    assert_eq!(shown, [("all", 9), ("open", 8), ("needs me", 2), ("active", 2)]);
}

#[test]
fn attention_sort_puts_asks_first() {
    let (project, mut state) = pane();
    state.cycle_sort();
    state.sync(&project, 10);
    assert_eq!(titles(&project, &state)[..4], ["callback", "flaky te", "token st", "add oaut"]);
}

/// Returns a project with `count` tasks, in groups of ten.
fn many(count: u128) -> Snapshot {
    let mut snapshot = snapshot();
    let root = snapshot.root;
    let template = snapshot.tasks.remove(4);
    for number in 100..100 + count {
        let mut view = template.clone();
        view.node.id = task(number);
        view.node.parent = Some(root);
        snapshot.tasks[0].node.children.push(view.node.id);
        snapshot.tasks.push(view);
    }
    snapshot
}

#[test]
fn activity_does_not_rebuild_rows() {
    let mut project = ProjectState::new(many(5_000));
    let mut state = State::new(&project);
    state.sync(&project, 40);
    let built_from = state.built_from.clone();
    let mut view = project.task(task(4_000)).unwrap().clone();
    view.activity = crate::model::live::Activity::Tool;
    project.put(view);
    state.sync(&project, 40);
    assert_eq!(state.built_from, built_from);
    state.step(isize::MAX / 2);
    state.sync(&project, 40);
    assert_eq!(state.top() + 40, state.rows().len());
}
