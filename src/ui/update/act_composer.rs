//! Writing to a task.

use crate::base::TaskId;
use crate::engine::command::Command;
use crate::engine::update::Level;
use crate::model::message::Source;
use crate::ui::action::{Entry, TABLE};
use crate::ui::composer::{Offer, Popup, Trigger};
use crate::ui::effect::Effect;
use crate::ui::layout::Pane;
use crate::ui::list::Cursor;
use crate::ui::model::{Expect, Model};
use crate::ui::msg::Cx;
use crate::ui::update::{Out, act, act_review};

/// How many completions are offered at most.
const OFFERS: usize = 30;
/// How many files are offered before the tasks.
const FILES_FIRST: usize = 5;

pub fn send(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    let task = model.selected();
    let field = model.composer.draft(task).map(|draft| draft.field.shown().trim().to_owned()).unwrap_or_default();
    if let Some(name) = field.strip_prefix('/').filter(|name| !name.contains(char::is_whitespace)) {
        return command(model, name, cx, out);
    }
    if model.settings.read_only.is_some() && !field.is_empty() {
        let why = model.settings.read_only.clone().unwrap_or_default();
        return model.toasts.say(Level::Warning, why, cx.now);
    }
    let mode = model.composer.mode;
    let Some(message) = model.composer.take(task) else { return };
    let expect = Expect::Sent { task, text: message.text.clone() };
    if let Some(transcript) = model.detail.transcript_mut(task) {
        transcript.follow();
    }
    out.command(model, Command::Send { task, message, mode }, expect, cx);
}

/// Takes the last message back that the agent has not read.
pub fn withdraw(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    let task = model.selected();
    let unread = model.world.task(task).map(|view| view.unread.as_slice()).unwrap_or_default();
    let last = unread.iter().rev().find(|message| message.from.is_of_user()).cloned();
    let Some(message) = last else {
        return model.toasts.say(Level::Info, "the agent has read everything", cx.now);
    };
    // The text comes back to be changed, not to be lost.
    if message.from == Source::User && !model.composer.has_text(task) {
        model.composer.give_back(task, &message.body);
    }
    out.command(model, Command::Withdraw { task, messages: vec![message.id] }, Expect::Plain(Some("taken back")), cx);
}

/// Runs what was written as `/name`.
fn command(model: &mut Model, name: &str, cx: &Cx<'_>, out: &mut Out) {
    let offered = |entry: &&Entry| entry.in_palette();
    let found = TABLE.iter().filter(offered).find(|entry| entry.name == name);
    let Some(entry) = found else {
        let near = crate::ui::action::Action::nearest(name).map(|name| format!("; the nearest is /{name}"));
        let words = format!("there is no command /{name}{}", near.unwrap_or_default());
        return model.toasts.say(Level::Warning, words, cx.now);
    };
    let task = model.selected();
    model.composer.field(task).take();
    model.composer.written(task);
    act::act(model, entry.action, None, cx, out);
}

/// Looks whether what was just written asks for completion.
pub fn written(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    let task = model.selected();
    let Some((trigger, start, query)) = model.composer.written(task) else { return };
    let offers = match trigger {
        Trigger::Command => commands(&query),
        Trigger::Mention => {
            out.effect(Effect::ListFiles { task, query: query.clone() });
            tasks(model, &query)
        }
    };
    let _ = cx;
    set_popup(model, trigger, start, query, offers);
}

fn set_popup(model: &mut Model, trigger: Trigger, start: usize, query: String, offers: Vec<Offer>) {
    model.composer.popup =
        (!offers.is_empty()).then(|| Popup { trigger, start, query, offers, cursor: Cursor::default() });
}

fn commands(query: &str) -> Vec<Offer> {
    let query = query.to_lowercase();
    let starts = |words: &str| words.split(' ').any(|word| word.to_lowercase().starts_with(&query));
    let fit = |entry: &Entry| match entry.name.find(&query) {
        Some(0) => Some(0),
        Some(_) => Some(1),
        // Who does not know the name may know the thing.
        None => starts(entry.help).then_some(2),
    };
    let offered = TABLE.iter().filter(|entry| entry.in_palette());
    let mut found: Vec<_> = offered.filter_map(|entry| Some((fit(entry)?, entry))).collect();
    found.sort_by_key(|(fit, _)| *fit);
    let offers = found.into_iter().take(OFFERS).map(|(_, entry)| Offer {
        label: format!("/{}", entry.name),
        note: entry.help.to_owned(),
        insert: format!("/{}", entry.name),
        action: Some(entry.action),
    });
    offers.collect()
}

fn tasks(model: &Model, query: &str) -> Vec<Offer> {
    let query = query.to_lowercase();
    let fits = model
        .world
        .tasks()
        .filter(|task| task.node.title.to_lowercase().contains(&query) && task.node.id != model.selected());
    let offers = fits.take(5).map(|task| {
        let title = model.world.title(task.node.id);
        Offer {
            note: "task".to_owned(),
            insert: format!("task {} ({title}) ", task.node.id),
            label: title,
            action: None,
        }
    });
    offers.collect()
}

/// Files were found for a mention that may have been changed meanwhile: only the latest question is answered.
pub fn files(model: &mut Model, task: TaskId, query: &str, paths: Vec<String>) {
    if task != model.selected() || model.focus != Pane::Composer {
        return;
    }
    let Some((Trigger::Mention, start, now)) = model.composer.written(task) else { return };
    if now != query {
        return;
    }
    let mut offers: Vec<_> = paths
        .into_iter()
        .take(OFFERS)
        .map(|path| Offer {
            label: crate::base::sanitize::line(&path).into_owned(),
            note: String::new(),
            insert: format!("{path} "),
            action: None,
        })
        .collect();
    // The first few of both are in sight at once.
    let tasks = tasks(model, query);
    let at = offers.len().min(FILES_FIRST);
    offers.splice(at..at, tasks);
    set_popup(model, Trigger::Mention, start, now, offers);
}

/// Takes the chosen completion.
pub fn accept(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    let task = model.selected();
    let Some(popup) = model.composer.popup.take() else { return };
    let Some(offer) = popup.offers.into_iter().nth(popup.cursor.chosen) else { return };
    if let Some(action) = offer.action {
        model.composer.field(task).take();
        model.composer.written(task);
        return act::act(model, action, None, cx, out);
    }
    model.composer.field(task).replace_before(popup.start, &offer.insert);
    model.composer.written(task);
    let path = offer.insert.trim_end();
    if popup.trigger == Trigger::Mention && has_picture_ending(path) {
        out.effect(Effect::Attach { task, path: path.to_owned() });
    }
}

/// Moves between rows, and beyond the first and the last through what was said before.
pub fn vertical(model: &mut Model, by: isize) {
    if model.focus == Pane::Detail {
        return act_review::vertical(model, by);
    }
    if model.focus == Pane::Asks {
        let width = usize::from(model.layout.asks.width).saturating_sub(7).max(1);
        if let Some(field) = model.asks.field() {
            field.move_row(by, width);
        }
        return;
    }
    let task = model.selected();
    let Some(view) = model.world.task(task) else { return };
    let width = crate::ui::composer::text_width(model.layout.composer.width, view, &model.composer);
    if !model.composer.field(task).move_row(by, width) {
        model.composer.recall(task, by);
    }
}

pub fn paste(model: &mut Model, text: &str, cx: &Cx<'_>, out: &mut Out) {
    let task = model.selected();
    if let Some(path) = picture(text) {
        out.effect(Effect::Attach { task, path });
        return;
    }
    model.composer.field(task).paste(text);
    written(model, cx, out);
}

/// Returns the path if what was pasted is nothing but the path of a picture, as terminals paste a dropped file.
fn picture(text: &str) -> Option<String> {
    let path = text.trim().trim_matches(['\'', '"']);
    let path = match path.strip_prefix("file://") {
        Some(address) => unescaped(address)?,
        None => path.replace("\\ ", " "),
    };
    (has_picture_ending(&path) && path.starts_with(['/', '~', '.']) && !path.contains('\n')).then_some(path)
}

fn has_picture_ending(path: &str) -> bool {
    let ending = path.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    matches!(ending.as_deref(), Some("png" | "jpg" | "jpeg" | "gif" | "webp"))
}

/// Returns the path that an address names: some bytes are written there as a percent sign and two digits.
fn unescaped(address: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(address.len());
    let mut rest = address.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = if *first == b'%' { after.get(..2) } else { None };
        let byte = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
#[path = "act_composer_tests.rs"]
mod tests;
