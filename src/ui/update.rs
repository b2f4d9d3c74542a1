//! What happens on the screen when something happens outside: one function, no I/O.
//!
//! Routing only: each message goes to the part that it concerns. Whatever comes of it, the panes are brought in order
//! at the end ([`settle`]), so that `view` finds every place valid.

mod act;
mod act_asks;
mod act_composer;
mod act_detail;
mod act_merge;
mod act_review;
mod act_rewind;
mod act_tree;
mod ending;
mod engine;
mod finding;
mod input;
mod mouse;
mod picks;
mod replies;
mod settle;

pub(super) use picks::SETTINGS;

use crate::base::TaskId;
use crate::engine::command::Command;
use crate::engine::update::Level;
use crate::ui::effect::{Effect, Purpose, Tag};
use crate::ui::model::{Expect, Model};
use crate::ui::msg::{Cx, Msg, Reaction, Redraw};

/// Takes in what happened.
pub fn update(model: &mut Model, msg: Msg, cx: &Cx<'_>) -> Reaction {
    let mut out = Out::default();
    match msg {
        Msg::Input(input) => input::input(model, input, cx, &mut out),
        Msg::Engine(update) => engine::update(model, update, cx, &mut out),
        Msg::Snapshot(snapshot) => engine::snapshot(model, *snapshot, &mut out),
        Msg::Page { task, before, events, more } => {
            engine::page(model, task, before, &events, more);
            out.draw(Redraw::Now);
        }
        Msg::NoPage { task, before, fault } => {
            if let Some(transcript) = model.detail.transcript_mut(task) {
                transcript.no_page(before);
            }
            model.toasts.say(Level::Error, fault.to_string(), cx.now);
            out.draw(Redraw::Now);
        }
        Msg::Reply { tag, outcome } => replies::reply(model, tag, outcome, cx, &mut out),
        Msg::Diff { task, request, answer } => {
            model.review.take(task, request, answer.map_err(|fault| fault.to_string()));
            out.draw(Redraw::Lazy);
        }
        Msg::Turns { task, turns } => {
            if !act_rewind::turns(model, task, &turns) && task == model.selected() {
                act_review::open_compare(model, turns, cx);
            }
            out.draw(Redraw::Now);
        }
        Msg::MergePreview { task, goal, preview } => {
            act_merge::previewed(model, task, goal, *preview);
            out.draw(Redraw::Now);
        }
        Msg::RewindPreview { task, to, extent, preview } => {
            act_rewind::previewed(model, task, (to, extent), *preview);
            out.draw(Redraw::Now);
        }
        Msg::Blob { task, event, text } => {
            match (model.detail.transcript_mut(task), text) {
                (Some(transcript), Ok(text)) => transcript.full_output(event, text),
                (_, Err(fault)) => model.toasts.say(Level::Error, fault.to_string(), cx.now),
                (None, Ok(_)) => {}
            }
            out.draw(Redraw::Lazy);
        }
        Msg::Files { task, query, paths } => {
            act_composer::files(model, task, &query, paths);
            out.draw(Redraw::Now);
        }
        Msg::Found { asked, found } => {
            finding::answered(model, &asked, found.map_err(|fault| fault.to_string()));
            out.draw(Redraw::Now);
        }
        Msg::Attached { task, path, image } => {
            match image {
                Ok(image) => model.composer.attach(task, path, image),
                Err(fault) => {
                    // What is no picture was a text.
                    model.composer.keep_path(task, &path);
                    model.toasts.say(Level::Warning, fault.to_string(), cx.now);
                }
            }
            out.draw(Redraw::Now);
        }
        Msg::Edited { purpose, text } => edited(model, purpose, text, cx, &mut out),
        Msg::Projects(projects) => {
            picks::open_projects(model, projects);
            out.draw(Redraw::Now);
        }
        Msg::Models(models) => {
            picks::learnt_models(model, models);
            out.draw(Redraw::Lazy);
        }
        Msg::Said { level, text } => {
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
            model.quitting = model.quitting.filter(|until| *until > cx.now);
            let is_over = !model.is_hunting() || act_detail::hunt_on(model, cx);
            out.draw(if is_over { Redraw::Lazy } else { Redraw::No });
        }
    }
    settle::settle(model, cx, &mut out);
    out.reaction
}

/// The editor was closed.
fn edited(model: &mut Model, purpose: Purpose, text: Option<String>, cx: &Cx<'_>, out: &mut Out) {
    out.draw(Redraw::Now);
    let Some(text) = text else { return };
    match purpose {
        Purpose::Message(task) => {
            model.composer.field(task).set(text.trim_end());
            model.composer.written(task);
        }
        Purpose::Comment(task) => {
            if model.review.task() == Some(task) {
                model.review.rewrite(&text);
            }
        }
        Purpose::Resend(task, message) => act_rewind::edited(model, task, message, &text, cx),
        Purpose::Answer(ask) => {
            model.asks.set_draft(ask, text.trim_end().to_owned());
        }
        Purpose::Description(task) => {
            if model.world.node(task).is_some_and(|node| node.description == text) {
                return;
            }
            let changes = crate::engine::command::Changes { description: Some(text), ..Default::default() };
            out.command(model, Command::Update { task, changes }, Expect::Plain(None), cx);
        }
    }
}

/// What is gathered while a message is taken in.
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

    /// Asks the engine, and remembers what the answer is for.
    fn command(&mut self, model: &mut Model, command: Command, expect: Expect, cx: &Cx<'_>) {
        if command == Command::Quit || may_change(model, cx) {
            let tag = await_answer(model, expect);
            self.effect(Effect::Engine { tag, command });
        }
    }
}

/// Tells whether anything may be changed from here, and the person why not.
fn may_change(model: &mut Model, cx: &Cx<'_>) -> bool {
    let refusal = model.settings.read_only.clone();
    if let Some(why) = &refusal {
        model.toasts.say(Level::Warning, why.clone(), cx.now);
    }
    refusal.is_none()
}

/// Remembers what an answer will be for.
fn await_answer(model: &mut Model, expect: Expect) -> Tag {
    model.next_tag += 1;
    let tag = Tag(model.next_tag);
    model.expected.insert(tag, expect);
    tag
}

/// Selects a task and shows its transcript.
fn go_to(model: &mut Model, task: TaskId) {
    model.tree.select(&model.world, task);
    model.detail.show(crate::ui::detail::Tab::Transcript);
}

#[cfg(test)]
#[path = "update_tests.rs"]
mod tests;
