//! Stopping agents and `quit_armed_until`. Asks first if several agents would stop.

use crate::engine::command::{Command, StopScope};
use crate::engine::snapshot::TaskView;
use crate::engine::update::Level;
use crate::ui::action::Action;
use crate::ui::effect::Effect;
use crate::ui::layer::{Confirm, ConfirmedAction, Layer};
use crate::ui::layout::Pane;
use crate::ui::model::{Model, PendingReply};
use crate::ui::msg::Cx;
use crate::ui::update::Out;

/// How long a second press counts as "twice".
const TWICE: std::time::Duration = std::time::Duration::from_secs(2);

pub fn stop(model: &mut Model, scope: StopScope, cx: &Cx<'_>, out: &mut Out) {
    let working = match scope {
        StopScope::Task(_) => {
            return out.command(model, Command::Stop { scope }, PendingReply::Plain(Some("Stopped")), cx);
        }
        StopScope::Subtree(task) => model.project.sum(task).working,
        StopScope::All => model.project.total().working,
    };
    let agents = crate::base::text::count(working, "agent", "agents");
    model.layers.push(Layer::Confirm(Confirm {
        title: "Stop agents?".to_owned(),
        lines: vec![format!("{agents} running."), "Their tasks stay in progress and can be resumed.".to_owned()],
        action: ConfirmedAction::Command(Command::Stop { scope }),
    }));
}

/// Closes a layer, else clears the composer, else quits on the second press.
pub fn cancel(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    let task = model.selected();
    if !model.layers.is_empty() {
        model.layers.pop();
    } else if model.focus == Pane::Composer && model.composer.has_text(task) {
        model.composer.clear(task);
        model.toasts.say(Level::Info, "Cleared. Up to restore.", cx.now);
    } else if model.quit_armed_until.is_some_and(|until| until > cx.now) {
        quit_now(model, cx, out);
    } else {
        model.quit_armed_until = Some(cx.now.later(TWICE));
        let works = model.project.task(task).is_some_and(TaskView::is_working);
        let words = if works {
            format!(
                "Press {} again to quit. {} interrupts the agent.",
                model.key_of(Action::Cancel),
                model.key_of(Action::Interrupt)
            )
        } else {
            format!("Press {} again to quit.", model.key_of(Action::Cancel))
        };
        model.toasts.say(Level::Info, words, cx.now);
    }
}

pub fn quit(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    let working = model.project.total().working;
    if working == 0 {
        return quit_now(model, cx, out);
    }
    confirm(model, "Quit?", working, ConfirmedAction::Quit);
}

/// Leaves this project. Its agents stop, so it asks first if some are running.
pub fn leave_for(model: &mut Model, title: &str, effect: Effect, out: &mut Out) {
    match model.project.total().working {
        0 => out.effect(effect),
        working => confirm(model, title, working, ConfirmedAction::Leave(effect)),
    }
}

fn confirm(model: &mut Model, title: &str, working: usize, action: ConfirmedAction) {
    let agents = crate::base::text::count(working, "agent", "agents");
    let then = if working == 1 { "It stops now and resumes next time." } else { "They stop now and resume next time." };
    let lines = vec![format!("{agents} running."), then.to_owned()];
    model.layers.push(Layer::Confirm(Confirm { title: title.to_owned(), lines, action }));
}

pub fn quit_now(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    out.command(model, Command::Quit, PendingReply::Quit, cx);
}

#[cfg(test)]
#[path = "quit_tests.rs"]
mod tests;
