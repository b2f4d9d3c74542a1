use proptest::prelude::*;

use super::*;
use crate::base::MicroUsd;
use crate::model::live::Activity;
use crate::ui::testing::{Ids, snapshot, task};

fn world() -> World {
    World::new(snapshot())
}

#[test]
fn an_ask_three_levels_down_shows_on_every_ancestor() {
    let (world, ids) = (world(), Ids::default());
    for id in [ids.root, ids.login, ids.callback] {
        assert_eq!(world.sum(id).asks, 1);
        assert_eq!(world.sum(id).attention, Attention::Asks);
    }
    assert_eq!(world.attention_below(ids.callback), Attention::Quiet);
    assert_eq!(world.attention_below(ids.wide), Attention::Failed);
}

#[test]
fn a_task_that_goes_takes_what_is_below_it_along() {
    let (mut world, ids) = (world(), Ids::default());
    let before = world.len();
    world.remove(ids.login);
    assert_eq!(world.len(), before - 3);
    assert_eq!(world.total().asks, 0);
    assert!(world.task(ids.callback).is_none());
    assert!(!world.node(ids.root).unwrap().children.contains(&ids.login));
}

#[test]
fn what_only_changes_inside_a_task_does_not_change_the_shape() {
    let (mut world, ids) = (world(), Ids::default());
    let (shape, revision) = (world.shape(), world.revision());
    let mut view = world.task(ids.docs).unwrap().clone();
    view.activity = Activity::Thinking;
    world.put(view);
    assert_eq!(world.shape(), shape);
    assert!(world.revision() > revision);
}

/// Moves, changes and removes tasks at random, as the engine tells it.
fn shake(world: &mut World, steps: &[(u8, u8, u8)]) {
    for (what, which, where_to) in steps {
        let (id, target) = (task(u128::from(which % 12) + 1), task(u128::from(where_to % 9) + 1));
        match what % 4 {
            0 => {
                if let Some(mut view) = world.task(id).cloned() {
                    view.asks.clear();
                    view.activity = if *where_to % 2 == 0 { Activity::Tool } else { Activity::Idle };
                    world.put(view);
                }
            }
            1 if id != world.root() => world.remove(id),
            2 if id != world.root() && world.task(id).is_some() && world.task(target).is_some() => {
                if id == target || world.above(target).any(|above| above == id) {
                    continue;
                }
                let old = world.node(id).unwrap().parent;
                let mut child = world.task(id).unwrap().clone();
                child.node.parent = Some(target);
                let mut parent = world.task(target).unwrap().clone();
                if !parent.node.children.contains(&id) {
                    parent.node.children.push(id);
                }
                if let Some(old) = old.filter(|old| *old != target)
                    && let Some(mut old) = world.task(old).cloned()
                {
                    old.node.children.retain(|other| *other != id);
                    world.put(old);
                }
                world.put(parent);
                world.put(child);
            }
            _ => {}
        }
    }
}

proptest! {
    #[test]
    fn sums_kept_along_the_way_are_those_counted_anew(steps in prop::collection::vec(any::<(u8, u8, u8)>(), 0..40)) {
        let mut world = world();
        shake(&mut world, &steps);
        let mut snapshot = snapshot();
        snapshot.tasks = world.tasks().cloned().collect();
        let fresh = World::new(snapshot);
        for view in world.tasks() {
            prop_assert_eq!(world.sum(view.node.id), fresh.sum(view.node.id), "{}", view.node.title);
        }
        prop_assert_eq!(world.total_tokens(), fresh.total_tokens());
        prop_assert!(world.total().cost >= MicroUsd::ZERO);
    }
}
