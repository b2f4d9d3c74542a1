//! `update`: the single function that changes the model. No I/O.
//!
//! Routes each message to the part that it concerns. Afterwards [`reconcile`] makes all positions valid, so that `view`
//! can rely on them.

mod actions;
mod engine;
mod input;
mod mouse;
mod pickers;
mod quit;
mod reconcile;
mod replies;
mod search;

pub(super) use pickers::SETTINGS;

use crate::base::TaskId;
use crate::engine::command::Command;
use crate::engine::update::Level;
use crate::ui::effect::{EditPurpose, Effect, Tag};
use crate::ui::model::{Model, PendingReply};
use crate::ui::msg::{Cx, Msg, Reaction, Redraw};

/// Applies a message to the model.
pub fn update(model: &mut Model, msg: Msg, cx: &Cx<'_>) -> Reaction {
    let mut out = Out::default();
    match msg {
        Msg::Input(input) => input::input(model, input, cx, &mut out),
        Msg::Engine(update) => engine::on_update(model, update, cx, &mut out),
        Msg::Snapshot(snapshot) => engine::on_snapshot(model, *snapshot, &mut out),
        Msg::Page { task, before, events, more } => {
            engine::on_page(model, task, before, &events, more, cx);
            out.draw(Redraw::Now);
        }
        Msg::PageFailed { task, before, fault } => {
            if let Some(transcript) = model.detail.transcript_mut(task) {
                transcript.on_page_failed(before);
            }
            let words = model.fault_words(&fault);
            model.toasts.say(Level::Error, words, cx.now);
            out.draw(Redraw::Now);
        }
        Msg::Reply { tag, outcome } => replies::on_reply(model, tag, outcome, cx, &mut out),
        Msg::Diff { task, request, answer } => {
            model.review.on_diff(task, request, answer.map_err(|fault| fault.to_string()));
            actions::review::widen_if_empty(model, &mut out);
            out.draw(Redraw::Lazy);
        }
        Msg::Turns { task, turns } => {
            if !actions::rewind::on_turns(model, task, &turns) && task == model.selected() {
                actions::review::open_compare(model, turns, cx);
            }
            out.draw(Redraw::Now);
        }
        Msg::MergePreview { task, goal, preview } => {
            actions::merge::on_preview(model, task, goal, *preview);
            out.draw(Redraw::Now);
        }
        Msg::RewindPreview { task, to, extent, preview } => {
            actions::rewind::on_preview(model, task, (to, extent), *preview);
            out.draw(Redraw::Now);
        }
        Msg::Blob { task, event, text } => {
            match (model.detail.transcript_mut(task), text) {
                (Some(transcript), Ok(text)) => transcript.on_full_output(event, text),
                (_, Err(fault)) => model.toasts.say(Level::Error, fault.to_string(), cx.now),
                (None, Ok(_)) => {}
            }
            out.draw(Redraw::Lazy);
        }
        Msg::Files { task, query, paths } => {
            actions::composer::on_files(model, task, &query, paths);
            out.draw(Redraw::Now);
        }
        Msg::SearchResults { asked, found } => {
            search::on_results(model, &asked, found.map_err(|fault| fault.to_string()));
            out.draw(Redraw::Now);
        }
        Msg::Attached { task, path, image } => {
            match image {
                Ok(image) => model.composer.attach(task, path, image),
                Err(fault) => {
                    // The pasted path was not a picture: keep it as text.
                    model.composer.insert_path(task, &path);
                    model.toasts.say(Level::Warning, fault.to_string(), cx.now);
                }
            }
            out.draw(Redraw::Now);
        }
        Msg::EditorClosed { purpose, text } => on_editor_closed(model, purpose, text, cx, &mut out),
        Msg::Projects(projects) => {
            pickers::open_projects(model, projects);
            out.draw(Redraw::Now);
        }
        Msg::HostProjects { host, projects } => {
            pickers::on_host_projects(model, host, projects);
            out.draw(Redraw::Lazy);
        }
        Msg::Models(models) => {
            pickers::on_models(model, models);
            out.draw(Redraw::Lazy);
        }
        Msg::Notice { level, text } => {
            model.toasts.say(level, text, cx.now);
            out.draw(Redraw::Lazy);
        }
        Msg::Settings(settings) => {
            model.settings = *settings;
            out.draw(Redraw::Lazy);
        }
        Msg::ThemeChanged => {
            model.detail.forget_layouts();
            model.review.forget_layout();
            out.draw(Redraw::Now);
        }
        Msg::Tick => {
            model.toasts.expire(cx.now);
            model.quit_armed_until = model.quit_armed_until.filter(|until| *until > cx.now);
            let is_over = !model.is_searching() || actions::detail::continue_search(model, cx);
            out.draw(if is_over { Redraw::Lazy } else { Redraw::No });
        }
    }
    reconcile::reconcile(model, cx, &mut out);
    out.reaction
}

fn on_editor_closed(model: &mut Model, purpose: EditPurpose, text: Option<String>, cx: &Cx<'_>, out: &mut Out) {
    out.draw(Redraw::Now);
    let Some(text) = text else { return };
    match purpose {
        EditPurpose::Message(task) => {
            model.composer.field(task).set(text.trim_end());
            model.composer.on_text_changed(task);
        }
        EditPurpose::Comment(task) => {
            if model.review.task() == Some(task) {
                model.review.rewrite(&text);
            }
        }
        EditPurpose::Resend(task, message) => actions::rewind::on_edited(model, task, message, &text, cx),
        EditPurpose::Brief => actions::brief::on_edited(model, &text),
        EditPurpose::Answer(ask) => {
            model.asks.set_draft(ask, text.trim_end().to_owned());
        }
        EditPurpose::Description(task) => {
            if model.project.node(task).is_some_and(|node| node.description == text) {
                return;
            }
            let changes = crate::engine::command::TaskChanges { description: Some(text), ..Default::default() };
            out.command(model, Command::Update { task, changes }, PendingReply::Plain(None), cx);
        }
    }
}

/// Collects effects and the redraw request while a message is handled.
#[derive(Default)]
struct Out {
    reaction: Reaction,
}

impl Out {
    fn draw(&mut self, redraw: Redraw) {
        self.reaction.redraw = self.reaction.redraw.max(redraw);
    }

    fn effect(&mut self, effect: Effect) {
        self.reaction.effects.push(effect);
    }

    /// Sends a command to the engine and registers what to do with the reply.
    fn command(&mut self, model: &mut Model, command: Command, expect: PendingReply, cx: &Cx<'_>) {
        if command == Command::Quit || may_change(model, cx) {
            let tag = expect_reply(model, expect);
            self.effect(Effect::Engine { tag, command });
        }
    }
}

/// Returns true if the project may be changed. Otherwise shows why not.
fn may_change(model: &mut Model, cx: &Cx<'_>) -> bool {
    let refusal = model.settings.read_only.clone();
    if let Some(why) = &refusal {
        model.toasts.say(Level::Warning, why.clone(), cx.now);
    }
    refusal.is_none()
}

fn expect_reply(model: &mut Model, expect: PendingReply) -> Tag {
    model.next_tag += 1;
    let tag = Tag(model.next_tag);
    model.expected.insert(tag, expect);
    tag
}

/// Selects a task and shows its transcript.
fn go_to(model: &mut Model, task: TaskId) {
    model.tree.select(&model.project, task);
    model.detail.show(crate::ui::detail::Tab::Transcript);
}

#[cfg(test)]
#[path = "update_tests.rs"]
mod tests;
