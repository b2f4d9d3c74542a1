use super::*;
use crate::engine::snapshot::Snapshot;
use crate::ui::testing::{Ids, snapshot, task};

fn pane() -> (World, State) {
    let world = World::new(snapshot());
    let state = State::new(&world);
    (world, state)
}

fn titles(world: &World, state: &State) -> Vec<String> {
    state.rows().iter().map(|row| world.title(row.id).chars().take(8).collect()).collect()
}

#[test]
fn the_selection_stays_on_its_task_when_rows_come_and_go_above_it() {
    let (mut world, mut state) = pane();
    let ids = Ids::default();
    state.select(&world, ids.docs);
    world.remove(ids.store);
    state.settle(&world, 10);
    assert_eq!(state.selected(), ids.docs);
    assert_eq!(state.place(ids.docs), Some(3));
}

#[test]
fn when_the_selected_task_goes_the_one_above_it_is_selected() {
    let (mut world, mut state) = pane();
    let ids = Ids::default();
    state.select(&world, ids.store);
    let mut login = world.task(ids.login).unwrap().clone();
    login.node.children.retain(|child| *child != ids.store);
    world.put(login);
    state.settle(&world, 10);
    assert_eq!(state.selected(), ids.login);
}

#[test]
fn folding_hides_what_is_below_and_selecting_it_shows_it_again() {
    let (world, mut state) = pane();
    let ids = Ids::default();
    state.select(&world, ids.login);
    state.fold(&world);
    state.settle(&world, 10);
    assert_eq!(state.place(ids.callback), None);
    state.select(&world, ids.callback);
    state.settle(&world, 10);
    assert_eq!(state.selected(), ids.callback);
    assert!(state.place(ids.callback).is_some());
}

#[test]
fn a_filter_keeps_what_is_above_what_it_finds_and_looks_into_folds() {
    let (world, mut state) = pane();
    state.fold_all(&world);
    state.filter.insert("CALLBACK");
    state.filter_changed();
    state.settle(&world, 10);
    assert_eq!(titles(&world, &state), ["orchestr", "add oaut", "callback"]);
    assert_eq!(state.rows().iter().map(|row| row.passive).collect::<Vec<_>>(), [true, true, false]);
    assert!(state.clear_filter());
    state.settle(&world, 10);
    assert!(state.rows().len() > 3);
}

#[test]
fn modes_show_what_is_open_needs_me_or_is_active() {
    let (world, mut state) = pane();
    let mut shown = Vec::new();
    for _ in 0..4 {
        shown.push((state.mode().word(), state.rows().iter().filter(|row| !row.passive).count()));
        state.cycle_mode();
        state.settle(&world, 10);
    }
    assert_eq!(shown, [("all", 9), ("open", 8), ("needs me", 2), ("active", 2)]);
}

#[test]
fn sorted_by_attention_what_asks_comes_first() {
    let (world, mut state) = pane();
    state.cycle_sort();
    state.settle(&world, 10);
    assert_eq!(titles(&world, &state)[..4], ["callback", "flaky te", "token st", "add oaut"]);
}

/// Returns a project with so many tasks, in groups of ten.
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
fn activity_in_a_large_tree_does_not_make_the_rows_anew() {
    let mut world = World::new(many(5_000));
    let mut state = State::new(&world);
    state.settle(&world, 40);
    let made = state.made.clone();
    let mut view = world.task(task(4_000)).unwrap().clone();
    view.activity = crate::model::live::Activity::Tool;
    world.put(view);
    state.settle(&world, 40);
    assert_eq!(state.made, made);
    state.step(isize::MAX / 2);
    state.settle(&world, 40);
    assert_eq!(state.top() + 40, state.rows().len());
}
