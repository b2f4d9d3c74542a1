//! Actions on tasks and on the pane that lists them.

use crate::base::TaskId;
use crate::base::text;
use crate::engine::command::{Changes, Command};
use crate::engine::update::Level;
use crate::model::Status;
use crate::ui::action::Action;
use crate::ui::effect::{Effect, Purpose};
use crate::ui::field::Field;
use crate::ui::layer::{Confirm, Deed, Layer, Prompt, PromptFor};
use crate::ui::model::{Expect, Model};
use crate::ui::msg::Cx;
use crate::ui::update::{Out, picks};

pub fn act(model: &mut Model, action: Action, cx: &Cx<'_>, out: &mut Out) {
    let task = model.selected();
    match action {
        Action::NewTask => new_task(model, Place::Beside),
        Action::NewSubtask => new_task(model, Place::Below),
        Action::Fold => model.tree.fold(&model.world),
        Action::Unfold => model.tree.unfold(&model.world),
        Action::FoldToggle => model.tree.fold_toggle(&model.world),
        Action::FoldAll => model.tree.fold_all(&model.world),
        Action::UnfoldAll => model.tree.unfold_all(),
        Action::Rename => {
            let title = model.world.node(task).map(|node| node.title.clone()).unwrap_or_default();
            prompt(model, "Rename", "the new title", title, PromptFor::Rename(task));
        }
        Action::Describe => {
            let text = model.world.node(task).map(|node| node.description.clone()).unwrap_or_default();
            out.effect(Effect::OpenEditor { purpose: Purpose::Description(task), text });
        }
        Action::MoveTask => picks::open_move(model, task, cx),
        Action::MoveUp => reorder(model, -1, cx, out),
        Action::MoveDown => reorder(model, 1, cx, out),
        Action::Colour => picks::open_colours(model, task),
        Action::Budget => {
            let budget = model.world.node(task).and_then(|node| node.budget);
            let text = budget.map(|budget| budget.to_string().trim_start_matches('$').to_owned()).unwrap_or_default();
            prompt(model, "Budget in dollars", "empty: no limit", text, PromptFor::Budget(task));
        }
        Action::ToggleDraft => {
            let draft = model.world.node(task).is_some_and(|node| node.status == Status::Draft);
            let changes = Changes { draft: Some(!draft), ..Changes::default() };
            out.command(model, Command::Update { task, changes }, Expect::Plain(None), cx);
        }
        Action::CloseTask => close(model, task, cx, out),
        Action::DeleteTask => confirm_loss(model, task, "Delete", Command::Delete { task }, cx),
        Action::ResetTask => confirm_loss(model, task, "Reset", Command::Reset { task }, cx),
        Action::RestoreTask => out.command(model, Command::Restore { task }, Expect::Plain(Some("restored")), cx),
        Action::Filter => model.tree.filtering = true,
        Action::FilterMode => model.tree.cycle_mode(),
        Action::Sort => model.tree.cycle_sort(),
        Action::CostColumn => model.tree.cost = !model.tree.cost,
        _ => {}
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Beside,
    Below,
}

fn new_task(model: &mut Model, place: Place) {
    let here = model.selected();
    let parent = model.world.node(here).and_then(|node| node.parent).filter(|_| place == Place::Beside);
    // Beside the root there is no place: a task there is one below it.
    let parent_id = parent.unwrap_or(here);
    let before = parent.and_then(|parent| {
        let siblings = &model.world.node(parent)?.children;
        let at = siblings.iter().position(|child| *child == here)?;
        siblings.get(at + 1).copied()
    });
    let title = if parent_id == model.world.root() {
        "New task".to_owned()
    } else {
        format!("New task below {}", model.world.title(parent_id))
    };
    let purpose = PromptFor::NewTask { parent: parent_id, before };
    model.layers.push(Layer::Prompt(Prompt {
        title,
        placeholder: "what is to be done",
        field: Field::default(),
        purpose,
        problem: None,
        profile: None,
    }));
}

pub fn prompt(model: &mut Model, title: &str, placeholder: &'static str, text: String, purpose: PromptFor) {
    let field = Field::with(text);
    model.layers.push(Layer::Prompt(Prompt {
        title: title.to_owned(),
        placeholder,
        field,
        purpose,
        problem: None,
        profile: None,
    }));
}

fn reorder(model: &mut Model, by: isize, cx: &Cx<'_>, out: &mut Out) {
    let task = model.selected();
    let Some(parent) = model.world.node(task).and_then(|node| node.parent) else { return };
    let mut order = model.world.node(parent).map(|node| node.children.clone()).unwrap_or_default();
    let Some(at) = order.iter().position(|child| *child == task) else { return };
    let Some(to) = at.checked_add_signed(by).filter(|to| *to < order.len()) else { return };
    order.swap(at, to);
    out.command(model, Command::Reorder { parent, order }, Expect::Plain(None), cx);
}

fn close(model: &mut Model, task: TaskId, cx: &Cx<'_>, out: &mut Out) {
    let dirty = model.world.task(task).and_then(|view| view.diff).is_some_and(|diff| diff.dirty);
    if dirty {
        return confirm_loss(model, task, "Close", Command::Close { task }, cx);
    }
    let has_work = model.world.node(task).is_some_and(|node| node.branch.is_some());
    let words = if has_work { "closed; its work is archived" } else { "closed" };
    out.command(model, Command::Close { task }, Expect::Plain(Some(words)), cx);
}

/// Says what becomes of what is taken away: of work only where there may be some, of a conversation only where one was.
fn afterwards(model: &Model, task: TaskId, command: &Command) -> String {
    let taken: Vec<_> = match command {
        Command::Delete { .. } => model.world.walk(task).filter_map(|id| model.world.task(id)).collect(),
        _ => model.world.task(task).into_iter().collect(),
    };
    let worked = taken.iter().any(|view| view.node.branch.is_some() || view.diff.is_some());
    let spoken = taken.iter().any(|view| view.turns > 0);
    let work = match (worked, command) {
        (true, Command::Reset { .. }) => "The old work is archived under refs/mxd/archive.",
        (true, _) => "Work that is not merged is archived under refs/mxd/archive first.",
        (false, _) if spoken => "It has no branch, so there is no work to archive.",
        (false, _) => "It has not begun: no work is lost.",
    };
    match command {
        Command::Reset { .. } if spoken => format!("The conversation starts over. {work}"),
        Command::Delete { .. } => format!("{work} `mxd restore` brings it back."),
        _ => work.to_owned(),
    }
}

/// Asks before something is taken away, and says exactly what.
fn confirm_loss(model: &mut Model, task: TaskId, word: &str, command: Command, cx: &Cx<'_>) {
    if task == model.world.root() && matches!(command, Command::Delete { .. }) {
        return model.toasts.say(Level::Warning, "the root cannot be deleted", cx.now);
    }
    let sum = model.world.sum(task);
    let mut lines = vec![format!("\"{}\"", model.world.title(task))];
    let below = sum.tasks.saturating_sub(1);
    if below > 0 && matches!(command, Command::Delete { .. }) {
        lines.push(format!("and {} below it", text::count(below, "task", "tasks")));
    }
    if sum.working > 0 {
        lines.push(format!("{} stopped", text::count(sum.working, "agent is", "agents are")));
    }
    if sum.asks > 0 {
        lines.push(text::count(sum.asks, "question no longer waits for you", "questions no longer wait for you"));
    }
    let diffs = model.world.walk(task).filter_map(|id| model.world.task(id).and_then(|view| view.diff));
    let (mut added, mut removed, mut dirty) = (0, 0, 0);
    for diff in diffs {
        added += diff.added;
        removed += diff.removed;
        dirty += usize::from(diff.dirty);
    }
    if added + removed > 0 {
        let loose = if dirty > 0 {
            format!(", not all of it committed in {}", text::count(dirty, "task", "tasks"))
        } else {
            String::new()
        };
        lines.push(format!("+{added} -{removed} lines of work{loose}"));
    }
    if sum.cost.0 > 0 {
        lines.push(format!("{} spent on it", sum.cost));
    }
    lines.push(String::new());
    lines.push(afterwards(model, task, &command));
    model.layers.push(Layer::Confirm(Confirm { title: format!("{word}?"), lines, deed: Deed::Command(command) }));
}

#[cfg(test)]
#[path = "act_tree_tests.rs"]
mod tests;
