//! The questions as rows: two lines each, and the open one in full with its choices.

use crate::base::{AskId, TaskId, sanitize, text};
use crate::model::Ask;
use crate::model::ask::{AskKind, Given};
use crate::text::markdown;
use crate::text::wrap::{self, Break};
use crate::text::{Page, Row, Span, width};
use crate::theme::{Glyphs, Role};
use crate::ui::asks::State;
use crate::ui::msg::Cx;
use crate::ui::words;
use crate::ui::world::World;

/// The most rows that the details of a question take; the transcript has all of them.
const DETAIL_ROWS: usize = 12;

/// A row and what it belongs to.
#[derive(Clone, Debug)]
pub struct AskRow {
    pub ask: AskId,
    pub row: Row,
    /// Set on the row with the cursor: the column it is at.
    pub cursor: Option<usize>,
    /// Set on the row of a choice.
    pub choice: Option<usize>,
}

/// Returns all rows in `columns`.
pub fn rows(state: &State, world: &World, cx: &Cx<'_>, columns: usize) -> Vec<AskRow> {
    let mut out = Vec::new();
    for (task, id) in state.items() {
        let Some(ask) = world.task(*task).and_then(|view| view.asks.iter().find(|ask| ask.id == *id)) else { continue };
        let open = state.is_open() && state.chosen().is_some_and(|(_, chosen)| chosen == *id);
        let from = out.len();
        head(state, world, cx, *task, ask, columns, &mut out);
        if open {
            body(state, cx, ask, columns, &mut out);
        } else if !state.is_later(*id) {
            let question = brief(ask);
            let room = columns.saturating_sub(4);
            let shown = width::truncate(&question, room, width::Cut::End, cx.theme.glyphs.ellipsis).into_owned();
            out.push(plain(ask.id, Row::new(vec![Span::decoration("   ", Role::Text), Span::new(shown, Role::Muted)])));
        }
        debug_assert!(out.len() > from);
    }
    out
}

/// Returns a question in one line. What agents write is Markdown; everything else is as it stands.
pub fn brief(ask: &Ask) -> String {
    if ask.kind() == AskKind::Clarify {
        markdown::words(&ask.question)
    } else {
        sanitize::line(&ask.question).into_owned()
    }
}

fn plain(ask: AskId, row: Row) -> AskRow {
    AskRow { ask, row, cursor: None, choice: None }
}

fn head(state: &State, world: &World, cx: &Cx<'_>, task: TaskId, ask: &Ask, columns: usize, out: &mut Vec<AskRow>) {
    let glyphs = cx.theme.glyphs;
    let later = state.is_later(ask.id);
    let note = if state.is_sent(ask.id) {
        "sent".to_owned()
    } else if later {
        "later".to_owned()
    } else if let Some(deadline) = ask.deadline {
        words::remaining(deadline, cx.now)
    } else {
        words::ask_subject(&ask.subject).to_owned()
    };
    let room = columns.saturating_sub(5 + width::of(&note));
    let title = world.title(task);
    let title = width::truncate(&title, room, width::Cut::End, glyphs.ellipsis).into_owned();
    let gap = columns.saturating_sub(4 + width::of(&title) + width::of(&note));
    let (sign, strong) = if later { (Role::Faint, Role::Faint) } else { (Role::Ask, Role::Strong) };
    out.push(plain(
        ask.id,
        Row::new(vec![
            Span::decoration(" ", Role::Text),
            Span::decoration(glyphs.ask, sign),
            Span::decoration(" ", Role::Text),
            Span::new(title, strong),
            Span::decoration(" ".repeat(gap), Role::Text),
            Span::decoration(note, Role::Faint),
        ]),
    ));
}

fn body(state: &State, cx: &Cx<'_>, ask: &Ask, columns: usize, out: &mut Vec<AskRow>) {
    let indent = [Span::decoration("   ", Role::Text)];
    let room = columns.saturating_sub(1);
    let paragraph = |text: &str, role: Role| {
        let visible = width::visible(text);
        let lines = visible.lines().map(|line| vec![Span::new(line.to_owned(), role)]);
        lines.flat_map(|line| wrap::spans(&line, room, &indent, &indent, Break::Words)).collect::<Vec<_>>()
    };
    // What agents write is Markdown; everything else is as it stands.
    let prose = |text: &str| {
        let rows = markdown::render(text, Page::new(room.saturating_sub(3), cx.theme.glyphs));
        let indented = |row: Row| Row { spans: indent.iter().cloned().chain(row.spans).collect(), ..row };
        rows.into_iter().map(indented).collect::<Vec<_>>()
    };
    let is_prose = ask.kind() == AskKind::Clarify;
    let question = if is_prose { prose(&ask.question) } else { paragraph(&ask.question, Role::Text) };
    out.extend(question.into_iter().map(|row| plain(ask.id, row)));
    let detail = ask.detail.trim();
    let detail = if is_prose { prose(detail) } else { paragraph(detail, Role::Muted) };
    if is_prose && !detail.is_empty() {
        out.push(plain(ask.id, Row::blank()));
    }
    let hidden = detail.len().saturating_sub(DETAIL_ROWS);
    out.extend(detail.into_iter().take(DETAIL_ROWS).map(|row| plain(ask.id, row)));
    if hidden > 0 {
        let more =
            format!("   {} {} more in the transcript", cx.theme.glyphs.ellipsis, text::count(hidden, "line", "lines"));
        out.push(plain(ask.id, Row::of(more, Role::Faint)));
    }
    if is_prose && !ask.detail.trim().is_empty() && !ask.choices.is_empty() {
        out.push(plain(ask.id, Row::blank()));
    }
    for (number, choice) in ask.choices.iter().enumerate() {
        let default = ask.default.as_ref().is_some_and(|default| *default == Given::Choice(choice.id.clone()));
        let key = if number < 9 { format!("{}", number + 1) } else { " ".to_owned() };
        let first = [Span::decoration(format!("   {key} "), Role::Key)];
        let rest = [Span::decoration("     ", Role::Text)];
        let mut line = vec![Span::new(width::visible(&choice.label).into_owned(), Role::Text)];
        if default {
            line.push(Span::decoration(" (default)", Role::Faint));
        }
        for row in wrap::spans(&line, room, &first, &rest, Break::Words) {
            out.push(AskRow { ask: ask.id, row, cursor: None, choice: Some(number) });
        }
    }
    answer(state, cx.theme.glyphs, ask.id, columns, out);
}

fn answer(state: &State, glyphs: &Glyphs, id: AskId, columns: usize, out: &mut Vec<AskRow>) {
    let draft = state.draft(id).filter(|draft| state.is_writing() || !draft.is_empty());
    let Some(draft) = draft else {
        let words = if state.is_writing() { "" } else { "or in your own words" };
        let mut row = Row::new(vec![
            Span::decoration(format!("   {} ", glyphs.prompt), Role::Faint),
            Span::decoration(words, Role::Placeholder),
        ]);
        row.ground = None;
        out.push(AskRow { ask: id, row, cursor: state.is_writing().then_some(5), choice: None });
        return;
    };
    let room = columns.saturating_sub(7).max(1);
    let rows = draft.rows(room);
    let (cursor_row, column) = rows.place(draft.shown(), draft.cursor());
    for (number, range) in rows.iter().enumerate() {
        let prompt = if number == 0 { glyphs.prompt } else { " " };
        let shown = draft.shown()[range.clone()].trim_end_matches('\n').replace('\t', " ");
        let row = Row::new(vec![
            Span::decoration(format!("   {prompt} "), Role::Accent),
            Span::new(width::visible(&shown).into_owned(), Role::Text),
        ]);
        let cursor = (state.is_writing() && number == cursor_row).then_some(5 + column);
        out.push(AskRow { ask: id, row, cursor, choice: None });
    }
}

#[cfg(test)]
#[path = "rows_tests.rs"]
mod tests;
