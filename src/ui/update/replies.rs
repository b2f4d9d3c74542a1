//! Handles the replies to commands.

use crate::base::Fault;
use crate::engine::command::Outcome;
use crate::engine::update::Level;
use crate::ui::effect::Tag;
use crate::ui::model::{Model, PendingReply};
use crate::ui::msg::{Cx, Redraw};
use crate::ui::outcome;
use crate::ui::update::{Out, actions, go_to, quit};

pub fn on_reply(model: &mut Model, tag: Tag, reply: Result<Outcome, Fault>, cx: &Cx<'_>, out: &mut Out) {
    out.draw(Redraw::Now);
    let Some(expect) = model.expected.remove(&tag) else { return };
    let outcome = match reply {
        Ok(outcome) => outcome,
        Err(fault) => {
            match expect {
                // Keep a message that could not be sent.
                PendingReply::Sent { task, text } => model.composer.restore(task, &text),
                PendingReply::Answered(ask) => model.asks.on_answer_refused(ask),
                PendingReply::Leave(effect) => out.effect(*effect),
                PendingReply::HandedOver => quit::on_refused(model),
                // The comments are still drafts.
                PendingReply::Created { brief } => actions::brief::restore(model, brief),
                PendingReply::Reviewed(_) | PendingReply::Plain(_) => {}
                PendingReply::Merged(task) | PendingReply::Checked(task) => {
                    return actions::merge::on_refused(model, task, &fault, cx, out);
                }
            }
            let words = model.fault_words(&fault);
            return model.toasts.say(Level::Error, words, cx.now);
        }
    };
    let message = outcome::sentence(model, &outcome);
    match (&outcome, expect) {
        // If the user has started to write elsewhere, do not move the selection.
        (Outcome::Created { task, .. }, PendingReply::Created { .. }) => {
            if model.composer.has_text(model.selected()) {
                model.toasts.say(Level::Info, "Task created", cx.now);
            } else {
                go_to(model, *task);
            }
        }
        (_, PendingReply::Reviewed(task)) => actions::review::on_sent(model, task, cx, out),
        (outcome, PendingReply::Merged(task)) => actions::merge::on_merged(model, task, outcome, cx),
        (_, PendingReply::Checked(task)) => actions::merge::on_verified(model, task, out),
        (_, PendingReply::Leave(effect)) => out.effect(*effect),
        (Outcome::Sent { .. } | Outcome::Created { .. }, _) => {}
        (_, PendingReply::Plain(Some(words))) if message.is_none() => model.toasts.say(Level::Info, words, cx.now),
        _ => {}
    }
    if let Some(message) = message {
        model.toasts.say(Level::Info, crate::base::sanitize::lines(&message).into_owned(), cx.now);
    }
}
