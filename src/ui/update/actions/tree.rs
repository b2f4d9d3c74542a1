//! Actions on tasks and on the task tree.

use crate::base::TaskId;
use crate::base::text;
use crate::engine::command::{Command, TaskChanges};
use crate::engine::update::Level;
use crate::model::Status;
use crate::ui::action::Action;
use crate::ui::effect::{EditPurpose, Effect};
use crate::ui::field::Field;
use crate::ui::layer::{Confirm, ConfirmedAction, Layer, Prompt, PromptPurpose};
use crate::ui::model::{Model, PendingReply};
use crate::ui::msg::Cx;
use crate::ui::update::actions::brief::{self, Relation};
use crate::ui::update::actions::modes;
use crate::ui::update::{Out, pickers};

pub fn act(model: &mut Model, action: Action, cx: &Cx<'_>, out: &mut Out) {
    let task = model.selected();
    match action {
        Action::NewTask => brief::open(model, Relation::Sibling),
        Action::NewSubtask => brief::open(model, Relation::Child),
        Action::Fold => model.tree.fold(&model.project),
        Action::Unfold => model.tree.unfold(&model.project),
        Action::FoldToggle => model.tree.fold_toggle(&model.project),
        Action::FoldAll => model.tree.fold_all(&model.project),
        Action::UnfoldAll => model.tree.unfold_all(),
        Action::Rename => {
            let title = model.project.node(task).map(|node| node.title.clone()).unwrap_or_default();
            prompt(model, "Rename", "new title", title, PromptPurpose::Rename(task));
        }
        Action::Describe => {
            let text = model.project.node(task).map(|node| node.description.clone()).unwrap_or_default();
            out.effect(Effect::OpenEditor { purpose: EditPurpose::Description(task), text });
        }
        Action::MoveTask => pickers::open_move(model, task, cx),
        Action::MoveUp => reorder(model, -1, cx, out),
        Action::MoveDown => reorder(model, 1, cx, out),
        Action::Colour => pickers::open_colours(model, task),
        Action::ChoosePermissions => modes::open(model, task),
        Action::Budget => {
            let budget = model.project.node(task).and_then(|node| node.budget);
            let text = budget.map(|budget| budget.to_string().trim_start_matches('$').to_owned()).unwrap_or_default();
            prompt(model, "Budget in USD", "leave empty for no limit", text, PromptPurpose::Budget(task));
        }
        Action::ToggleDraft => {
            let draft = model.project.node(task).is_some_and(|node| node.status == Status::Draft);
            let changes = TaskChanges { draft: Some(!draft), ..TaskChanges::default() };
            out.command(model, Command::Update { task, changes }, PendingReply::Plain(None), cx);
        }
        Action::CloseTask => confirm_loss(model, task, "Close", Command::Close { task }, cx),
        Action::DeleteTask => confirm_loss(model, task, "Delete", Command::Delete { task }, cx),
        Action::ResetTask => confirm_loss(model, task, "Reset", Command::Reset { task }, cx),
        Action::RestoreTask => out.command(model, Command::Restore { task }, PendingReply::Plain(Some("Restored")), cx),
        Action::Filter => model.tree.filtering = true,
        Action::FilterMode => model.tree.cycle_mode(),
        Action::Sort => model.tree.cycle_sort(),
        Action::CostColumn => model.tree.cost = !model.tree.cost,
        _ => {}
    }
}

pub fn prompt(model: &mut Model, title: &str, placeholder: &'static str, text: String, purpose: PromptPurpose) {
    let field = Field::with(text);
    model.layers.push(Layer::Prompt(Prompt { title: title.to_owned(), placeholder, field, purpose, problem: None }));
}

fn reorder(model: &mut Model, by: isize, cx: &Cx<'_>, out: &mut Out) {
    let task = model.selected();
    let Some(parent) = model.project.node(task).and_then(|node| node.parent) else { return };
    let mut order = model.project.node(parent).map(|node| node.children.clone()).unwrap_or_default();
    let Some(at) = order.iter().position(|child| *child == task) else { return };
    let Some(to) = at.checked_add_signed(by).filter(|to| *to < order.len()) else { return };
    order.swap(at, to);
    out.command(model, Command::Reorder { parent, order }, PendingReply::Plain(None), cx);
}

/// Returns the notice after a task was closed.
pub fn closed_words(model: &Model, task: TaskId) -> &'static str {
    let has_work = model.project.node(task).is_some_and(|node| node.branch.is_some());
    if has_work { "Closed. Its work is archived." } else { "Closed" }
}

/// Returns what happens to the work and the conversation of the affected tasks.
fn consequences(model: &Model, task: TaskId, command: &Command) -> String {
    let affected: Vec<_> = match command {
        Command::Delete { .. } => model.project.walk(task).filter_map(|id| model.project.task(id)).collect(),
        _ => model.project.task(task).into_iter().collect(),
    };
    let has_work = affected.iter().any(|view| view.node.branch.is_some() || view.diff.is_some());
    let has_conversation = affected.iter().any(|view| view.turns > 0);
    let work = match (has_work, command) {
        (true, Command::Reset { .. }) => "The old work is archived under refs/mxd/archive.",
        (true, _) => "Unmerged work is archived under refs/mxd/archive first.",
        (false, _) if has_conversation => "It has no branch: no work to archive.",
        (false, _) => "It has not started: no work is lost.",
    };
    match command {
        Command::Reset { .. } if has_conversation => format!("The conversation starts over. {work}"),
        Command::Delete { .. } => format!("{work} `mxd restore` undoes this."),
        _ => work.to_owned(),
    }
}

/// Asks for confirmation, listing exactly what is affected.
fn confirm_loss(model: &mut Model, task: TaskId, word: &str, command: Command, cx: &Cx<'_>) {
    if task == model.project.root() && matches!(command, Command::Delete { .. }) {
        return model.toasts.say(Level::Warning, "The root cannot be deleted", cx.now);
    }
    let sum = model.project.sum(task);
    let mut lines = vec![format!("\"{}\"", model.project.title(task))];
    let below = sum.tasks.saturating_sub(1);
    if below > 0 && matches!(command, Command::Delete { .. }) {
        lines.push(format!("and {}", text::count(below, "subtask", "subtasks")));
    }
    if sum.working > 0 {
        lines.push(format!("{} stopped", text::count(sum.working, "agent is", "agents are")));
    }
    if sum.asks > 0 {
        lines.push(text::count(sum.asks, "open question is dropped", "open questions are dropped"));
    }
    let diffs = model.project.walk(task).filter_map(|id| model.project.task(id).and_then(|view| view.diff));
    let (mut added, mut removed, mut dirty) = (0, 0, 0);
    for diff in diffs {
        added += diff.added;
        removed += diff.removed;
        dirty += usize::from(diff.dirty);
    }
    if added + removed > 0 {
        let uncommitted = if dirty > 0 {
            format!(", partly uncommitted in {}", text::count(dirty, "task", "tasks"))
        } else {
            String::new()
        };
        lines.push(format!("+{added} -{removed} lines{uncommitted}"));
    }
    if sum.cost.0 > 0 {
        lines.push(format!("{} spent so far", sum.cost));
    }
    lines.push(String::new());
    lines.push(consequences(model, task, &command));
    model.layers.push(Layer::Confirm(Confirm {
        title: format!("{word}?"),
        lines,
        action: ConfirmedAction::Command(command),
    }));
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
