//! Actions on the review.

use ratatui::layout::{Position, Rect};

use crate::base::{Fault, TaskId};
use crate::engine::command::Command;
use crate::engine::review::{DiffRange, TurnView, Whitespace};
use crate::engine::update::Level;
use crate::text::diff::{Sides, unified};
use crate::theme::Glyphs;
use crate::ui::action::Action;
use crate::ui::detail::Tab;
use crate::ui::effect::{EditPurpose, Effect};
use crate::ui::layer::{Chooser, ChooserAction, Item, Layer};
use crate::ui::model::{Model, PendingReply};
use crate::ui::msg::Cx;
use crate::ui::review::{self, Place, Request, ReviewLayout, ReviewPosition, ReviewTarget};
use crate::ui::update::actions::Movement;
use crate::ui::update::{Out, actions, reconcile};

/// The steps of context lines.
const CONTEXTS: [u32; 6] = [0, 3, 10, 30, 100, 1_000];

fn area(model: &Model) -> Rect {
    review::list_area(&model.review, reconcile::detail_area(model))
}

/// Returns the layout of the review and its height.
fn layout(model: &Model, glyphs: &'static Glyphs) -> (ReviewLayout, usize) {
    let area = area(model);
    (model.review.layout(usize::from(area.width), glyphs), usize::from(area.height).max(1))
}

pub fn step(model: &mut Model, step: Movement, cx: &Cx<'_>) {
    let (layout, height) = layout(model, cx.theme.glyphs);
    match step {
        Movement::Rows(by) => model.review.step(by, &layout, height),
        Movement::Pages(_) => model.review.page(step.rows(height), &layout, height),
        Movement::Start | Movement::End => model.review.step(step.rows(height), &layout, height),
    }
}

pub fn act(model: &mut Model, action: Action, cx: &Cx<'_>, out: &mut Out) {
    let (layout, height) = layout(model, cx.theme.glyphs);
    let review = &mut model.review;
    match action {
        Action::NextHunk => go(model, ReviewTarget::Hunk, true, &layout, height, cx),
        Action::PreviousHunk => go(model, ReviewTarget::Hunk, false, &layout, height, cx),
        Action::NextFile => go(model, ReviewTarget::File, true, &layout, height, cx),
        Action::PreviousFile => go(model, ReviewTarget::File, false, &layout, height, cx),
        Action::NextUnseen => go(model, ReviewTarget::Unseen, true, &layout, height, cx),
        Action::PreviousUnseen => go(model, ReviewTarget::Unseen, false, &layout, height, cx),
        Action::NextComment => go(model, ReviewTarget::Comment, true, &layout, height, cx),
        Action::PreviousComment => go(model, ReviewTarget::Comment, false, &layout, height, cx),
        Action::GoToFile => open_files(model, cx),
        Action::UnfoldEntry | Action::FoldToggle => review.toggle(&layout),
        Action::FoldAll => review.fold_all(&layout),
        Action::UnfoldAll => review.unfold_all(),
        Action::Seen | Action::SeenFile => {
            review.toggle_seen(action == Action::SeenFile, &layout, height);
            all_seen(model, cx);
        }
        Action::Comment => review.comment(&layout),
        Action::RemoveComment if review.remove_comment() => {}
        Action::RemoveComment => model.toasts.say(Level::Info, "No comment here", cx.now),
        Action::KeepComment => review.finish_writing(),
        Action::SendReview => send(model, cx, out),
        Action::Compare => out.effect(Effect::LoadTurns { task: model.selected() }),
        Action::SideBySide => {
            review.sides = match (review.sides, review.sides.is_split(layout.columns)) {
                (Sides::Auto, true) => Sides::Unified,
                (Sides::Auto, false) => Sides::Split,
                (Sides::Unified | Sides::Split, _) => Sides::Auto,
            };
            let words = match review.sides {
                Sides::Auto => "Automatic layout",
                Sides::Unified => "Unified",
                Sides::Split => "Side by side",
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
            let text = review.chosen_text(&layout);
            review.stop_select();
            actions::detail::copy(model, Some(text), "code", cx, out);
        }
        Action::CopyEntry => {
            let file = layout.comparison.files.get(review.current_file());
            let text = file.map(|file| unified([&file.diff]));
            actions::detail::copy(model, text, "file diff", cx, out);
        }
        Action::OpenPager => {
            let text = unified(layout.comparison.files.iter().map(|file| &file.diff));
            let title = model.project.title(model.selected());
            out.effect(Effect::OpenPager { title, text });
        }
        _ => {}
    }
}

fn go(model: &mut Model, goal: ReviewTarget, forward: bool, layout: &ReviewLayout, height: usize, cx: &Cx<'_>) {
    if model.review.go(goal, forward, layout, height) {
        return;
    }
    let words = match (goal, forward) {
        (ReviewTarget::Hunk, true) => "Last hunk",
        (ReviewTarget::Hunk, false) => "First hunk",
        (ReviewTarget::File, true) => "Last file",
        (ReviewTarget::File, false) => "First file",
        (ReviewTarget::Unseen, _) => "All changes seen",
        (ReviewTarget::Comment, true) => "No comment below",
        (ReviewTarget::Comment, false) => "No comment above",
    };
    model.toasts.say(Level::Info, words, cx.now);
}

/// Records the reviewed state once all changes are seen.
fn all_seen(model: &mut Model, cx: &Cx<'_>) {
    let (Some(comparison), Some(notes)) = (model.review.comparison(), model.review.notes()) else { return };
    let done = comparison.files.iter().all(|file| file.seen(&notes.seen) == file.marks.len());
    if !done || comparison.hidden_files > 0 {
        return;
    }
    model.review.mark_reviewed();
    model.toasts.say(Level::Info, "All changes seen", cx.now);
}

fn ask(model: &mut Model, request: Request, out: &mut Out) {
    let request = model.review.set_request(request);
    out.effect(Effect::LoadDiff { task: model.selected(), request });
}

/// Shows the diff of a range.
pub fn show(model: &mut Model, range: DiffRange, out: &mut Out) {
    model.detail.show(Tab::Diff);
    let task = model.selected();
    // Drops the comparison of another task first.
    model.review.wants(task);
    let request = model.review.request();
    ask(model, Request { range, ..request }, out);
}

/// Shows what the conversation has changed if a root has nothing uncommitted: its work is in the commits of the base
/// branch.
pub fn widen_if_empty(model: &mut Model, out: &mut Out) {
    let is_root = model.review.task() == Some(model.project.root());
    let request = model.review.request();
    let is_empty = model.review.comparison().is_some_and(|comparison| comparison.is_empty());
    let has_turns = model.project.task(model.project.root()).is_some_and(|root| root.turns > 0);
    if is_root && is_empty && has_turns && request.range == DiffRange::Base {
        ask(model, Request { range: DiffRange::Conversation, ..request }, out);
    }
}

/// Sends all comments as one message.
fn send(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    model.review.finish_writing();
    let task = model.selected();
    let drafts: Vec<_> = model
        .review
        .notes()
        .map(|notes| notes.drafts().map(review::Comment::to_review_comment).collect())
        .unwrap_or_default();
    if drafts.is_empty() {
        let words = format!("No comments to send. {} adds one.", model.key_of(Action::Comment));
        return model.toasts.say(Level::Info, words, cx.now);
    }
    let state = model.review.shown_tree().map(str::to_owned);
    let command = Command::Review { task, comments: drafts, words: String::new(), state };
    out.command(model, command, PendingReply::Reviewed(task), cx);
}

/// Marks the comments as sent and shows changes since this review.
pub fn on_sent(model: &mut Model, task: TaskId, cx: &Cx<'_>, out: &mut Out) {
    model.review.mark_sent(task, cx.now);
    model.toasts.say(Level::Info, "Comments sent. The diff now shows changes since this review.", cx.now);
    if model.review.task() == Some(task) && model.review.shown_tree().is_some() {
        model.review.mark_reviewed();
        // Save the marks first: the next diff is compared with them.
        reconcile::notes(model, out);
        let request = model.review.request();
        let request = model.review.set_request(Request { range: DiffRange::SinceReview, ..request });
        out.effect(Effect::LoadDiff { task, request });
    }
}

/// Opens the list of changed files.
fn open_files(model: &mut Model, cx: &Cx<'_>) {
    let Some(comparison) = model.review.comparison() else { return };
    let none = review::TaskNotes::default();
    let notes = model.review.notes().unwrap_or(&none);
    let items = comparison.files.iter().enumerate().map(|(at, file)| {
        let (label, note) = review::label(file, notes, cx.theme.glyphs);
        Item { label, also: String::new(), note, group: None, pick: ChooserAction::File(at) }
    });
    let chooser = Chooser::new("files", "which file?", items.collect());
    model.layers.push(Layer::Choose(chooser));
}

/// Goes to a file.
pub fn go_to_file(model: &mut Model, file: usize, cx: &Cx<'_>) {
    let (layout, height) = layout(model, cx.theme.glyphs);
    model.review.unfold(&layout, file, None);
    model.review.go_to(ReviewPosition { file, place: Place::Name }, height);
}

/// Opens the list of ranges to compare.
pub fn open_compare(model: &mut Model, turns: Result<Vec<TurnView>, Fault>, cx: &Cx<'_>) {
    let turns = match turns {
        Ok(turns) => turns,
        Err(fault) => return model.toasts.say(Level::Error, fault.to_string(), cx.now),
    };
    let now = model.review.request().range;
    let item = |label: String, note: String, group: &'static str, pick: ChooserAction| Item {
        note: if pick == ChooserAction::Compare(now) { format!("{note}  now").trim_start().to_owned() } else { note },
        label,
        also: String::new(),
        group: Some(group),
        pick,
    };
    let mut items = vec![
        item("all changes of the task".to_owned(), String::new(), "Compare", ChooserAction::Compare(DiffRange::Base)),
        item(
            "all since the conversation began".to_owned(),
            String::new(),
            "Compare",
            ChooserAction::Compare(DiffRange::Conversation),
        ),
        item(
            "new since your last review".to_owned(),
            String::new(),
            "Compare",
            ChooserAction::Compare(DiffRange::SinceReview),
        ),
    ];
    let changing: Vec<&TurnView> = turns.iter().filter(|turn| turn.changed).collect();
    let time = |turn: &TurnView| crate::ui::labels::time_of_day(turn.at, cx.zone);
    for turn in changing.iter().rev() {
        let pick = ChooserAction::Compare(DiffRange::Turn { turn: turn.turn });
        items.push(item(review::turn_words(turn), time(turn), "One turn", pick));
    }
    // A turn with one edit is listed as that turn.
    for turn in changing.iter().rev().filter(|turn| turn.edits.len() > 1) {
        for edit in &turn.edits {
            let pick = ChooserAction::Compare(DiffRange::Edit { turn: turn.turn, number: edit.number });
            items.push(item(format!("turn {}, {edit}", turn.number), time(turn), "One edit", pick));
        }
    }
    for turn in changing.iter().rev() {
        let pick = ChooserAction::CompareFrom(turn.turn);
        items.push(item(format!("after {}, up to …", review::turn_words(turn)), time(turn), "Between two turns", pick));
    }
    model.turns = turns;
    model.layers.push(Layer::Choose(Chooser::new("compare", "what to compare?", items)));
}

/// Opens the list of the second turn to compare.
pub fn open_compare_to(model: &mut Model, from: crate::base::TurnId, cx: &Cx<'_>) {
    let number = model.turns.iter().find(|turn| turn.turn == from).map_or(0, |turn| turn.number);
    let mut items = vec![Item {
        label: "now".to_owned(),
        also: String::new(),
        note: String::new(),
        group: None,
        pick: ChooserAction::Compare(DiffRange::Since { turn: from }),
    }];
    let later = model.turns.iter().rev().filter(|turn| turn.changed && turn.number > number);
    items.extend(later.map(|turn| Item {
        label: review::turn_words(turn),
        also: String::new(),
        note: crate::ui::labels::time_of_day(turn.at, cx.zone),
        group: None,
        pick: ChooserAction::Compare(DiffRange::Between { from, to: turn.turn }),
    }));
    model.layers.push(Layer::Choose(Chooser::new("compare up to", "up to which turn?", items)));
}

/// Goes to the next match.
pub fn find(model: &mut Model, forward: bool, cx: &Cx<'_>) {
    let needle = model.detail.search.shown().to_lowercase();
    if needle.is_empty() {
        return;
    }
    let (layout, height) = layout(model, cx.theme.glyphs);
    if !model.review.find(&needle, forward, &layout, height) {
        model.toasts.say(Level::Info, "Not found", cx.now);
    }
}

/// Handles a click on the review.
pub fn click(model: &mut Model, at: Position, cx: &Cx<'_>) {
    let whole = reconcile::detail_area(model);
    if let Some(mark) = review::file_at(&model.review, whole, at) {
        return go_to_file(model, mark.file, cx);
    }
    let list = area(model);
    if !list.contains(at) {
        return;
    }
    let (layout, height) = layout(model, cx.theme.glyphs);
    let before = model.review.cursor();
    model.review.point_at(usize::from(at.y - list.y), &layout, height);
    let again = model.review.cursor() == before;
    if again && matches!(before.place, Place::Name | Place::Head(_)) {
        model.review.toggle(&layout);
    }
}

/// Stops writing or selecting. Returns true if there was something to stop.
pub fn back(model: &mut Model) -> bool {
    if model.review.is_writing() {
        model.review.finish_writing();
        return true;
    }
    model.review.stop_select()
}

/// Moves the cursor between the rows of the comment being written.
pub fn move_vertically(model: &mut Model, by: isize) {
    let width = review::State::text_width(usize::from(area(model).width));
    if let Some(field) = model.review.field() {
        field.move_row(by, width);
    }
}

pub fn open_editor(model: &mut Model, out: &mut Out) {
    let task = model.selected();
    let Some(field) = model.review.field() else { return };
    out.effect(Effect::OpenEditor { purpose: EditPurpose::Comment(task), text: field.content() });
}
