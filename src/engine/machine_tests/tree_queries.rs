use super::*;
use crate::base::MicroUsd;
use crate::engine::query::{TreeAnswer, TreeQuery};

fn find(rig: &Rig, name: &str) -> Result<TaskId, Fault> {
    match rig.machine.query(&TreeQuery::Find { name: name.to_owned() })? {
        TreeAnswer::Find(found) => Ok(found.id),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_task_is_found_by_its_id_or_a_prefix() {
    let Family { rig, root, child, .. } = family();
    let id = child.to_string();
    assert_eq!(find(&rig, &id), Ok(child));
    assert_eq!(find(&rig, &id.to_lowercase()), Ok(child));
    let unique = (8..=id.len()).find(|end| find(&rig, &id[..*end]).is_ok()).unwrap();
    assert_eq!(find(&rig, &id[..unique]), Ok(child));
    assert!(find(&rig, &root.to_string()[..1]).is_err(), "it may be any of them");
    assert!(find(&rig, "ZZZZ").is_err());
}

#[test]
fn the_rows_of_a_subtree_start_at_its_top() {
    let Family { rig, root, child, sibling, grandchild, deepest } = family();
    let rows = |below| match rig.machine.query(&TreeQuery::Rows { below }) {
        Ok(TreeAnswer::Rows(rows)) => rows.into_iter().map(|row| (row.id, row.depth)).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    assert_eq!(rows(None), [(root, 0), (child, 1), (grandchild, 2), (deepest, 3), (sibling, 1)]);
    assert_eq!(rows(Some(grandchild)), [(grandchild, 0), (deepest, 1)]);
}

#[test]
fn a_task_card_has_the_effective_budget_and_the_cost() {
    let mut rig = Rig::with(EngineLimits { budget: Some(MicroUsd(100)), ..EngineLimits::default() });
    let task = rig.make_asleep(rig.root(), "Task");
    let card = match rig.machine.query(&TreeQuery::Task { task }) {
        Ok(TreeAnswer::Task(card)) => card,
        other => panic!("{other:?}"),
    };
    assert_eq!((card.node.budget, card.cost), (Some(MicroUsd(100)), MicroUsd(10)));
    assert_eq!(card.parent.map(|parent| parent.id), Some(rig.root()));
    assert!(rig.machine.query(&TreeQuery::Task { task: TaskId::fresh(&rig.ids) }).is_err());
}
