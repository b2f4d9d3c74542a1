//! Bringing a task's work into another branch, checking it, catching up, and taking a merge back.

use crate::base::{Fault, TaskId};
use crate::engine::command::{Command, OnConflict, Outcome};
use crate::engine::review::{Goal, MergePreview};
use crate::engine::update::Level;
use crate::ui::action::Action;
use crate::ui::detail::Tab;
use crate::ui::effect::Effect;
use crate::ui::layer::{Confirm, Deed, Layer, Merge};
use crate::ui::layout::Pane;
use crate::ui::model::{Expect, Model};
use crate::ui::msg::Cx;
use crate::ui::update::{Out, await_answer, may_change};

/// Returns the task that an action is about: that of the dialog or of the question, or the selected one.
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
                Goal::Above => Goal::Base,
                Goal::Base => Goal::Above,
            };
            dialog.refresh();
            load(model, out);
        }
        Action::Verify => {
            busy(model, "The check is running …");
            let expect = Expect::Checked(task);
            out.command(model, Command::Verify { task }, expect, cx);
        }
        Action::CatchUp => {
            close(model);
            out.command(model, Command::CatchUp { task }, Expect::Plain(Some("the agent was asked to catch up")), cx);
        }
        Action::UndoMerge => undo(model, task, cx),
        Action::CancelMerge => cancel(model, task, cx, out),
        _ => {}
    }
}

fn open(model: &mut Model, task: TaskId, cx: &Cx<'_>, out: &mut Out) {
    if model.world.node(task).is_none_or(|node| node.branch.is_none()) {
        let words = if task == model.world.root() {
            "the root works on the base branch itself: there is nothing to merge"
        } else {
            "the task has no branch yet: it gets one when it begins"
        };
        return model.toasts.say(Level::Info, words, cx.now);
    }
    model.layers.push(Layer::Merge(Box::new(Merge::new(task))));
    load(model, out);
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

/// What a merge would do is known.
pub fn previewed(model: &mut Model, task: TaskId, goal: Goal, preview: Result<MergePreview, Fault>) {
    if let Some(dialog) = dialog(model, task).filter(|dialog| dialog.goal == goal) {
        dialog.preview = Some(preview.map_err(|fault| fault.to_string()));
    }
}

fn merge(model: &mut Model, conflicts: OnConflict, cx: &Cx<'_>, out: &mut Out) {
    let Some(Layer::Merge(dialog)) = model.layers.last() else { return };
    let (task, into, how) = (dialog.task, dialog.goal, dialog.how());
    // Nothing is done twice, and nothing before it was seen what would be done.
    if dialog.busy.is_some() || dialog.ready().is_none() {
        return;
    }
    let has_conflicts = dialog.has_conflicts();
    let words = match (conflicts, has_conflicts) {
        (OnConflict::AskAgent | OnConflict::Solved, false) => {
            return model.toasts.say(Level::Info, "there are no conflicts", cx.now);
        }
        (OnConflict::AskAgent, true) => "The agent is told …",
        (OnConflict::Solved, true) => "What you solve is merged …",
        (OnConflict::Refuse, _) => "Merging …",
    };
    let refusal = dialog.ready().and_then(MergePreview::refusal).filter(|_| conflicts == OnConflict::Refuse);
    if let Some(refusal) = refusal {
        if let Some(Layer::Merge(dialog)) = model.layers.last_mut() {
            dialog.problem = Some(refusal);
        }
        return;
    }
    let expect = Expect::Merged(task);
    if conflicts == OnConflict::Solved {
        if may_change(model, cx) {
            busy(model, words);
            let tag = await_answer(model, expect);
            out.effect(Effect::SolveConflicts { tag, task, goal: into, how });
        }
        return;
    }
    busy(model, words);
    out.command(model, Command::Merge { task, into, how, conflicts }, expect, cx);
}

/// A merge came to something.
pub fn merged(model: &mut Model, task: TaskId, outcome: &Outcome, cx: &Cx<'_>) {
    model.layers.retain(|layer| !matches!(layer, Layer::Merge(dialog) if dialog.task == task));
    let words = match outcome {
        Outcome::AgentAsked(_) => "the agent was told of the conflicts".to_owned(),
        Outcome::Done => format!("merged; {} takes it back", model.key_of(Action::UndoMerge)),
        _ => return,
    };
    model.toasts.say(Level::Info, words, cx.now);
}

/// A merge or a check was refused: the dialog says why, and what is so now.
pub fn refused(model: &mut Model, task: TaskId, fault: &Fault, cx: &Cx<'_>, out: &mut Out) {
    match dialog(model, task) {
        Some(dialog) => {
            dialog.problem = Some(fault.to_string());
            dialog.refresh();
            load(model, out);
        }
        None => model.toasts.say(Level::Error, fault.to_string(), cx.now),
    }
}

/// The check has run.
pub fn checked(model: &mut Model, task: TaskId, out: &mut Out) {
    if let Some(dialog) = dialog(model, task) {
        dialog.refresh();
        load(model, out);
    }
}

fn undo(model: &mut Model, task: TaskId, cx: &Cx<'_>) {
    let Some(landing) = model.world.task(task).and_then(|task| task.landing.clone()) else {
        return model.toasts.say(Level::Info, "no merge of this task can be taken back", cx.now);
    };
    let short = |id: &str| id.chars().take(10).collect::<String>();
    let target = crate::base::sanitize::line(&landing.target).into_owned();
    let lines = vec![
        format!("\"{}\" was merged into {target}.", model.world.title(task)),
        format!("{target} goes back from {} to {}.", short(&landing.to), short(&landing.from)),
        "The branch of the task stays as it is.".to_owned(),
    ];
    let deed = Deed::Command(Command::UndoMerge { task });
    model.layers.push(Layer::Confirm(Confirm { title: "Take the merge back?".to_owned(), lines, deed }));
}

fn cancel(model: &mut Model, task: TaskId, cx: &Cx<'_>, out: &mut Out) {
    if model.world.task(task).is_none_or(|task| task.queued_merge.is_none()) {
        return model.toasts.say(Level::Info, "no merge of this task is queued", cx.now);
    }
    close(model);
    out.command(model, Command::CancelMerge { task }, Expect::Plain(None), cx);
}

/// Goes from the dialog to the diff.
pub fn show_diff(model: &mut Model) -> bool {
    let Some(Layer::Merge(dialog)) = model.layers.last() else { return false };
    let task = dialog.task;
    model.layers.pop();
    model.tree.select(&model.world, task);
    model.detail.show(Tab::Diff);
    model.focus = Pane::Detail;
    true
}
