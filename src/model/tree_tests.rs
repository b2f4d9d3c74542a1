use proptest::prelude::*;

use super::*;
use crate::base::{MicroUsd, Timestamp};
use crate::model::task::Status;

fn id(number: u128) -> TaskId {
    TaskId::from_ulid(ulid::Ulid::from_parts(1_800_000_000_000, number))
}

fn node(number: u128) -> TaskNode {
    TaskNode::new(id(number), format!("task {number}"), "engineer", Timestamp::EPOCH)
}

/// Asserts the invariants of every tree.
fn assert_valid(tree: &Tree) {
    assert_eq!(tree.root().parent, None);
    let walked: Vec<_> = tree.all().map(|node| node.id).collect();
    assert_eq!(walked.len(), tree.len(), "every node is below the root, once");
    assert_eq!(walked.iter().collect::<BTreeSet<_>>().len(), tree.len());
    for node in tree.all() {
        for child in &node.children {
            assert_eq!(tree.get(*child).and_then(|child| child.parent), Some(node.id));
        }
        if let Some(parent) = node.parent {
            let listed = tree.get(parent).unwrap().children.iter().filter(|child| **child == node.id).count();
            assert_eq!(listed, 1);
        }
        assert!(tree.depth(node.id) < tree.len());
    }
}

/// A naive tree to compare with: a list of (task, parent), in the order of siblings.
#[derive(Clone, Debug, PartialEq)]
struct Naive(Vec<(TaskId, Option<TaskId>)>);

impl Naive {
    fn has(&self, id: TaskId) -> bool {
        self.0.iter().any(|(other, _)| *other == id)
    }
    fn parent(&self, id: TaskId) -> Option<TaskId> {
        self.0.iter().find(|(other, _)| *other == id).and_then(|(_, parent)| *parent)
    }
    fn children(&self, id: TaskId) -> Vec<TaskId> {
        self.0.iter().filter(|(_, parent)| *parent == Some(id)).map(|(child, _)| *child).collect()
    }
    fn is_below(&self, id: TaskId, above: TaskId) -> bool {
        id == above || self.parent(id).is_some_and(|parent| self.is_below(parent, above))
    }
    fn insert(&mut self, id: TaskId, parent: TaskId) -> bool {
        let allowed = !self.has(id) && self.has(parent);
        if allowed {
            self.0.push((id, Some(parent)));
        }
        allowed
    }
    fn reparent(&mut self, id: TaskId, parent: TaskId) -> bool {
        let allowed = self.parent(id).is_some() && self.has(parent) && !self.is_below(parent, id);
        if allowed {
            self.0.retain(|(other, _)| *other != id);
            self.0.push((id, Some(parent)));
        }
        allowed
    }
    fn remove(&mut self, id: TaskId) -> bool {
        let allowed = self.parent(id).is_some() && self.children(id).is_empty();
        if allowed {
            self.0.retain(|(other, _)| *other != id);
        }
        allowed
    }
    fn reorder(&mut self, parent: TaskId, order: &[TaskId]) -> bool {
        let mut sorted = (self.children(parent), order.to_vec());
        sorted.0.sort_unstable();
        sorted.1.sort_unstable();
        let allowed = self.has(parent) && sorted.0 == sorted.1;
        if allowed {
            self.0.retain(|(_, other)| *other != Some(parent));
            self.0.extend(order.iter().map(|child| (*child, Some(parent))));
        }
        allowed
    }
}

#[derive(Clone, Debug)]
enum Op {
    Insert(u128, u128),
    Reparent(u128, u128),
    Remove(u128),
    /// Rotates the sub tasks; `spoil` makes the order wrong.
    Reorder {
        parent: u128,
        by: usize,
        spoil: u8,
    },
    Edit(u128),
}

fn op() -> impl Strategy<Value = Op> {
    let n = || 0..12_u128;
    prop_oneof![
        4 => (n(), n()).prop_map(|(a, b)| Op::Insert(a, b)),
        3 => (n(), n()).prop_map(|(a, b)| Op::Reparent(a, b)),
        1 => n().prop_map(Op::Remove),
        2 => (n(), 0..4_usize, 0..4_u8).prop_map(|(parent, by, spoil)| Op::Reorder { parent, by, spoil }),
        1 => n().prop_map(Op::Edit),
    ]
}

proptest! {
    #[test]
    fn every_operation_does_what_a_naive_tree_does(ops in prop::collection::vec(op(), 0..60)) {
        let mut tree = Tree::new(node(0));
        let mut naive = Naive(vec![(id(0), None)]);
        for op in ops {
            let before = tree.clone();
            let (done, allowed) = match op {
                Op::Insert(a, b) => (tree.insert(node(a), id(b)).is_ok(), naive.insert(id(a), id(b))),
                Op::Reparent(a, b) => (tree.reparent(id(a), id(b)).is_ok(), naive.reparent(id(a), id(b))),
                Op::Remove(a) => (tree.remove(id(a)).is_ok(), naive.remove(id(a))),
                Op::Reorder { parent, by, spoil } => {
                    let mut order = naive.children(id(parent));
                    if !order.is_empty() {
                        let by = by % order.len();
                        order.rotate_left(by);
                    }
                    match spoil {
                        1 => drop(order.pop()),
                        2 => order.extend(order.first().copied()),
                        3 => order.push(id(99)),
                        _ => {}
                    }
                    let allowed = naive.reorder(id(parent), &order);
                    (tree.reorder(id(parent), order).is_ok(), allowed)
                }
                Op::Edit(a) => {
                    let done = tree.edit(id(a), |node| {
                        node.title = "edited".to_owned();
                        (node.id, node.parent, node.children) = (id(77), Some(id(78)), vec![id(79)]);
                    });
                    (done.is_ok(), naive.has(id(a)))
                }
            };
            prop_assert_eq!(done, allowed);
            if !done {
                prop_assert_eq!(&tree, &before, "what is refused changes nothing");
            }
            assert_valid(&tree);
            for node in tree.all() {
                prop_assert!(naive.has(node.id));
                prop_assert_eq!(naive.parent(node.id), node.parent);
                prop_assert_eq!(&naive.children(node.id), &node.children);
            }
            prop_assert_eq!(tree.len(), naive.0.len());
        }
    }

    #[test]
    fn any_nodes_make_a_complete_tree(
        nodes in prop::collection::vec((0..15_u128, prop::option::of(0..20_u128), prop::collection::vec(0..20_u128, 0..6)), 0..15),
        root in prop::option::of(0..20_u128),
    ) {
        let nodes: Vec<_> = nodes.into_iter().map(|(number, parent, children)| TaskNode {
            parent: parent.map(id),
            children: children.into_iter().map(id).collect(),
            ..node(number)
        }).collect();
        let given: BTreeSet<_> = nodes.iter().map(|node| node.id).collect();
        let Some(rebuilt) = Tree::from_nodes(root.map(id), nodes.clone()) else {
            prop_assert!(given.is_empty());
            return Ok(());
        };
        assert_valid(&rebuilt.tree);
        prop_assert_eq!(&rebuilt.tree.all().map(|node| node.id).collect::<BTreeSet<_>>(), &given);
        // Rebuilt from the result, nothing changes and there are no notes.
        let again = Tree::from_nodes(Some(rebuilt.tree.root_id()), rebuilt.tree.all().cloned()).unwrap();
        prop_assert_eq!(&again.tree, &rebuilt.tree);
        prop_assert_eq!(&again.notes, &Vec::<String>::new());
        // A valid position was kept.
        let latest: BTreeMap<_, _> = nodes.into_iter().map(|node| (node.id, node)).collect();
        let leads_to_root = |mut at: TaskId| {
            (0..20).any(|_| {
                at = latest.get(&at).and_then(|node| node.parent).unwrap_or(at);
                at == rebuilt.tree.root_id()
            })
        };
        for node in rebuilt.tree.all().filter(|node| node.parent.is_some() && leads_to_root(node.id)) {
            prop_assert_eq!(node.parent, latest[&node.id].parent, "{:?}", rebuilt.notes);
        }
    }
}

#[test]
fn only_nodes_in_a_cycle_lose_their_position() {
    let with_parent = |number, parent| TaskNode { parent: Some(id(parent)), ..node(number) };
    // 1 is below the cycle of 2 and 3.
    let nodes = [node(0), with_parent(1, 2), with_parent(2, 3), with_parent(3, 2)];
    let RebuiltTree { tree, notes, .. } = Tree::from_nodes(Some(id(0)), nodes).unwrap();
    assert_valid(&tree);
    let parents = [1, 2, 3].map(|number| tree.get(id(number)).unwrap().parent);
    assert_eq!(parents, [Some(id(2)), Some(id(0)), Some(id(2))]);
    assert_eq!(notes.len(), 1);
    assert!(notes[0].contains("\"task 2\"") && notes[0].contains("was its own ancestor"), "{notes:?}");
}

#[test]
fn a_refusal_names_the_problem() {
    let mut tree = Tree::new(node(0));
    tree.insert(node(1), id(0)).unwrap();
    tree.insert(node(2), id(1)).unwrap();
    let text = |result: Result<(), TreeError>| result.unwrap_err().to_string();
    assert!(text(tree.reparent(id(1), id(2))).contains("the task itself or one of its descendants"));
    assert!(text(tree.reparent(id(1), id(1))).contains("itself"));
    assert!(text(tree.reparent(id(0), id(1))).contains("the root cannot be moved"));
    assert!(text(tree.remove(id(1)).map(drop)).contains("has 1 sub tasks"));
    assert!(text(tree.remove(id(0)).map(drop)).contains("the root cannot be removed"));
    assert!(
        text(tree.insert(TaskNode { children: vec![id(9)], ..node(5) }, id(0))).contains("must not have sub tasks")
    );
    let order = text(tree.reorder(id(0), vec![id(2), id(2)]));
    assert!(order.contains(&format!("missing: {}", id(1))) && order.contains(&id(2).to_string()), "{order}");
}

#[test]
fn walking_follows_the_order_of_the_lists() {
    let mut tree = Tree::new(node(0));
    for (child, parent) in [(1, 0), (2, 0), (3, 1), (4, 3), (5, 1)] {
        tree.insert(node(child), id(parent)).unwrap();
    }
    tree.reorder(id(0), vec![id(2), id(1)]).unwrap();
    assert_eq!(tree.all().map(|node| node.id).collect::<Vec<_>>(), [0, 2, 1, 3, 4, 5].map(id));
    assert_eq!(tree.walk(id(1)).count(), 4);
    assert_eq!(tree.walk(id(99)).count(), 0);
    assert_eq!(tree.ancestors(id(4)).map(|node| node.id).collect::<Vec<_>>(), [3, 1, 0].map(id));
    assert_eq!((tree.depth(id(0)), tree.depth(id(4))), (0, 3));
}

#[test]
fn numbers_are_given_in_order_and_never_again() {
    let number = TaskNumber::new;
    let mut tree = Tree::new(node(0));
    tree.insert(node(1), id(0)).unwrap();
    tree.insert(node(2), id(0)).unwrap();
    let numbers = |tree: &Tree| tree.all().map(|node| node.number.unwrap().get()).collect::<Vec<_>>();
    assert_eq!(numbers(&tree), [1, 2, 3]);
    let gone = tree.remove(id(2)).unwrap();
    tree.insert(node(3), id(0)).unwrap();
    assert_eq!(numbers(&tree), [1, 2, 4], "3 was given to a task that is gone");
    tree.insert(gone, id(0)).unwrap();
    assert_eq!(numbers(&tree), [1, 2, 4, 3], "a restored task has its number again");
    tree.insert(TaskNode { number: number(2), ..node(5) }, id(0)).unwrap();
    assert_eq!(numbers(&tree), [1, 2, 4, 3, 5], "no two tasks share a number");
    tree.edit(id(1), |node| node.number = number(9)).unwrap();
    assert_eq!(numbers(&tree), [1, 2, 4, 3, 5], "an edit does not change it");
    assert_eq!(tree.numbered(number(4).unwrap()).map(|node| node.id), Some(id(3)));
    assert_eq!(tree.last_number(), number(5).unwrap());
}

#[test]
fn tasks_without_a_number_get_one_in_order_of_creation() {
    let below = |number| TaskNode { parent: Some(id(1)), ..node(number) };
    let numbers = |rebuilt: &RebuiltTree| -> Vec<(u128, u32)> {
        let mut all: Vec<_> =
            rebuilt.tree.all().map(|node| (node.id.ulid().random(), node.number.unwrap().get())).collect();
        all.sort_unstable();
        all
    };
    // The root is not the oldest task: imported tasks may be older.
    let rebuilt = Tree::from_nodes(Some(id(1)), [below(3), below(0), node(1), below(2)]).unwrap();
    assert_eq!(numbers(&rebuilt), [(0, 2), (1, 1), (2, 3), (3, 4)]);
    assert_eq!(rebuilt.numbered, [1, 0, 2, 3].map(id));

    let with = |task, number| TaskNode { number: TaskNumber::new(number), ..below(task) };
    let rebuilt = Tree::from_nodes_after(TaskNumber::new(7), Some(id(1)), [with(2, 4), with(3, 4), node(1)]).unwrap();
    assert_eq!(numbers(&rebuilt), [(1, 1), (2, 4), (3, 8)], "7 was given to a task that is gone");
    assert_eq!(rebuilt.tree.last_number(), TaskNumber::new(8).unwrap());
}

#[test]
fn attention_propagates_to_every_ancestor() {
    let mut tree = Tree::new(TaskNode { status: Status::InProgress, ..node(0) });
    for (child, parent, status) in
        [(1, 0, Status::Passed), (2, 1, Status::Failed), (3, 2, Status::Pending), (4, 0, Status::Closed)]
    {
        tree.insert(TaskNode { status, ..node(child) }, id(parent)).unwrap();
    }
    let cost = |task: TaskId| MicroUsd(u64::try_from(task.ulid().random()).unwrap() * 10);
    let quiet = |task| Facts { cost: cost(task), ..Facts::default() };
    let sum = tree.roll_up(id(0), quiet);
    assert_eq!((sum.tasks, sum.cost, sum.attention), (5, MicroUsd(100), Attention::Failed));
    assert_eq!(Status::ALL.map(|status| sum.count(status)), [0, 1, 1, 1, 1, 1]);
    assert_eq!(tree.roll_up(id(4), quiet).attention, Attention::Quiet);
    assert_eq!(tree.roll_up(id(99), quiet), RollUp::default());

    let asks = |task: TaskId| Facts { asks: usize::from(task == id(3)), working: task == id(0), ..quiet(task) };
    for above in [0, 1, 2, 3] {
        let sum = tree.roll_up(id(above), asks);
        assert_eq!((sum.attention, sum.asks), (Attention::Asks, 1), "{above}");
    }
    assert_eq!(tree.roll_up(id(0), asks).working, 1);
    let working = |task: TaskId| Facts { working: task == id(0), ..Facts::default() };
    assert_eq!(RollUp::of(tree.root(), working(id(0))).attention, Attention::Working);
    assert!(Status::ALL.iter().enumerate().all(|(at, status)| *status as usize == at), "counts are by position");
}
