//! What the engine says. Nothing here moves the focus or the selection to something new.

use crate::base::{EventId, TaskId};
use crate::engine::snapshot::{Snapshot, TaskView};
use crate::engine::update::Update;
use crate::model::{Body, Event, Live, Source};
use crate::ui::detail::Tab;
use crate::ui::effect::Effect;
use crate::ui::model::Model;
use crate::ui::msg::{Cx, Redraw};
use crate::ui::update::Out;

pub fn update(model: &mut Model, update: Update, cx: &Cx<'_>, out: &mut Out) {
    match update {
        Update::Task { task } => {
            let id = task.node.id;
            // The same counts may stand for other lines: a turn that ended, or a task that did, is a reason to look, too.
            let work = |view: &TaskView| (view.diff, view.turns, view.node.status);
            let changed = model.world.task(id).is_none_or(|before| work(before) != work(&task));
            let known = model.world.task(id).map(|view| view.processes.as_slice()).unwrap_or_default();
            model.detail.tails.ended(id, known, &task.processes);
            model.pace.note(id, task.usage.tokens().total(), cx.now);
            if !model.world.put(*task) {
                return;
            }
            // A diff that is looked at follows what the agent does.
            if changed && id == model.selected() && model.detail.tab == Tab::Diff {
                let request = model.review.reload();
                out.effect(Effect::LoadDiff { task: id, request });
            } else if changed {
                model.review.outdated(id);
            }
            out.draw(Redraw::Lazy);
        }
        Update::Removed { task } => {
            model.world.remove(task);
            model.pace.forget(task);
            model.detail.forget_task(task);
            let world = &model.world;
            model.composer.retain(|task| world.task(task).is_some());
            model.review.retain(|task| world.task(task).is_some());
            out.draw(Redraw::Lazy);
        }
        Update::Event { task, event } => {
            happened(model, task, &event);
            if task == model.selected() {
                out.draw(Redraw::Lazy);
            }
        }
        Update::Live { task, live } => live_update(model, task, &live, cx, out),
        Update::Project { project } => {
            model.world.project = *project;
            out.draw(Redraw::Lazy);
        }
        Update::Notice { notice } => {
            let whose = notice.task.map(|task| format!("{}: ", model.world.title(task))).unwrap_or_default();
            let text = crate::base::sanitize::lines(&notice.text).into_owned();
            model.toasts.say(notice.level, format!("{whose}{text}"), cx.now);
            out.draw(Redraw::Lazy);
        }
        Update::Quiet => {}
        Update::Resync => {
            model.detail.forget();
            model.review.forget();
            out.effect(Effect::TakeSnapshot);
        }
        Update::Ended => out.effect(Effect::Quit),
    }
}

fn happened(model: &mut Model, task: TaskId, event: &Event) {
    if let Body::Message(message) = &event.body
        && message.from == Source::User
    {
        model.composer.remember(task, &message.body);
    }
    if let Some(transcript) = model.detail.transcript_mut(task) {
        transcript.event(event);
    }
}

fn live_update(model: &mut Model, task: TaskId, live: &Live, cx: &Cx<'_>, out: &mut Out) {
    if let Live::Activity { activity } = live {
        model.world.set_activity(task, *activity);
        out.draw(Redraw::Lazy);
    }
    if let Live::ProcessOutput { process, text } = live {
        model.detail.tails.push(task, process, text);
        if task == model.tree.selected() && model.detail.tab == Tab::Info {
            out.draw(Redraw::Lazy);
        }
        return;
    }
    if let Some(transcript) = model.detail.transcript_mut(task) {
        transcript.live(live, cx.now);
        if task == model.tree.selected() {
            out.draw(Redraw::Lazy);
        }
    }
}

pub fn snapshot(model: &mut Model, snapshot: Snapshot, out: &mut Out) {
    let other = snapshot.project.id != model.world.project.id;
    model.world.replace(snapshot);
    model.detail.forget();
    model.review.forget();
    if other {
        model.tree = crate::ui::tree::State::new(&model.world);
        model.layers.clear();
        model.notified = model.world.pending_asks().into_iter().map(|(_, ask)| ask.id).collect();
    }
    out.draw(Redraw::Now);
}

pub fn page(model: &mut Model, task: TaskId, before: Option<EventId>, events: &[Event], more: bool) {
    if let Some(transcript) = model.detail.transcript_mut(task) {
        transcript.page(before, events, more);
        if before.is_some() && task == model.tree.selected() {
            model.detail.log_grew_above(events.len());
        }
    }
    if before.is_none() {
        let said = events.iter().filter_map(|event| match &event.body {
            Body::Message(message) if message.from == Source::User => Some(message.body.as_str()),
            _ => None,
        });
        said.for_each(|text| model.composer.remember(task, text));
    }
}
