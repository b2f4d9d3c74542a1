use super::*;
use crate::base::MicroUsd;
use crate::engine::command::{TaskChanges, TaskDraft, TaskStart};
use crate::model::event::BudgetScope;
use crate::model::task::EditedBy;

fn limited(dollars: u64) -> Rig {
    Rig::with(EngineLimits { budget: Some(MicroUsd(dollars)), ..EngineLimits::default() })
}

fn accounts(rig: &mut Rig, task: TaskId) -> Vec<(BudgetScope, u64, u64)> {
    rig.send(task, "go on");
    let orders = rig.orders();
    let order = orders.iter().rfind(|order| order.node.id == task).expect("it was launched");
    order.accounts.iter().map(|account| (account.scope, account.limit.0, account.spent.0)).collect()
}

fn new_task(parent: TaskId, budget: u64) -> Command {
    let draft = TaskDraft { title: "New".to_owned(), budget: Some(MicroUsd(budget)), ..TaskDraft::default() };
    Command::Create { parent, before: None, draft, start: TaskStart::Later }
}

fn set_budget(task: TaskId, budget: u64) -> Command {
    Command::Update { task, changes: TaskChanges { budget: Some(Some(MicroUsd(budget))), ..TaskChanges::default() } }
}

fn by_user(rig: &mut Rig, task: TaskId, budget: Option<u64>) {
    let changes = TaskChanges { budget: Some(budget.map(MicroUsd)), ..TaskChanges::default() };
    assert_eq!(rig.command(Command::Update { task, changes }), Some(Ok(Outcome::Done)));
}

#[test]
fn the_setting_limits_the_root_with_everything_below_it() {
    let mut rig = limited(100);
    let root = rig.root();
    let child = rig.make_asleep(root, "Child");
    assert_eq!(accounts(&mut rig, root), [(BudgetScope::Task, 100, 10)]);
    assert_eq!(accounts(&mut rig, child), [(BudgetScope::Task, 100, 10), (BudgetScope::Subtree, 100, 10)]);
    assert_eq!(rig.view(root).node.budget, Some(MicroUsd(100)), "it is shown");
    assert_eq!(rig.tree.root().budget, None, "and not copied into the tree");
}

#[test]
fn a_budget_set_by_the_user_replaces_the_setting() {
    let mut rig = limited(100);
    let root = rig.root();
    by_user(&mut rig, root, Some(500));
    assert_eq!(accounts(&mut rig, root), [(BudgetScope::Task, 500, 0)]);
    by_user(&mut rig, root, None);
    rig.exit_stopped(root);
    assert_eq!(accounts(&mut rig, root), []);
}

#[test]
fn a_tree_of_an_earlier_version_is_limited_by_the_setting_unless_the_user_set_a_budget() {
    let cases = [
        (None, EditedBy::User, Some(100)),
        (Some(900), EditedBy::Agent, Some(100)),
        (Some(40), EditedBy::Agent, Some(40)),
        (Some(900), EditedBy::User, Some(900)),
    ];
    for (stored, edited_by, limit) in cases {
        let mut rig = limited(100);
        let root = rig.root();
        let mut tree = Tree::clone(&rig.tree);
        tree.edit(root, |node| (node.budget, node.edited_by) = (stored.map(MicroUsd), edited_by)).unwrap();
        rig.tree = tree.into();
        rig.crash();
        assert_eq!(rig.view(root).node.budget, limit.map(MicroUsd), "{stored:?} by {edited_by:?}");
    }
}

#[test]
fn an_agent_can_ask_for_less_and_not_for_more_than_the_user_allows() {
    let mut rig = limited(100);
    let root = rig.root();
    assert!(rig.agent_command(root, new_task(root, 101)).unwrap().is_err());
    assert!(rig.agent_command(root, new_task(root, 60)).unwrap().is_ok());
    let cheap = rig.view(root).node.children[0];
    assert_eq!(rig.view(cheap).node.budget, Some(MicroUsd(60)));
    assert!(rig.agent_command(root, set_budget(cheap, 100)).unwrap().is_ok(), "its own word it may change");
    assert!(rig.agent_command(root, set_budget(cheap, 101)).unwrap().is_err());
    assert!(rig.agent_command(cheap, new_task(cheap, 100)).unwrap().is_ok());
    by_user(&mut rig, cheap, Some(30));
    assert!(rig.agent_command(cheap, new_task(cheap, 31)).unwrap().is_err(), "what is above is a ceiling, too");
    for budget in [10, 30, 31] {
        let message = message_of(rig.agent_command(root, set_budget(cheap, budget)));
        assert!(message.contains("the user set the budget"), "{message}");
    }
    assert_eq!(rig.view(cheap).node.budget, Some(MicroUsd(30)));
}

#[test]
fn the_cost_of_a_deleted_task_still_counts_after_a_restart() {
    let mut rig = limited(100);
    let root = rig.root();
    let task = rig.make_asleep(root, "Task");
    rig.command(Command::Delete { task });
    rig.worktree_done(Ok(()));
    rig.crash();
    assert_eq!(accounts(&mut rig, root), [(BudgetScope::Task, 100, 10)]);
}
