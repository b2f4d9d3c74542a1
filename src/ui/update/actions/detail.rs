//! Actions on the detail pane.

use ratatui::layout::Position;

use crate::base::{AskId, EventId, MessageId, TaskId};
use crate::engine::command::Command;
use crate::engine::update::Level;
use crate::text::Row;
use crate::ui::action::Action;
use crate::ui::detail::{Tab, page_rows};
use crate::ui::effect::Effect;
use crate::ui::field::Field;
use crate::ui::model::{Model, PendingReply};
use crate::ui::msg::Cx;
use crate::ui::transcript::{Direction, EntryId, EntryKind, JumpTarget, Page, SearchProgress, Transcript};
use crate::ui::update::actions::Movement;
use crate::ui::update::{Out, actions, reconcile};

/// Calls `with` with the visible transcript, its layout parameters and its height.
fn with_transcript<T>(model: &mut Model, cx: &Cx<'_>, with: impl FnOnce(&mut Transcript, &Page<'_>, usize) -> T) -> T {
    let area = reconcile::area_of(model, Tab::Transcript);
    let page = Page { width: usize::from(area.width), unfolded: false, glyphs: cx.theme.glyphs, zone: cx.zone };
    let task = model.selected();
    with(model.detail.open_transcript(task), &page, usize::from(area.height).max(1))
}

/// Goes to the entry of an event.
pub fn go_to_event(model: &mut Model, event: EventId, cx: &Cx<'_>) {
    let found = with_transcript(model, cx, |it, page, height| it.go_to_event(event, page, height));
    if !found {
        model.toasts.say(Level::Info, "The event is not in the transcript", cx.now);
    }
}

pub fn step(model: &mut Model, step: Movement, cx: &Cx<'_>) {
    let area = reconcile::detail_area(model);
    let height = usize::from(area.height).max(1);
    match model.detail.tab {
        Tab::Transcript => with_transcript(model, cx, |transcript, page, height| {
            if transcript.is_selecting() {
                return transcript.extend_select(step.rows(height), page, height);
            }
            match step {
                Movement::Start => transcript.go_to_top(page, height),
                Movement::End => transcript.follow(),
                Movement::Rows(_) | Movement::Pages(_) => transcript.scroll(step.rows(height), page, height),
            }
        }),
        Tab::Diff => actions::review::step(model, step, cx),
        Tab::Description | Tab::Info | Tab::Log => {
            let task = model.project.task(model.tree.selected());
            let rows = task.map(|task| {
                page_rows(&model.detail, model.detail.tab, task, &model.project, cx, usize::from(area.width)).len()
            });
            model.detail.scroll(step.rows(height), rows.unwrap_or(0), height);
        }
    }
}

pub fn act(model: &mut Model, action: Action, cx: &Cx<'_>, out: &mut Out) {
    match model.detail.tab {
        Tab::Transcript => on_transcript(model, action, cx, out),
        Tab::Diff => on_diff(model, action, cx, out),
        Tab::Description | Tab::Info | Tab::Log => on_page(model, action, cx, out),
    }
}

fn jump(model: &mut Model, target: JumpTarget, direction: Direction, cx: &Cx<'_>) {
    let found = with_transcript(model, cx, |it, page, height| it.jump(target, direction, page, height));
    if !found && target != JumpTarget::Entry {
        let more = with_transcript(model, cx, |it, _, _| it.has_more() && direction == Direction::Backward);
        let words =
            if more { "Not in the loaded part. Scroll up to load more." } else { "No more entries of this kind" };
        model.toasts.say(Level::Info, words, cx.now);
    }
}

fn on_transcript(model: &mut Model, action: Action, cx: &Cx<'_>, out: &mut Out) {
    use Direction::{Backward, Forward};
    match action {
        Action::NextEntry => jump(model, JumpTarget::Entry, Forward, cx),
        Action::PreviousEntry => jump(model, JumpTarget::Entry, Backward, cx),
        Action::NextTurn => jump(model, JumpTarget::Turn, Forward, cx),
        Action::PreviousTurn => jump(model, JumpTarget::Turn, Backward, cx),
        Action::NextError => jump(model, JumpTarget::Error, Forward, cx),
        Action::PreviousError => jump(model, JumpTarget::Error, Backward, cx),
        Action::NextUserMessage => jump(model, JumpTarget::UserMessage, Forward, cx),
        Action::PreviousUserMessage => jump(model, JumpTarget::UserMessage, Backward, cx),
        Action::UnfoldEntry | Action::FoldToggle => {
            // A pending question opens in the asks pane.
            match with_transcript(model, cx, pending_ask) {
                Some(ask) if model.project.ask(ask).is_some() => actions::asks::open(model, ask),
                Some(_) | None => drop(with_transcript(model, cx, Transcript::toggle)),
            }
        }
        Action::UnfoldAll => with_transcript(model, cx, |it, _, _| it.unfold_all()),
        Action::FoldAll => with_transcript(model, cx, |it, _, _| it.fold_all()),
        Action::Follow => with_transcript(model, cx, |it, _, _| it.follow()),
        Action::Search => with_transcript(model, cx, |it, _, _| {
            it.search_mut().writing = true;
            it.search_mut().field = Field::default();
        }),
        Action::SearchNext => find(model, Forward, cx),
        Action::SearchPrevious => find(model, Backward, cx),
        Action::CopyEntry => {
            let text = with_transcript(model, cx, |it, page, height| it.entry_text(page, height));
            copy(model, text, "entry", cx, out);
        }
        Action::CopyCode => {
            let text = with_transcript(model, cx, |it, page, height| it.entry_code(page, height));
            copy(model, text, "code", cx, out);
        }
        Action::SelectLines => with_transcript(model, cx, Transcript::start_select),
        Action::CopySelection => {
            let text = with_transcript(model, cx, |it, page, _| {
                let text = it.selected_text(page);
                it.stop_select();
                text
            });
            copy(model, text, "lines", cx, out);
        }
        Action::OpenPager => open_pager(model, cx, out),
        Action::Background => background(model, cx, out),
        _ => {}
    }
}

/// Returns the event of the current entry.
pub fn current_event(model: &mut Model, cx: &Cx<'_>) -> Option<EventId> {
    if model.detail.tab != Tab::Transcript {
        return None;
    }
    with_transcript(model, cx, |it, page, height| {
        let entry = it.current(page, height).and_then(|index| it.entry(index))?;
        entry.id.event()
    })
}

/// Returns the user message of the current entry, if it is one.
pub fn current_message(model: &mut Model, cx: &Cx<'_>) -> Option<MessageId> {
    with_transcript(model, cx, |it, page, height| {
        let entry = it.current(page, height).and_then(|index| it.entry(index))?;
        match &entry.kind {
            EntryKind::UserMessage { message, .. } => Some(*message),
            _ => None,
        }
    })
}

fn pending_ask(transcript: &mut Transcript, page: &Page<'_>, height: usize) -> Option<AskId> {
    let entry = transcript.current(page, height).and_then(|index| transcript.entry(index))?;
    match &entry.kind {
        EntryKind::Ask { ask, answer: None, withdrawn: None } => Some(ask.id),
        _ => None,
    }
}

pub fn copy(model: &mut Model, text: Option<String>, what: &str, cx: &Cx<'_>, out: &mut Out) {
    match text.filter(|text| !text.is_empty()) {
        Some(text) => {
            let size = crate::base::text::size(text.len() as u64);
            out.effect(Effect::Copy { text });
            model.toasts.say(Level::Info, format!("Copied {what} ({size})"), cx.now);
        }
        None => model.toasts.say(Level::Info, format!("No {what} to copy here"), cx.now),
    }
}

/// Opens the current entry in the pager if it is selected or cut, else the whole transcript.
fn open_pager(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    let task = model.selected();
    let title = model.project.title(task);
    let blob = with_transcript(model, cx, |it, page, height| {
        let entry = it.current(page, height).and_then(|index| it.entry(index))?;
        match (&entry.kind, entry.id) {
            (EntryKind::Tool(tool), EntryId::Event(event)) => tool.blob().map(|blob| (event, blob.clone())),
            _ => None,
        }
    });
    if let Some((event, blob)) = blob {
        out.effect(Effect::LoadBlob { task, event, blob });
        return model.toasts.say(Level::Info, "Loading the full output. Press again to open it.", cx.now);
    }
    let (entry, whole) = with_transcript(model, cx, |it, page, height| {
        let chosen = it.has_cursor().then(|| it.entry_text(page, height)).flatten();
        (chosen, it.whole_text())
    });
    out.effect(Effect::OpenPager { title, text: entry.unwrap_or(whole) });
}

fn background(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    let task = model.selected();
    let running = with_transcript(model, cx, |it, _, _| {
        it.entries().rev().find_map(|entry| match &entry.kind {
            EntryKind::Tool(tool) if tool.result.is_none() => Some(tool.call.clone()),
            _ => None,
        })
    });
    match running {
        Some(call) => out.command(model, Command::Background { task, call }, PendingReply::Plain(None), cx),
        None => model.toasts.say(Level::Info, "No command is running", cx.now),
    }
}

fn find(model: &mut Model, direction: Direction, cx: &Cx<'_>) {
    let progress = with_transcript(model, cx, |it, page, height| it.find(direction, page, height));
    report_search(model, progress, cx);
}

/// Continues a running search, then counts the matches. Returns true if the result has changed.
pub fn continue_search(model: &mut Model, cx: &Cx<'_>) -> bool {
    if !with_transcript(model, cx, |it, _, _| it.search().is_running()) {
        return with_transcript(model, cx, |it, page, _| it.count_next_chunk(page));
    }
    let progress = with_transcript(model, cx, Transcript::continue_search);
    report_search(model, progress, cx);
    progress != SearchProgress::Pending
}

/// Restarts the match count if it is out of date.
pub fn check_count(model: &mut Model, cx: &Cx<'_>) {
    let task = model.selected();
    let searched = model.detail.transcript(task).is_some_and(|it| it.search().is_written());
    if searched && model.detail.tab == Tab::Transcript {
        with_transcript(model, cx, |it, page, _| it.check_count(page));
    }
}

fn report_search(model: &mut Model, progress: SearchProgress, cx: &Cx<'_>) {
    if progress == SearchProgress::NotFound {
        let (none, more) = with_transcript(model, cx, |it, _, _| (it.search().field.is_empty(), it.has_more()));
        let words = match (none, more) {
            (true, _) => "No search text",
            (false, true) => "Not found in the loaded part. Scroll up to load more.",
            (false, false) => "Not found",
        };
        model.toasts.say(Level::Info, words, cx.now);
    }
}

/// Starts the typed search. In follow mode it searches upwards, since the newest entry is at the end.
pub fn accept_search(model: &mut Model, cx: &Cx<'_>) {
    if model.detail.tab != Tab::Transcript {
        model.detail.searching = false;
        return page_find(model, Direction::Forward, cx);
    }
    with_transcript(model, cx, |it, _, _| it.search_mut().writing = false);
    let following = with_transcript(model, cx, |it, _, _| it.is_following());
    find(model, if following { Direction::Backward } else { Direction::Forward }, cx);
}

/// Selects the clicked entry, or unfolds it if it is selected already.
pub fn click(model: &mut Model, at: Position, cx: &Cx<'_>) {
    let row = usize::from(at.y.saturating_sub(model.layout.of(model.detail.tab == Tab::Transcript).y));
    if model.detail.tab == Tab::Diff {
        return actions::review::click(model, at, cx);
    }
    if model.detail.tab == Tab::Transcript {
        with_transcript(model, cx, |it, page, height| {
            if it.point_at(row, page, height) {
                it.toggle(page, height);
            }
        });
    }
}

/// Cancels the search or selection in this pane. Returns true if there was one.
pub fn back(model: &mut Model) -> bool {
    if model.detail.tab == Tab::Diff && actions::review::back(model) {
        return true;
    }
    if model.detail.searching || !model.detail.search.is_empty() {
        model.detail.searching = false;
        model.detail.search = Field::default();
        return true;
    }
    let task = model.selected();
    let Some(transcript) = model.detail.transcript_mut(task) else { return false };
    if transcript.is_selecting() {
        transcript.stop_select();
        return true;
    }
    let search = transcript.search_mut();
    let had = search.writing || !search.field.is_empty();
    search.writing = false;
    search.field = Field::default();
    search.current = None;
    had
}

pub fn related_task(model: &mut Model, cx: &Cx<'_>) -> Option<TaskId> {
    if model.detail.tab != Tab::Transcript {
        return None;
    }
    with_transcript(model, cx, |it, page, height| {
        let entry = it.current(page, height).and_then(|index| it.entry(index))?;
        entry.kind.related_task()
    })
}

fn on_diff(model: &mut Model, action: Action, cx: &Cx<'_>, out: &mut Out) {
    match action {
        Action::Search | Action::SearchNext | Action::SearchPrevious => page_search(model, action, cx),
        _ => actions::review::act(model, action, cx, out),
    }
}

fn on_page(model: &mut Model, action: Action, cx: &Cx<'_>, out: &mut Out) {
    let columns = usize::from(reconcile::detail_area(model).width);
    match action {
        Action::CopyEntry | Action::OpenPager => {
            let Some(task) = model.project.task(model.tree.selected()) else { return };
            let text = match model.detail.tab {
                Tab::Description => task.node.description.clone(),
                Tab::Transcript | Tab::Diff | Tab::Info | Tab::Log => crate::text::row::copied(&page_rows(
                    &model.detail,
                    model.detail.tab,
                    task,
                    &model.project,
                    cx,
                    columns,
                )),
            };
            if action == Action::CopyEntry {
                copy(model, Some(text), model.detail.tab.word(), cx, out);
            } else {
                let title = model.project.title(model.selected());
                out.effect(Effect::OpenPager { title, text });
            }
        }
        Action::Search | Action::SearchNext | Action::SearchPrevious => page_search(model, action, cx),
        _ => {}
    }
}

fn page_search(model: &mut Model, action: Action, cx: &Cx<'_>) {
    match action {
        Action::SearchNext => page_find(model, Direction::Forward, cx),
        Action::SearchPrevious => page_find(model, Direction::Backward, cx),
        _ => {
            model.detail.searching = true;
            model.detail.search = Field::default();
        }
    }
}

/// Goes to the next matching row of a page.
fn page_find(model: &mut Model, direction: Direction, cx: &Cx<'_>) {
    let area = reconcile::detail_area(model);
    let (columns, height) = (usize::from(area.width), usize::from(area.height).max(1));
    let needle = model.detail.search.shown().to_ascii_lowercase();
    if model.detail.tab == Tab::Diff {
        return actions::review::find(model, direction == Direction::Forward, cx);
    }
    let Some(task) = model.project.task(model.tree.selected()).filter(|_| !needle.is_empty()) else { return };
    let rows: Vec<String> =
        page_rows(&model.detail, model.detail.tab, task, &model.project, cx, columns).iter().map(Row::shown).collect();
    let top = &mut model.detail.top;
    let from = (*top).min(rows.len());
    let holds = |at: &usize| rows[*at].to_ascii_lowercase().contains(&needle);
    let found = match direction {
        Direction::Forward => (from + 1..rows.len()).chain(0..(from + 1).min(rows.len())).find(holds),
        Direction::Backward => (0..from).rev().chain((0..rows.len()).rev()).find(holds),
    };
    match found {
        Some(row) => *top = row.min(rows.len().saturating_sub(height)),
        None => model.toasts.say(Level::Info, "Not found", cx.now),
    }
}
