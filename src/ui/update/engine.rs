//! Handles engine updates. Nothing here moves the focus or the selection.

use crate::base::{EventId, TaskId, sanitize, text};
use crate::engine::snapshot::{Snapshot, TaskView};
use crate::engine::update::{Level, Update};
use crate::model::event::AskAnswered;
use crate::model::{Body, Event, Live, MessageSource};
use crate::ui::detail::Tab;
use crate::ui::effect::Effect;
use crate::ui::field::Field;
use crate::ui::live_lines::LiveLines;
use crate::ui::model::Model;
use crate::ui::msg::{Cx, Redraw};
use crate::ui::update::{Out, quit};
use crate::ui::{advice, asks};

pub fn on_update(model: &mut Model, update: Update, cx: &Cx<'_>, out: &mut Out) {
    match update {
        Update::Task { task } => {
            let id = task.node.id;
            // Equal counts may stand for other lines: reload also after a turn or a task has ended.
            let work = |view: &TaskView| (view.diff, view.turns, view.node.status);
            let changed = model.project.task(id).is_none_or(|before| work(before) != work(&task));
            let known = model.project.task(id).map(|view| view.processes.as_slice()).unwrap_or_default();
            model.detail.tails.remove_ended(id, known, &task.processes);
            model.token_rate.record(id, task.usage.tokens().total(), cx.now);
            if !task.alive {
                model.live_turns.on_run_over(id);
                model.live_lines.forget(id);
            }
            if !model.project.put(*task) {
                return;
            }
            // The visible diff follows the agent.
            if changed && id == model.selected() && model.shows(Tab::Diff) {
                let request = model.review.reload();
                out.effect(Effect::LoadDiff { task: id, request });
            } else if changed {
                model.review.mark_stale(id);
            }
            out.draw(Redraw::Lazy);
        }
        Update::Removed { task } => {
            model.project.remove(task);
            model.token_rate.forget(task);
            model.live_lines.forget(task);
            model.live_turns.forget(task);
            model.detail.forget_task(task);
            let project = &model.project;
            model.composer.retain(|task| project.task(task).is_some());
            model.review.retain(|task| project.task(task).is_some());
            out.draw(Redraw::Lazy);
        }
        Update::Event { task, event } => {
            on_event(model, task, &event, cx);
            let has_new_line = model.live_lines.on_event(task, &event);
            if task == model.selected() || has_new_line {
                out.draw(Redraw::Lazy);
            }
        }
        Update::Live { task, live } => on_live(model, task, &live, cx, out),
        Update::Project { project } => {
            model.project.info = *project;
            out.draw(Redraw::Lazy);
        }
        Update::Notice { notice } => {
            let whose = notice.task.map(|task| format!("{}: ", model.project.title(task))).unwrap_or_default();
            let text = crate::base::sanitize::lines(&notice.text).into_owned();
            let text = advice::in_keys(&text, |action| model.key_of(action));
            model.toasts.say_about(notice.level, format!("{whose}{text}"), notice.task, cx.now);
            out.draw(Redraw::Lazy);
        }
        Update::Clients { clients } => {
            model.clients = clients;
            out.draw(Redraw::Lazy);
        }
        Update::Quiet => {}
        Update::Moved => quit::on_moved(model, out),
        Update::Resync => {
            model.detail.forget();
            model.review.forget();
            out.effect(Effect::TakeSnapshot);
        }
        Update::Ended => out.effect(Effect::Quit),
    }
}

/// Says who answered a question that disappears here.
fn on_answered(model: &mut Model, task: TaskId, answered: &AskAnswered, cx: &Cx<'_>) {
    let Some(name) = answered.answer.client.as_deref().filter(|_| !model.asks.is_sent(answered.id)) else { return };
    let Some((_, ask)) = model.project.ask(answered.id) else { return };
    let question = text::headline(&asks::brief(ask), 60);
    let mut words = format!("Answered by {name}: {} ({question})", text::headline(&answered.answer.text, 60));
    if let Some(draft) = model.asks.draft(answered.id).filter(|draft| !draft.is_blank()).map(Field::content) {
        model.composer.remember(task, &draft);
        words.push_str(". Up recalls what you had written.");
    }
    model.toasts.say_about(Level::Info, sanitize::lines(&words).into_owned(), Some(task), cx.now);
}

fn on_event(model: &mut Model, task: TaskId, event: &Event, cx: &Cx<'_>) {
    model.live_turns.on_event(task, event);
    if let Body::AskAnswered(answered) = &event.body {
        on_answered(model, task, answered, cx);
    }
    if let Body::Message(message) = &event.body
        && message.from == MessageSource::User
    {
        model.composer.remember(task, &message.body);
    }
    if let Some(transcript) = model.detail.transcript_mut(task) {
        transcript.on_event(event);
        if transcript.is_ahead() {
            transcript.sync_live(model.live_turns.get(task), cx.now);
        }
    }
}

fn on_live(model: &mut Model, task: TaskId, live: &Live, cx: &Cx<'_>, out: &mut Out) {
    if let Live::Activity { activity } = live {
        model.project.set_activity(task, *activity);
        out.draw(Redraw::Lazy);
    }
    if let Live::ProcessOutput { process, text } = live {
        model.detail.tails.push(task, process, text);
        if task == model.tree.selected() && model.shows(Tab::Info) {
            out.draw(Redraw::Lazy);
        }
        return;
    }
    // Not drawn for each piece: the tick of a working agent shows it.
    model.live_lines.on_live(task, live);
    model.live_turns.on_live(task, live);
    if let Some(transcript) = model.detail.transcript_mut(task) {
        transcript.on_live(live, cx.now);
        if task == model.tree.selected() {
            out.draw(Redraw::Lazy);
        }
    }
}

pub fn on_snapshot(model: &mut Model, mut snapshot: Snapshot, out: &mut Out) {
    let other = snapshot.project.id != model.project.info.id;
    model.live_turns = std::mem::take(&mut snapshot.live);
    model.clients = std::mem::take(&mut snapshot.clients);
    model.live_lines = LiveLines::of_turns(&model.live_turns);
    model.project.replace(snapshot);
    model.detail.forget();
    model.review.forget();
    if other {
        model.tree = crate::ui::tree::State::new(&model.project);
        model.layers.clear();
        model.notified = model.project.pending_asks().into_iter().map(|(_, ask)| ask.id).collect();
    }
    out.draw(Redraw::Now);
}

pub fn on_page(model: &mut Model, task: TaskId, before: Option<EventId>, events: &[Event], more: bool, cx: &Cx<'_>) {
    if let Some(transcript) = model.detail.transcript_mut(task) {
        transcript.on_page(before, events, more);
        if before.is_none() {
            transcript.sync_live(model.live_turns.get(task), cx.now);
        }
        if before.is_some() && task == model.tree.selected() {
            model.detail.on_older_log_lines(events.len());
        }
    }
    if before.is_none() {
        let sent = events.iter().filter_map(|event| match &event.body {
            Body::Message(message) if message.from == MessageSource::User => Some(message.body.as_str()),
            _ => None,
        });
        sent.for_each(|text| model.composer.remember(task, text));
    }
}

#[cfg(test)]
#[path = "engine_tests.rs"]
mod tests;
