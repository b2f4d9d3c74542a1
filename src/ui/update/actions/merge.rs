//! Actions on merges: preview, merge, verify, update, undo, cancel.

use crate::base::{Fault, TaskId};
use crate::engine::command::{Command, OnConflict, Outcome};
use crate::engine::review::{MergePreview, MergeTarget};
use crate::engine::snapshot::TaskView;
use crate::engine::update::Level;
use crate::model::Status;
use crate::ui::action::Action;
use crate::ui::detail::Tab;
use crate::ui::effect::Effect;
use crate::ui::layer::{Confirm, ConfirmedAction, Layer, Merge};
use crate::ui::layout::Pane;
use crate::ui::model::{Model, PendingReply};
use crate::ui::msg::Cx;
use crate::ui::update::{Out, expect_reply, may_change};

/// Returns the task of the dialog or question, else the selected one.
fn task_of(model: &Model) -> TaskId {
    match model.layers.last() {
        Some(Layer::Merge(merge)) => merge.task,
        Some(Layer::Rewind(rewind)) => rewind.task,
        _ if model.focus == Pane::Asks => model.asks.chosen().map_or(model.selected(), |(task, _)| task),
        _ => model.selected(),
    }
}

pub fn act(model: &mut Model, action: Action, cx: &Cx<'_>, out: &mut Out) {
    let task = task_of(model);
    match action {
        Action::Merge => open(model, task, cx, out),
        Action::DoMerge => merge(model, OnConflict::Refuse, cx, out),
        Action::TellAgent => merge(model, OnConflict::AskAgent, cx, out),
        Action::SolveConflicts => merge(model, OnConflict::Solved, cx, out),
        Action::MergeBase => {
            let Some(Layer::Merge(dialog)) = model.layers.last_mut() else { return };
            dialog.goal = match dialog.goal {
                MergeTarget::Parent => MergeTarget::Base,
                MergeTarget::Base => MergeTarget::Parent,
            };
            dialog.refresh();
            load(model, out);
        }
        Action::Verify => {
            busy(model, "Running the verify command …");
            let expect = PendingReply::Checked(task);
            out.command(model, Command::Verify { task }, expect, cx);
        }
        Action::CatchUp => {
            close(model);
            // The message starts a turn, which costs money.
            model.layers.push(Layer::Confirm(Confirm {
                title: "Update from the parent branch?".to_owned(),
                lines: vec![
                    format!("\"{}\"", model.project.title(task)),
                    "Its agent gets a message and works on it.".to_owned(),
                ],
                action: ConfirmedAction::Command(Command::CatchUp { task }),
            }));
        }
        Action::UndoMerge => undo(model, task, cx),
        Action::CancelMerge => cancel(model, task, cx, out),
        _ => {}
    }
}

/// Opens the preview of a merge: of the task's branch or, for the root, of the first branch below it that waits for one.
pub fn open(model: &mut Model, task: TaskId, cx: &Cx<'_>, out: &mut Out) {
    let root = model.project.root();
    if task == root {
        return match next_to_merge(model) {
            Some(next) => open(model, next, cx, out),
            None => model.toasts.say(Level::Info, "No finished task waits to be merged", cx.now),
        };
    }
    if model.project.node(task).is_none_or(|node| node.branch.is_none()) {
        return model.toasts.say(Level::Info, "The task has no branch until it starts", cx.now);
    }
    model.layers.push(Layer::Merge(Box::new(Merge::new(task))));
    load(model, out);
}

/// Returns the task below the root to merge next: the first finished one whose branch has something to merge, else the one
/// that was merged last. Its preview says so, and how to undo that.
fn next_to_merge(model: &Model) -> Option<TaskId> {
    let below = || model.project.walk(model.project.root()).skip(1).filter_map(|id| model.project.task(id));
    let waits = |task: &&TaskView| {
        let has_work = task.diff.is_some_and(|diff| diff.files > 0);
        task.node.status == Status::Passed && task.node.branch.is_some() && has_work && !task.is_merged()
    };
    let merged = || below().filter(|task| task.is_merged());
    let last = || merged().max_by_key(|task| task.last_merge.as_ref().map(|merge| merge.at));
    below().find(waits).or_else(last).map(|task| task.node.id)
}

fn load(model: &Model, out: &mut Out) {
    if let Some(Layer::Merge(dialog)) = model.layers.last() {
        out.effect(Effect::LoadMerge { task: dialog.task, goal: dialog.goal });
    }
}

fn dialog(model: &mut Model, task: TaskId) -> Option<&mut Merge> {
    model.layers.iter_mut().find_map(|layer| match layer {
        Layer::Merge(dialog) if dialog.task == task => Some(&mut **dialog),
        _ => None,
    })
}

fn busy(model: &mut Model, words: &'static str) {
    if let Some(Layer::Merge(dialog)) = model.layers.last_mut() {
        dialog.busy = Some(words);
        dialog.problem = None;
    }
}

fn close(model: &mut Model) {
    if matches!(model.layers.last(), Some(Layer::Merge(_))) {
        model.layers.pop();
    }
}

/// Takes in a merge preview.
pub fn on_preview(model: &mut Model, task: TaskId, goal: MergeTarget, preview: Result<MergePreview, Fault>) {
    if let Some(dialog) = dialog(model, task).filter(|dialog| dialog.goal == goal) {
        dialog.preview = Some(preview.map_err(|fault| fault.to_string()));
    }
}

fn merge(model: &mut Model, conflicts: OnConflict, cx: &Cx<'_>, out: &mut Out) {
    let Some(Layer::Merge(dialog)) = model.layers.last() else { return };
    let (task, into, how) = (dialog.task, dialog.goal, dialog.strategy());
    // Nothing runs twice, and nothing without a preview.
    if dialog.busy.is_some() || dialog.ready().is_none() {
        return;
    }
    let has_conflicts = dialog.has_conflicts();
    let words = match (conflicts, has_conflicts) {
        (OnConflict::AskAgent | OnConflict::Solved, false) => {
            return model.toasts.say(Level::Info, "There are no conflicts", cx.now);
        }
        (OnConflict::AskAgent, true) => "Sending the conflicts to the agent …",
        (OnConflict::Solved, true) => "Resolving in $EDITOR …",
        (OnConflict::Refuse, _) => "Merging …",
    };
    let refusal = dialog.ready().and_then(MergePreview::refusal).filter(|_| conflicts == OnConflict::Refuse);
    if let Some(refusal) = refusal {
        if let Some(Layer::Merge(dialog)) = model.layers.last_mut() {
            dialog.problem = Some(refusal);
        }
        return;
    }
    let expect = PendingReply::Merged(task);
    if conflicts == OnConflict::Solved {
        if may_change(model, cx) {
            busy(model, words);
            let tag = expect_reply(model, expect);
            out.effect(Effect::ResolveConflicts { tag, task, goal: into, how });
        }
        return;
    }
    busy(model, words);
    out.command(model, Command::Merge { task, into, how, conflicts }, expect, cx);
}

/// Handles the outcome of a merge.
pub fn on_merged(model: &mut Model, task: TaskId, outcome: &Outcome, cx: &Cx<'_>) {
    model.layers.retain(|layer| !matches!(layer, Layer::Merge(dialog) if dialog.task == task));
    let words = match outcome {
        Outcome::AgentAsked(_) => "Sent the conflicts to the agent".to_owned(),
        Outcome::Done => format!("Merged. {} to undo.", model.key_of(Action::UndoMerge)),
        _ => return,
    };
    model.toasts.say(Level::Info, words, cx.now);
}

/// Shows in the dialog why a merge or a check was refused.
pub fn on_refused(model: &mut Model, task: TaskId, fault: &Fault, cx: &Cx<'_>, out: &mut Out) {
    match dialog(model, task) {
        Some(dialog) => {
            dialog.problem = Some(fault.to_string());
            dialog.refresh();
            load(model, out);
        }
        None => model.toasts.say(Level::Error, fault.to_string(), cx.now),
    }
}

/// Reloads the preview after the verify command has run.
pub fn on_verified(model: &mut Model, task: TaskId, out: &mut Out) {
    if let Some(dialog) = dialog(model, task) {
        dialog.refresh();
        load(model, out);
    }
}

fn undo(model: &mut Model, task: TaskId, cx: &Cx<'_>) {
    let Some(landing) = model.project.task(task).and_then(|task| task.last_merge.clone()) else {
        return model.toasts.say(Level::Info, "This task has no merge to undo", cx.now);
    };
    let short = |id: &str| id.chars().take(10).collect::<String>();
    let target = crate::base::sanitize::line(&landing.target).into_owned();
    let lines = vec![
        format!("\"{}\" was merged into {target}.", model.project.title(task)),
        format!("{target} is reset from {} to {}.", short(&landing.to), short(&landing.from)),
        "The task's branch does not change.".to_owned(),
    ];
    let action = ConfirmedAction::Command(Command::UndoMerge { task });
    model.layers.push(Layer::Confirm(Confirm { title: "Undo the merge?".to_owned(), lines, action }));
}

fn cancel(model: &mut Model, task: TaskId, cx: &Cx<'_>, out: &mut Out) {
    if model.project.task(task).is_none_or(|task| task.queued_merge.is_none()) {
        return model.toasts.say(Level::Info, "This task has no queued merge", cx.now);
    }
    close(model);
    out.command(model, Command::CancelMerge { task }, PendingReply::Plain(None), cx);
}

/// Shows the diff of the dialog's task.
pub fn show_diff(model: &mut Model) -> bool {
    let Some(Layer::Merge(dialog)) = model.layers.last() else { return false };
    let task = dialog.task;
    model.layers.pop();
    model.tree.select(&model.project, task);
    model.detail.show(Tab::Diff);
    model.focus = Pane::Detail;
    true
}
