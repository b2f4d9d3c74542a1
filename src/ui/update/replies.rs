//! What became of commands.

use crate::base::Fault;
use crate::engine::command::Outcome;
use crate::engine::update::Level;
use crate::ui::effect::{Effect, Tag};
use crate::ui::model::{Expect, Model};
use crate::ui::msg::{Cx, Redraw};
use crate::ui::outcome;
use crate::ui::update::{Out, act_merge, act_review, go_to};

pub fn reply(model: &mut Model, tag: Tag, reply: Result<Outcome, Fault>, cx: &Cx<'_>, out: &mut Out) {
    out.draw(Redraw::Now);
    let Some(expect) = model.expected.remove(&tag) else { return };
    let outcome = match reply {
        Ok(outcome) => outcome,
        Err(fault) => {
            match expect {
                // What was written is not lost because it could not be sent.
                Expect::Sent { task, text } => model.composer.give_back(task, &text),
                Expect::Answered(ask) => model.asks.refused(ask),
                Expect::Quit => out.effect(Effect::Quit),
                // The remarks are drafts still.
                Expect::Created | Expect::Reviewed(_) | Expect::Plain(_) => {}
                Expect::Merged(task) | Expect::Checked(task) => {
                    return act_merge::refused(model, task, &fault, cx, out);
                }
            }
            return model.toasts.say(Level::Error, fault.to_string(), cx.now);
        }
    };
    let said = outcome::sentence(model, &outcome);
    match (&outcome, expect) {
        // The person may have gone elsewhere while the task was made: only the tree shows it then.
        (Outcome::Created { task, .. }, Expect::Created) => {
            if model.composer.has_text(model.selected()) {
                model.toasts.say(Level::Info, "the task is there", cx.now);
            } else {
                go_to(model, *task);
            }
        }
        (_, Expect::Reviewed(task)) => act_review::sent(model, task, cx, out),
        (outcome, Expect::Merged(task)) => act_merge::merged(model, task, outcome, cx),
        (_, Expect::Checked(task)) => act_merge::checked(model, task, out),
        (_, Expect::Quit) => out.effect(Effect::Quit),
        (Outcome::Sent { .. } | Outcome::Created { .. }, _) => {}
        (_, Expect::Plain(Some(words))) if said.is_none() => model.toasts.say(Level::Info, words, cx.now),
        _ => {}
    }
    if let Some(said) = said {
        model.toasts.say(Level::Info, crate::base::sanitize::lines(&said).into_owned(), cx.now);
    }
}
