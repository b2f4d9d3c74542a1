//! Actions of the composer.

use crate::base::{AskId, TaskId};
use crate::engine::command::Command;
use crate::engine::update::Level;
use crate::model::Ask;
use crate::model::ask::AskKind;
use crate::model::message::MessageSource;
use crate::ui::asks;
use crate::ui::composer::{CompletionItem, Popup, Trigger, commands};
use crate::ui::effect::Effect;
use crate::ui::layer::{Layer, brief_width};
use crate::ui::layout::Pane;
use crate::ui::list::Cursor;
use crate::ui::model::{Model, PendingReply};
use crate::ui::msg::Cx;
use crate::ui::update::{Out, actions, pickers};

/// The maximum number of completions.
const OFFERS: usize = 30;
/// How many files are offered before the tasks.
const FILES_FIRST: usize = 5;

/// Takes an example goal of the welcome into the composer. Returns true if there was one to take.
pub fn take_example(model: &mut Model, number: usize) -> bool {
    let task = model.selected();
    let empty = model.detail.transcript(task).is_some_and(|it| it.entry_count() == 0 && !it.is_loading());
    let is_welcome = empty
        && task == model.project.root()
        && model.layers.is_empty()
        && model.focus == Pane::Composer
        && model.settings.read_only.is_none()
        && model.project.info.model.is_some()
        && model.composer.draft(task).is_none_or(|draft| draft.field.is_empty() && draft.images.is_empty());
    let Some(example) = crate::ui::transcript::EXAMPLES.get(number.wrapping_sub(1)).filter(|_| is_welcome) else {
        return false;
    };
    model.composer.field(task).set(example);
    model.composer.on_text_changed(task);
    true
}

pub fn send(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    let task = model.selected();
    if let Some(goal) = model.suggestion().filter(|_| model.settings.read_only.is_none()) {
        model.composer.field(task).set(goal);
    }
    let field = model.composer.draft(task).map(|draft| draft.field.shown().trim().to_owned()).unwrap_or_default();
    if let Some(name) = field.strip_prefix('/').filter(|name| !name.contains(char::is_whitespace)) {
        return command(model, name, cx, out);
    }
    if model.settings.read_only.is_some() && !field.is_empty() {
        let why = model.settings.read_only.clone().unwrap_or_default();
        return model.toasts.say(Level::Warning, why, cx.now);
    }
    if !field.is_empty()
        && let Some(ask) = dropped_by_message(model, task)
    {
        return pickers::open_answer_or_message(model, task, ask);
    }
    if let Some((asking, ask)) = chosen_elsewhere(model, &field) {
        return pickers::open_answer_or_message(model, asking, ask);
    }
    send_message(model, cx, out);
}

/// Returns the open question of a task that a message would drop.
fn dropped_by_message(model: &Model, task: TaskId) -> Option<AskId> {
    let is_dropped = |ask: &&Ask| match ask.kind() {
        AskKind::Clarify
        | AskKind::LaunchFailed
        | AskKind::RetriesExhausted
        | AskKind::Budget
        | AskKind::Loop
        | AskKind::TurnLimit
        | AskKind::ModelStopped
        | AskKind::CompactionFailed
        | AskKind::CheckFailed
        | AskKind::Permission
        | AskKind::Plan => true,
        AskKind::SetupHook
        | AskKind::McpApproval
        | AskKind::Review
        | AskKind::TaskLimit
        | AskKind::Approval
        | AskKind::Bind => false,
    };
    let asks = &model.project.task(task)?.asks;
    asks.iter().filter(is_dropped).map(|ask| ask.id).find(|id| !model.asks.is_sent(*id))
}

/// Returns the question of another task if the text is the number of one of its choices.
fn chosen_elsewhere(model: &Model, text: &str) -> Option<(TaskId, AskId)> {
    let number = text.parse::<usize>().ok()?;
    let (task, ask) = model.asks.next()?;
    let choices = model.project.ask(ask)?.1.choices.len();
    (task != model.selected() && (1..=choices).contains(&number)).then_some((task, ask))
}

/// Sends what is written to the selected task.
pub fn send_message(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    let task = model.selected();
    let mode = model.composer.mode;
    let Some(message) = model.composer.take(task) else { return };
    model.suggestion = None;
    let expect = PendingReply::Sent { task, text: message.text.clone() };
    if let Some(transcript) = model.detail.transcript_mut(task) {
        transcript.follow();
    }
    out.command(model, Command::Send { task, message, mode }, expect, cx);
}

/// Withdraws the last unread message.
pub fn withdraw(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    let task = model.selected();
    let unread = model.project.task(task).map(|view| view.unread.as_slice()).unwrap_or_default();
    let last = unread.iter().rev().find(|message| message.from.is_from_user()).cloned();
    let Some(message) = last else {
        return model.toasts.say(Level::Info, "No unread messages", cx.now);
    };
    // Put the text back into the composer.
    if message.from == MessageSource::User && !model.composer.has_text(task) {
        model.composer.restore(task, &message.body);
    }
    out.command(
        model,
        Command::Withdraw { task, messages: vec![message.id] },
        PendingReply::Plain(Some("Message withdrawn")),
        cx,
    );
}

/// Runs a `/name` command.
fn command(model: &mut Model, name: &str, cx: &Cx<'_>, out: &mut Out) {
    let Some(action) = commands::find(name) else {
        let near = commands::nearest(name).map(|name| format!(". Did you mean /{name}?"));
        let words = format!("Unknown command /{name}{}", near.unwrap_or_default());
        return model.toasts.say(Level::Warning, words, cx.now);
    };
    let task = model.selected();
    model.composer.field(task).take();
    model.composer.on_text_changed(task);
    actions::act(model, action, cx, out);
}

/// The goal that makes an agent write the guide of the repository.
const GUIDE_GOAL: &str = "Read this repository and write AGENTS.md for the agents that work on it: how it is organised, how it \
                          is built and tested, and the conventions of its code. Keep it under 60 lines, and commit it.";

/// Writes the goal into the composer of the root, for the user to send.
pub fn write_guide(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    let root = model.project.root();
    model.tree.select(&model.project, root);
    model.focus = Pane::Composer;
    if model.composer.has_text(root) {
        return model.toasts.say(Level::Info, "The composer has a text already", cx.now);
    }
    model.composer.field(root).set(GUIDE_GOAL);
    on_text_changed(model, cx, out);
}

/// Updates the completion popup after the text has changed.
pub fn on_text_changed(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    let task = model.selected();
    let Some((trigger, start, query)) = model.composer.on_text_changed(task) else { return };
    let offers = match trigger {
        Trigger::Command => offer_commands(&query),
        Trigger::Mention => {
            out.effect(Effect::ListFiles { task, query: query.clone() });
            tasks(model, &query)
        }
    };
    let _ = cx;
    set_popup(model, trigger, start, query, offers);
}

fn set_popup(model: &mut Model, trigger: Trigger, start: usize, query: String, offers: Vec<CompletionItem>) {
    model.composer.popup =
        (!offers.is_empty()).then(|| Popup { trigger, start, query, offers, cursor: Cursor::default() });
}

fn offer_commands(query: &str) -> Vec<CompletionItem> {
    let offers = commands::matching(query).into_iter().take(OFFERS).map(|(name, entry)| CompletionItem {
        label: format!("/{name}"),
        note: entry.help.to_owned(),
        insert: format!("/{name}"),
        action: Some(entry.action),
    });
    offers.collect()
}

fn tasks(model: &Model, query: &str) -> Vec<CompletionItem> {
    let query = query.to_lowercase();
    let fits = model
        .project
        .tasks()
        .filter(|task| task.node.title.to_lowercase().contains(&query) && task.node.id != model.selected());
    let offers = fits.take(5).map(|task| {
        let title = model.project.title(task.node.id);
        CompletionItem {
            note: "task".to_owned(),
            insert: format!("task {} ({title}) ", task.node.id),
            label: title,
            action: None,
        }
    });
    offers.collect()
}

/// Offers files for a mention, unless the query has changed meanwhile.
pub fn on_files(model: &mut Model, task: TaskId, query: &str, paths: Vec<String>) {
    if task != model.selected() || model.focus != Pane::Composer {
        return;
    }
    let Some((Trigger::Mention, start, now)) = model.composer.on_text_changed(task) else { return };
    if now != query {
        return;
    }
    let mut offers: Vec<_> = paths
        .into_iter()
        .take(OFFERS)
        .map(|path| CompletionItem {
            label: crate::base::sanitize::line(&path).into_owned(),
            note: String::new(),
            insert: format!("{path} "),
            action: None,
        })
        .collect();
    // The first few of both are visible at once.
    let tasks = tasks(model, query);
    let at = offers.len().min(FILES_FIRST);
    offers.splice(at..at, tasks);
    set_popup(model, Trigger::Mention, start, now, offers);
}

/// Accepts the selected completion.
pub fn accept(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    let task = model.selected();
    let Some(popup) = model.composer.popup.take() else { return };
    let Some(offer) = popup.offers.into_iter().nth(popup.cursor.chosen) else { return };
    if let Some(action) = offer.action {
        model.composer.field(task).take();
        model.composer.on_text_changed(task);
        return actions::act(model, action, cx, out);
    }
    model.composer.field(task).replace_before(popup.start, &offer.insert);
    model.composer.on_text_changed(task);
    let path = offer.insert.trim_end();
    if popup.trigger == Trigger::Mention && is_image_path(path) {
        out.effect(Effect::Attach { task, path: path.to_owned() });
    }
}

/// Moves the cursor between rows, and beyond the first and the last through the history.
pub fn move_vertically(model: &mut Model, by: isize) {
    if let Some(Layer::Brief(brief)) = model.layers.last_mut() {
        brief.field.move_row(by, brief_width(model.layout.screen));
        return;
    }
    if model.focus == Pane::Detail {
        return actions::review::move_vertically(model, by);
    }
    if let Some((_, id)) = model.card() {
        let width = asks::answer_width(model.layout.composer.width);
        model.asks.field(id).move_row(by, width);
        return;
    }
    let task = model.selected();
    let Some(view) = model.project.task(task) else { return };
    let width = crate::ui::composer::text_width(model.layout.composer.width, view, &model.composer);
    if !model.composer.field(task).move_row(by, width) {
        model.composer.recall(task, by);
    }
}

pub fn paste(model: &mut Model, text: &str, cx: &Cx<'_>, out: &mut Out) {
    let task = model.selected();
    if let Some(path) = image_path(text) {
        out.effect(Effect::Attach { task, path });
        return;
    }
    model.composer.field(task).paste(text);
    on_text_changed(model, cx, out);
}

/// Returns the path if the pasted text is only the path of an image, as terminals paste a dropped file.
fn image_path(text: &str) -> Option<String> {
    let path = text.trim().trim_matches(['\'', '"']);
    let path = match path.strip_prefix("file://") {
        Some(address) => decode_url(address)?,
        None => path.replace("\\ ", " "),
    };
    (is_image_path(&path) && path.starts_with(['/', '~', '.']) && !path.contains('\n')).then_some(path)
}

fn is_image_path(path: &str) -> bool {
    let ending = path.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    matches!(ending.as_deref(), Some("png" | "jpg" | "jpeg" | "gif" | "webp"))
}

/// Decodes the percent-encoding of a file URL.
fn decode_url(address: &str) -> Option<String> {
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
#[path = "composer_tests.rs"]
mod tests;
