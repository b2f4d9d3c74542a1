//! Actions on the review of what a task has changed.

use ratatui::layout::{Position, Rect};

use crate::base::{Fault, TaskId};
use crate::engine::command::Command;
use crate::engine::review::{Range, TurnView, Whitespace};
use crate::engine::update::Level;
use crate::text::diff::{Sides, unified};
use crate::theme::Glyphs;
use crate::ui::action::Action;
use crate::ui::detail::Tab;
use crate::ui::effect::{Effect, Purpose};
use crate::ui::layer::{Chooser, Item, Layer, Pick};
use crate::ui::model::{Expect, Model};
use crate::ui::msg::Cx;
use crate::ui::review::{self, Goal, Laid, Mark, Place, Request};
use crate::ui::update::act::Step;
use crate::ui::update::{Out, act_detail, settle};

/// How many unchanged lines are shown around changes, from few to many.
const CONTEXTS: [u32; 6] = [0, 3, 10, 30, 100, 1_000];

fn area(model: &Model) -> Rect {
    review::list_area(&model.review, settle::detail_area(model))
}

/// Returns the review as it is laid out, and its rows on the screen.
fn laid(model: &Model, glyphs: &'static Glyphs) -> (Laid, usize) {
    let area = area(model);
    (model.review.laid(usize::from(area.width), glyphs), usize::from(area.height).max(1))
}

pub fn step(model: &mut Model, step: Step, cx: &Cx<'_>) {
    let (laid, height) = laid(model, cx.theme.glyphs);
    match step {
        Step::Rows(by) => model.review.step(by, &laid, height),
        Step::Pages(_) => model.review.page(step.rows(height), &laid, height),
        Step::Start | Step::End => model.review.step(step.rows(height), &laid, height),
    }
}

pub fn act(model: &mut Model, action: Action, cx: &Cx<'_>, out: &mut Out) {
    let (laid, height) = laid(model, cx.theme.glyphs);
    let review = &mut model.review;
    match action {
        Action::NextHunk => go(model, Goal::Hunk, true, &laid, height, cx),
        Action::PreviousHunk => go(model, Goal::Hunk, false, &laid, height, cx),
        Action::NextFile => go(model, Goal::File, true, &laid, height, cx),
        Action::PreviousFile => go(model, Goal::File, false, &laid, height, cx),
        Action::NextUnseen => go(model, Goal::Unseen, true, &laid, height, cx),
        Action::PreviousUnseen => go(model, Goal::Unseen, false, &laid, height, cx),
        Action::NextComment => go(model, Goal::Comment, true, &laid, height, cx),
        Action::PreviousComment => go(model, Goal::Comment, false, &laid, height, cx),
        Action::GoToFile => open_files(model, cx),
        Action::UnfoldEntry | Action::FoldToggle => review.toggle(&laid),
        Action::FoldAll => review.fold_all(&laid),
        Action::UnfoldAll => review.unfold_all(),
        Action::Seen | Action::SeenFile => {
            review.see(action == Action::SeenFile, &laid, height);
            all_seen(model, cx);
        }
        Action::Comment => review.comment(&laid),
        Action::RemoveComment if review.remove_comment() => {}
        Action::RemoveComment => model.toasts.say(Level::Info, "there is no comment here", cx.now),
        Action::KeepComment => review.finish_writing(),
        Action::SendReview => send(model, cx, out),
        Action::Compare => out.effect(Effect::LoadTurns { task: model.selected() }),
        Action::SideBySide => {
            review.sides = match (review.sides, review.sides.beside(laid.columns)) {
                (Sides::Auto, true) => Sides::Unified,
                (Sides::Auto, false) => Sides::Split,
                (Sides::Unified | Sides::Split, _) => Sides::Auto,
            };
            let words = match review.sides {
                Sides::Auto => "sides as the width allows",
                Sides::Unified => "one side below the other",
                Sides::Split => "side by side",
            };
            model.toasts.say(Level::Info, words, cx.now);
        }
        Action::IgnoreSpaces => {
            let request = review.request();
            let whitespace = match request.whitespace {
                Whitespace::Counts => Whitespace::Ignored,
                Whitespace::Amount | Whitespace::Ignored => Whitespace::Counts,
            };
            ask(model, Request { whitespace, ..request }, out);
        }
        Action::MoreContext | Action::LessContext => {
            let request = review.request();
            let context = if action == Action::MoreContext {
                CONTEXTS.into_iter().find(|lines| *lines > request.context)
            } else {
                CONTEXTS.into_iter().rev().find(|lines| *lines < request.context)
            };
            if let Some(context) = context {
                ask(model, Request { context, ..request }, out);
            }
        }
        Action::Reload => {
            let request = review.reload();
            out.effect(Effect::LoadDiff { task: model.selected(), request });
        }
        Action::SelectLines if review.stop_select() => {}
        Action::SelectLines => review.start_select(),
        Action::CopySelection => {
            let text = review.chosen_text(&laid);
            review.stop_select();
            act_detail::copy(model, Some(text), "code", cx, out);
        }
        Action::CopyEntry => {
            let file = laid.comparison.files.get(review.current_file());
            let text = file.map(|file| unified([&file.diff]));
            act_detail::copy(model, text, "diff of the file", cx, out);
        }
        Action::OpenPager => {
            let text = unified(laid.comparison.files.iter().map(|file| &file.diff));
            let title = model.world.title(model.selected());
            out.effect(Effect::OpenPager { title, text });
        }
        _ => {}
    }
}

fn go(model: &mut Model, goal: Goal, forward: bool, laid: &Laid, height: usize, cx: &Cx<'_>) {
    if model.review.go(goal, forward, laid, height) {
        return;
    }
    let words = match (goal, forward) {
        (Goal::Hunk, true) => "that was the last change",
        (Goal::Hunk, false) => "that was the first change",
        (Goal::File, true) => "that was the last file",
        (Goal::File, false) => "that was the first file",
        (Goal::Unseen, _) => "you have seen all of it",
        (Goal::Comment, true) => "there is no comment further down",
        (Goal::Comment, false) => "there is no comment further up",
    };
    model.toasts.say(Level::Info, words, cx.now);
}

/// When the last change was seen, the state of the files is remembered: what is new is told from there.
fn all_seen(model: &mut Model, cx: &Cx<'_>) {
    let (Some(comparison), Some(notes)) = (model.review.comparison(), model.review.notes()) else { return };
    let done = comparison.files.iter().all(|file| file.seen(&notes.seen) == file.marks.len());
    if !done || comparison.hidden_files > 0 {
        return;
    }
    model.review.look();
    model.toasts.say(Level::Info, "you have seen all of it", cx.now);
}

fn ask(model: &mut Model, request: Request, out: &mut Out) {
    let request = model.review.ask(request);
    out.effect(Effect::LoadDiff { task: model.selected(), request });
}

/// Shows the diff of a range, from wherever one is.
pub fn show(model: &mut Model, range: Range, out: &mut Out) {
    model.detail.show(Tab::Diff);
    let task = model.selected();
    // What is shown of another task is forgotten first.
    model.review.wants(task);
    let request = model.review.request();
    ask(model, Request { range, ..request }, out);
}

/// Sends all remarks as one message.
fn send(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    model.review.finish_writing();
    let task = model.selected();
    let drafts: Vec<_> =
        model.review.notes().map(|notes| notes.drafts().map(review::Comment::told).collect()).unwrap_or_default();
    if drafts.is_empty() {
        let words = format!("there is no comment to send; {} writes one", model.key_of(Action::Comment));
        return model.toasts.say(Level::Info, words, cx.now);
    }
    let state = model.review.looked_at().map(str::to_owned);
    let command = Command::Review { task, comments: drafts, words: String::new(), state };
    out.command(model, command, Expect::Reviewed(task), cx);
}

/// The agent has been told: from now on what has changed since is shown.
pub fn sent(model: &mut Model, task: TaskId, cx: &Cx<'_>, out: &mut Out) {
    model.review.sent(task, cx.now);
    model.toasts.say(Level::Info, "the agent has your comments; from here on you see what it changes", cx.now);
    if model.review.task() == Some(task) && model.review.looked_at().is_some() {
        model.review.look();
        // Kept before the next look, which is compared with it.
        settle::notes(model, out);
        let request = model.review.request();
        let request = model.review.ask(Request { range: Range::Look, ..request });
        out.effect(Effect::LoadDiff { task, request });
    }
}

/// Lists the files, to go to one.
fn open_files(model: &mut Model, cx: &Cx<'_>) {
    let Some(comparison) = model.review.comparison() else { return };
    let none = review::TaskNotes::default();
    let notes = model.review.notes().unwrap_or(&none);
    let items = comparison.files.iter().enumerate().map(|(at, file)| {
        let (label, note) = review::label(file, notes, cx.theme.glyphs);
        Item { label, also: String::new(), note, group: None, pick: Pick::File(at) }
    });
    let chooser = Chooser::new("files", "which file?", items.collect());
    model.layers.push(Layer::Choose(chooser));
}

/// A file was chosen.
pub fn go_to_file(model: &mut Model, file: usize, cx: &Cx<'_>) {
    let (laid, height) = laid(model, cx.theme.glyphs);
    model.review.unfold(&laid, file, None);
    model.review.go_to(Mark { file, place: Place::Name }, height);
}

/// The turns are there: what is to be compared is chosen.
pub fn open_compare(model: &mut Model, turns: Result<Vec<TurnView>, Fault>, cx: &Cx<'_>) {
    let turns = match turns {
        Ok(turns) => turns,
        Err(fault) => return model.toasts.say(Level::Error, fault.to_string(), cx.now),
    };
    let now = model.review.request().range;
    let item = |label: String, note: String, group: &'static str, pick: Pick| Item {
        note: if pick == Pick::Compare(now) { format!("{note}  now").trim_start().to_owned() } else { note },
        label,
        also: String::new(),
        group: Some(group),
        pick,
    };
    let mut items = vec![
        item("everything the task has done".to_owned(), String::new(), "Compare", Pick::Compare(Range::Base)),
        item("what is new since you last looked".to_owned(), String::new(), "Compare", Pick::Compare(Range::Look)),
    ];
    let changing: Vec<&TurnView> = turns.iter().filter(|turn| turn.changed).collect();
    let time = |turn: &TurnView| crate::ui::words::time_of_day(turn.at, cx.zone);
    for turn in changing.iter().rev() {
        let pick = Pick::Compare(Range::Turn { turn: turn.turn });
        items.push(item(review::turn_words(turn), time(turn), "What one turn did", pick));
    }
    // A turn that did one thing is that thing.
    for turn in changing.iter().rev().filter(|turn| turn.edits.len() > 1) {
        for edit in &turn.edits {
            let pick = Pick::Compare(Range::Edit { turn: turn.turn, number: edit.number });
            items.push(item(format!("turn {}, {edit}", turn.number), time(turn), "What one edit did", pick));
        }
    }
    for turn in changing.iter().rev() {
        let pick = Pick::CompareFrom(turn.turn);
        items.push(item(format!("after {}, up to …", review::turn_words(turn)), time(turn), "Between two turns", pick));
    }
    model.turns = turns;
    model.layers.push(Layer::Choose(Chooser::new("compare", "what with what?", items)));
}

/// One end of what is to be compared was chosen: the other follows.
pub fn open_compare_to(model: &mut Model, from: crate::base::TurnId, cx: &Cx<'_>) {
    let number = model.turns.iter().find(|turn| turn.turn == from).map_or(0, |turn| turn.number);
    let mut items = vec![Item {
        label: "now".to_owned(),
        also: String::new(),
        note: String::new(),
        group: None,
        pick: Pick::Compare(Range::Since { turn: from }),
    }];
    let later = model.turns.iter().rev().filter(|turn| turn.changed && turn.number > number);
    items.extend(later.map(|turn| Item {
        label: review::turn_words(turn),
        also: String::new(),
        note: crate::ui::words::time_of_day(turn.at, cx.zone),
        group: None,
        pick: Pick::Compare(Range::Between { from, to: turn.turn }),
    }));
    model.layers.push(Layer::Choose(Chooser::new("compare up to", "up to which turn?", items)));
}

/// Goes to the next place of the search.
pub fn find(model: &mut Model, forward: bool, cx: &Cx<'_>) {
    let needle = model.detail.search.shown().to_lowercase();
    if needle.is_empty() {
        return;
    }
    let (laid, height) = laid(model, cx.theme.glyphs);
    if !model.review.find(&needle, forward, &laid, height) {
        model.toasts.say(Level::Info, "not found", cx.now);
    }
}

/// A place of the review was clicked.
pub fn click(model: &mut Model, at: Position, cx: &Cx<'_>) {
    let whole = settle::detail_area(model);
    if let Some(mark) = review::file_at(&model.review, whole, at) {
        return go_to_file(model, mark.file, cx);
    }
    let list = area(model);
    if !list.contains(at) {
        return;
    }
    let (laid, height) = laid(model, cx.theme.glyphs);
    let before = model.review.cursor();
    model.review.point_at(usize::from(at.y - list.y), &laid, height);
    let again = model.review.cursor() == before;
    if again && matches!(before.place, Place::Name | Place::Head(_)) {
        model.review.toggle(&laid);
    }
}

/// Esc: gives up what is being done here. Tells whether there was anything.
pub fn back(model: &mut Model) -> bool {
    if model.review.is_writing() {
        model.review.finish_writing();
        return true;
    }
    model.review.stop_select()
}

/// Moves between the rows of a remark that is being written.
pub fn vertical(model: &mut Model, by: isize) {
    let width = review::State::text_width(usize::from(area(model).width));
    if let Some(field) = model.review.field() {
        field.move_row(by, width);
    }
}

pub fn open_editor(model: &mut Model, out: &mut Out) {
    let task = model.selected();
    let Some(field) = model.review.field() else { return };
    out.effect(Effect::OpenEditor { purpose: Purpose::Comment(task), text: field.content() });
}
