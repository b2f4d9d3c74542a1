//! Stopping agents and leaving. Whatever would stop several of them asks first.

use crate::engine::command::{Command, StopScope};
use crate::engine::snapshot::TaskView;
use crate::engine::update::Level;
use crate::ui::action::Action;
use crate::ui::effect::Effect;
use crate::ui::layer::{Confirm, Deed, Layer};
use crate::ui::layout::Pane;
use crate::ui::model::{Expect, Model};
use crate::ui::msg::Cx;
use crate::ui::update::Out;

/// How long a second press of the same key counts as the second.
const TWICE: std::time::Duration = std::time::Duration::from_secs(2);

pub fn stop(model: &mut Model, scope: StopScope, cx: &Cx<'_>, out: &mut Out) {
    let working = match scope {
        StopScope::Task(_) => return out.command(model, Command::Stop { scope }, Expect::Plain(Some("stopped")), cx),
        StopScope::Subtree(task) => model.world.sum(task).working,
        StopScope::All => model.world.total().working,
    };
    let agents = crate::base::text::count(working, "agent is", "agents are");
    model.layers.push(Layer::Confirm(Confirm {
        title: "Stop them?".to_owned(),
        lines: vec![format!("{agents} at work."), "Their tasks stay in progress and can be resumed.".to_owned()],
        deed: Deed::Command(Command::Stop { scope }),
    }));
}

/// Closes what is open, empties what is written, and quits the second time.
pub fn cancel(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    let task = model.selected();
    if !model.layers.is_empty() {
        model.layers.pop();
    } else if model.focus == Pane::Composer && model.composer.has_text(task) {
        model.composer.clear(task);
        model.toasts.say(Level::Info, "emptied; Up brings it back", cx.now);
    } else if model.quitting.is_some_and(|until| until > cx.now) {
        leave(model, cx, out);
    } else {
        model.quitting = Some(cx.now.later(TWICE));
        let works = model.world.task(task).is_some_and(TaskView::is_working);
        let words = if works {
            format!("once more to quit; {} interrupts the agent", model.key_of(Action::Interrupt))
        } else {
            "once more to quit".to_owned()
        };
        model.toasts.say(Level::Info, words, cx.now);
    }
}

pub fn quit(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    let working = model.world.total().working;
    if working == 0 {
        return leave(model, cx, out);
    }
    confirm(model, "Quit?", working, Deed::Quit);
}

/// Leaves this project for something else. Its agents end with it, so while some are at work that is asked first.
pub fn leave_for(model: &mut Model, title: &str, effect: Effect, out: &mut Out) {
    match model.world.total().working {
        0 => out.effect(effect),
        working => confirm(model, title, working, Deed::Leave(effect)),
    }
}

fn confirm(model: &mut Model, title: &str, working: usize, deed: Deed) {
    let agents = crate::base::text::count(working, "agent is", "agents are");
    let then = if working == 1 {
        "It is stopped, and goes on where it was next time."
    } else {
        "They are stopped, and go on where they were next time."
    };
    let lines = vec![format!("{agents} at work."), then.to_owned()];
    model.layers.push(Layer::Confirm(Confirm { title: title.to_owned(), lines, deed }));
}

pub fn leave(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    out.command(model, Command::Quit, Expect::Quit, cx);
}

#[cfg(test)]
#[path = "ending_tests.rs"]
mod tests;
