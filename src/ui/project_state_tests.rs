use proptest::prelude::*;

use super::*;
use crate::base::MicroUsd;
use crate::model::live::Activity;
use crate::ui::testing::{Ids, snapshot, task};

fn project() -> ProjectState {
    ProjectState::new(snapshot())
}

#[test]
fn an_ask_three_levels_down_shows_on_every_ancestor() {
    let (project, ids) = (project(), Ids::default());
    for id in [ids.root, ids.login, ids.callback] {
        assert_eq!(project.sum(id).asks, 1);
        assert_eq!(project.sum(id).attention, Attention::Asks);
    }
    assert_eq!(project.attention_below(ids.callback), Attention::Quiet);
    assert_eq!(project.attention_below(ids.wide), Attention::Failed);
}

#[test]
fn removing_a_task_removes_its_subtree() {
    let (mut project, ids) = (project(), Ids::default());
    let before = project.len();
    project.remove(ids.login);
    assert_eq!(project.len(), before - 3);
    assert_eq!(project.total().asks, 0);
    assert!(project.task(ids.callback).is_none());
    assert!(!project.node(ids.root).unwrap().children.contains(&ids.login));
}

#[test]
fn inner_change_keeps_the_shape_revision() {
    let (mut project, ids) = (project(), Ids::default());
    let (shape, revision) = (project.shape(), project.revision());
    let mut view = project.task(ids.docs).unwrap().clone();
    view.activity = Activity::Thinking;
    project.put(view);
    assert_eq!(project.shape(), shape);
    assert!(project.revision() > revision);
}

/// Moves, changes and removes tasks at random.
fn shake(project: &mut ProjectState, steps: &[(u8, u8, u8)]) {
    for (what, which, where_to) in steps {
        let (id, target) = (task(u128::from(which % 12) + 1), task(u128::from(where_to % 9) + 1));
        match what % 4 {
            0 => {
                if let Some(mut view) = project.task(id).cloned() {
                    view.asks.clear();
                    view.activity = if *where_to % 2 == 0 { Activity::Tool } else { Activity::Idle };
                    project.put(view);
                }
            }
            1 if id != project.root() => project.remove(id),
            2 if id != project.root() && project.task(id).is_some() && project.task(target).is_some() => {
                if id == target || project.ancestors(target).any(|above| above == id) {
                    continue;
                }
                let old = project.node(id).unwrap().parent;
                let mut child = project.task(id).unwrap().clone();
                child.node.parent = Some(target);
                let mut parent = project.task(target).unwrap().clone();
                if !parent.node.children.contains(&id) {
                    parent.node.children.push(id);
                }
                if let Some(old) = old.filter(|old| *old != target)
                    && let Some(mut old) = project.task(old).cloned()
                {
                    old.node.children.retain(|other| *other != id);
                    project.put(old);
                }
                project.put(parent);
                project.put(child);
            }
            _ => {}
        }
    }
}

proptest! {
    #[test]
    fn sums_kept_along_the_way_are_those_counted_anew(steps in prop::collection::vec(any::<(u8, u8, u8)>(), 0..40)) {
        let mut project = project();
        shake(&mut project, &steps);
        let mut snapshot = snapshot();
        snapshot.tasks = project.tasks().cloned().collect();
        let fresh = ProjectState::new(snapshot);
        for view in project.tasks() {
            prop_assert_eq!(project.sum(view.node.id), fresh.sum(view.node.id), "{}", view.node.title);
        }
        prop_assert_eq!(project.total_tokens(), fresh.total_tokens());
        prop_assert!(project.total().cost >= MicroUsd::ZERO);
    }
}
