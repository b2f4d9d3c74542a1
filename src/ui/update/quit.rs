//! Stopping agents and leaving: quit, detach, hand-over to the background. Asks first if agents are at work.

use crate::engine::command::{Command, StopScope};
use crate::engine::snapshot::TaskView;
use crate::engine::update::Level;
use crate::ui::action::Action;
use crate::ui::effect::Effect;
use crate::ui::layer::{Confirm, ConfirmedAction, Layer};
use crate::ui::layout::Pane;
use crate::ui::model::{EngineHost, Model, PendingReply};
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
    match (&model.settings.engine, model.project.total().working) {
        (EngineHost::Private, 0) => quit_now(model, cx, out),
        (EngineHost::Private, working) => confirm(model, "Quit?", working, ConfirmedAction::Quit),
        // The others go on with the engine.
        (EngineHost::Own, 0) if model.clients.len() > 1 => hand_over(model, Effect::Quit, cx, out),
        (EngineHost::Own, 0) => quit_now(model, cx, out),
        (EngineHost::Joined { .. }, 0) => out.effect(Effect::Quit),
        (EngineHost::Own | EngineHost::Joined { .. }, working) => keep_or_stop(model, "Quit?", working, Effect::Quit),
    }
}

/// Leaves this project for another one. If agents are at work, asks what becomes of them.
pub fn leave_for(model: &mut Model, title: &str, effect: Effect, out: &mut Out) {
    match (&model.settings.engine, model.project.total().working) {
        (_, 0) => out.effect(effect),
        // An engine that goes on elsewhere would not have the new settings.
        (EngineHost::Own, working) if matches!(effect, Effect::SetUp { .. }) => {
            confirm(model, title, working, ConfirmedAction::Leave(effect));
        }
        (EngineHost::Joined { .. }, _) if matches!(effect, Effect::SetUp { .. }) => out.effect(effect),
        (EngineHost::Private, working) => confirm(model, title, working, ConfirmedAction::Leave(effect)),
        (EngineHost::Own | EngineHost::Joined { .. }, working) => keep_or_stop(model, title, working, effect),
    }
}

fn confirm(model: &mut Model, title: &str, working: usize, action: ConfirmedAction) {
    let agents = crate::base::text::count(working, "agent", "agents");
    let then = if working == 1 { "It stops now and resumes next time." } else { "They stop now and resume next time." };
    let lines = vec![format!("{agents} running."), then.to_owned()];
    model.layers.push(Layer::Confirm(Confirm { title: title.to_owned(), lines, action }));
}

fn keep_or_stop(model: &mut Model, title: &str, working: usize, effect: Effect) {
    let agents = crate::base::text::count(working, "agent", "agents");
    let (stop, resumes) = if working == 1 { ("it", "it resumes") } else { ("them", "they resume") };
    let mut lines = vec![
        format!("{agents} running."),
        format!("Keep {stop} working in the background, or stop {stop} now: {resumes} next time."),
    ];
    let others = model.clients.len().saturating_sub(1);
    if others > 0 {
        let others = crate::base::text::count(others, "other client", "other clients");
        lines.push(format!("{others} attached, and would lose the engine if it stops."));
    }
    let action = ConfirmedAction::KeepOrStop(effect);
    model.layers.push(Layer::Confirm(Confirm { title: title.to_owned(), lines, action }));
}

/// Leaves without stopping anybody.
pub fn detach(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    match model.settings.engine {
        EngineHost::Joined { .. } => out.effect(Effect::Quit),
        EngineHost::Own => hand_over(model, Effect::Quit, cx, out),
        EngineHost::Private => model.toasts.say(Level::Warning, "These agents end with the screen.", cx.now),
    }
}

/// The user leaves, and the agents keep working.
pub fn keep_working(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    let Some(effect) = pop_leaving(model) else { return };
    match model.settings.engine {
        EngineHost::Own => hand_over(model, effect, cx, out),
        EngineHost::Joined { .. } | EngineHost::Private => out.effect(effect),
    }
}

/// The user leaves, and the agents stop.
pub fn stop_and_leave(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    let Some(effect) = pop_leaving(model) else { return };
    out.command(model, Command::Quit, PendingReply::Leave(Box::new(effect)), cx);
}

fn pop_leaving(model: &mut Model) -> Option<Effect> {
    let is_asked =
        matches!(model.layers.last(), Some(Layer::Confirm(Confirm { action: ConfirmedAction::KeepOrStop(_), .. })));
    match is_asked.then(|| model.layers.pop())?? {
        Layer::Confirm(Confirm { action: ConfirmedAction::KeepOrStop(effect), .. }) => Some(effect),
        _ => None,
    }
}

/// Lets turns in progress finish, for the process that takes over. `then` follows.
fn hand_over(model: &mut Model, then: Effect, cx: &Cx<'_>, out: &mut Out) {
    model.leaving = Some(then);
    model.layers.clear();
    let (title, lines) = ("Handing over".to_owned(), Vec::new());
    model.layers.push(Layer::Confirm(Confirm { title, lines, action: ConfirmedAction::Interrupt }));
    out.command(model, Command::HandOver { now: false }, PendingReply::HandedOver, cx);
}

/// Updates what a hand-over waits for.
pub fn update_hand_over(model: &mut Model) {
    let working = model.project.total().working;
    let processes = model.project.running_processes();
    let Some(Layer::Confirm(dialog)) = model.layers.last_mut() else { return };
    if dialog.action != ConfirmedAction::Interrupt {
        return;
    }
    let mut waits = Vec::new();
    if working > 0 {
        waits.push(crate::base::text::count(working, "turn", "turns"));
    }
    if processes > 0 {
        waits.push(crate::base::text::count(processes, "background command", "background commands"));
    }
    dialog.lines = if waits.is_empty() {
        vec!["The agents move to the background.".to_owned()]
    } else {
        let first = format!("Waiting for {} to finish. No new turn begins.", waits.join(" and "));
        vec![first, "What is interrupted resumes in the background.".to_owned()]
    };
}

/// Cuts short what a hand-over waits for.
pub fn interrupt_rest(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    if model.leaving.is_some() {
        out.command(model, Command::HandOver { now: true }, PendingReply::Plain(None), cx);
    }
}

/// The engine refused to hand over.
pub fn on_refused(model: &mut Model) {
    model.leaving = None;
    model.layers.clear();
}

/// Another process has taken over.
pub fn on_moved(model: &mut Model, out: &mut Out) {
    out.effect(model.leaving.take().unwrap_or(Effect::Rejoin));
}

/// Restarts the engine of an older program with this one.
pub fn restart_engine(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    match &mut model.settings.engine {
        EngineHost::Joined { outdated } if outdated.is_some() => {
            *outdated = None;
            let words = "The engine restarts when the turns in progress are over";
            out.command(model, Command::HandOver { now: false }, PendingReply::Plain(Some(words)), cx);
        }
        EngineHost::Joined { .. } | EngineHost::Own | EngineHost::Private => {
            model.toasts.say(Level::Info, "The engine runs this version already", cx.now);
        }
    }
}

pub fn quit_now(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    match model.settings.engine {
        EngineHost::Joined { .. } => out.effect(Effect::Quit),
        EngineHost::Own | EngineHost::Private => {
            out.command(model, Command::Quit, PendingReply::Leave(Box::new(Effect::Quit)), cx);
        }
    }
}

#[cfg(test)]
#[path = "quit_tests.rs"]
mod tests;
