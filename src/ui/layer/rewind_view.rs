//! Draws the rewind dialog: the turns, and beside or below them a preview of what would be undone.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::base::{sanitize, text};
use crate::engine::review::{RewindPreview, TurnView};
use crate::text::wrap::{self, Break};
use crate::text::{Row, Span, width};
use crate::theme::Role;
use crate::ui::draw;
use crate::ui::labels;
use crate::ui::layer::rewind::{self, RewindDialog};
use crate::ui::layer::view::open;
use crate::ui::model::Model;
use crate::ui::msg::Cx;

/// Minimum columns for the preview beside the turns.
const WIDE: u16 = 100;
/// How many items of a kind are listed; the next smaller number is used if there is less room.
const NAMED: [usize; 4] = [12, 4, 2, 1];

pub fn view(picker: &RewindDialog, model: &Model, cx: &Cx<'_>, screen: Rect, buffer: &mut Buffer) {
    let area = Rect { y: screen.y + 1, height: screen.height.saturating_sub(2), ..screen };
    let inner = open(area, &format!("rewind {}", model.project.title(picker.task)), cx, buffer);
    let (list, preview) = if inner.width >= WIDE {
        let wide = inner.width / 2;
        let right = Rect { x: inner.x + wide + 1, width: inner.width - wide - 1, ..inner };
        (Rect { width: wide, ..inner }, right)
    } else {
        let high = (inner.height / 2).min(u16::try_from(picker.len() + 1).unwrap_or(u16::MAX));
        let lower = Rect { y: inner.y + high, height: inner.height - high, ..inner };
        (Rect { height: high, ..inner }, lower)
    };
    turns(picker, cx, list, buffer);
    let text = Rect { x: preview.x + 2, width: preview.width.saturating_sub(3), ..preview };
    let rows = fit_rows(picker, usize::from(text.width), usize::from(text.height), cx);
    for (row, y) in rows.iter().zip(0..text.height) {
        draw::line(buffer, text, y, &row.line(cx.theme));
    }
}

/// Returns the preview in `height` rows. A small screen drops blank rows first, then item names; the kinds of changes
/// and what is not affected are always shown.
fn fit_rows(picker: &RewindDialog, room: usize, height: usize, cx: &Cx<'_>) -> Vec<Row> {
    let whole = rows(picker, room, NAMED[0]);
    if whole.len() <= height {
        return whole;
    }
    let without_air = |named: usize| {
        let mut rows = rows(picker, room, named);
        rows.retain(|row| !row.spans.is_empty());
        rows
    };
    let mut rows = NAMED.into_iter().map(without_air).find(|rows| rows.len() <= height);
    let rows = rows.get_or_insert_with(|| without_air(0));
    if rows.len() > height {
        let cut =
            format!("{} {} more", cx.theme.glyphs.ellipsis, text::count(rows.len() + 1 - height, "line", "lines"));
        rows.truncate(height.saturating_sub(1));
        rows.push(Row::of(cut, Role::Warn));
    }
    std::mem::take(rows)
}

fn turns(picker: &RewindDialog, cx: &Cx<'_>, area: Rect, buffer: &mut Buffer) {
    let theme = cx.theme;
    match &picker.turns {
        None => {
            draw::text(buffer, area, (2, 1), "Loading turns …", theme.style(Role::Muted));
            return;
        }
        Some(Err(problem)) => {
            draw::text(buffer, area, (2, 1), &sanitize::line(problem), theme.style(Role::Error));
            return;
        }
        Some(Ok(_)) => {}
    }
    let height = usize::from(area.height);
    let mut cursor = picker.cursor;
    cursor.top = cursor.chosen.saturating_sub(height / 2);
    cursor.clamp(picker.len(), height);
    for (at, y) in (cursor.top..picker.len()).zip(0..area.height) {
        let line = Rect { y: area.y + y, height: 1, ..area };
        let row = match picker.list().get(at) {
            Some(turn) => turn_row(turn, at == 0, cx, usize::from(area.width)),
            None => Row::of("     before the first turn", Role::Muted),
        };
        draw::line(buffer, line, 0, &row.line(theme));
        if at == picker.cursor.chosen {
            draw::tint(buffer, line, theme.style(Role::Selection));
        }
    }
    draw::scrollbar(buffer, area, theme, cursor.top, height, picker.len());
}

fn turn_row(turn: &TurnView, newest: bool, cx: &Cx<'_>, columns: usize) -> Row {
    let glyphs = cx.theme.glyphs;
    let text = sanitize::line(&turn.text).into_owned();
    let about = if text.trim().is_empty() { turn.calls.join(", ") } else { text };
    let mut row = Row::new(vec![
        Span::decoration(format!("{:>4} ", turn.number), Role::LineNumber),
        Span::decoration(format!("{} ", labels::time_of_day(turn.at, cx.zone)), Role::Muted),
        Span::decoration(if turn.changed { "± " } else { "  " }, Role::DiffPlus),
    ]);
    if !turn.prompt.is_empty() {
        let who = if turn.message.is_some() { Role::User } else { Role::Message };
        let prompt = text::headline(&sanitize::line(&turn.prompt), 40);
        row.push(Span::new(format!("{prompt} {} ", glyphs.arrow_right), who));
    }
    row.push(Span::new(about, Role::Text));
    if newest {
        row.truncate(columns.saturating_sub(7), glyphs.ellipsis);
        row.push(Span::decoration("  now", Role::Accent));
    }
    row.truncate(columns.saturating_sub(1), glyphs.ellipsis);
    row
}

fn rows(picker: &RewindDialog, room: usize, named: usize) -> Vec<Row> {
    let mut sheet = Sheet { rows: Vec::new(), room, named };
    let to = picker
        .chosen()
        .map_or_else(|| "before the first turn".to_owned(), |turn| format!("the end of turn {}", turn.number));
    sheet.say(&format!("Rewind to {to}: {}", rewind::scope_label(picker.extent)), "", Role::Strong);
    match picker.preview() {
        None if matches!(picker.turns, Some(Ok(_))) => sheet.say("Preparing the preview …", "", Role::Muted),
        None => {}
        Some(Err(problem)) => sheet.say(problem, "", Role::Error),
        Some(Ok(preview)) => undone(preview, &mut sheet),
    }
    sheet.rows
}

struct Sheet {
    rows: Vec<Row>,
    room: usize,
    /// How many items of a kind are listed.
    named: usize,
}

impl Sheet {
    fn say(&mut self, words: &str, indent: &'static str, role: Role) {
        for line in width::visible(words).lines() {
            let before = [Span::decoration(indent, Role::Text)];
            let line = [Span::new(line.to_owned(), role)];
            self.rows.extend(wrap::spans(&line, self.room, &before, &before, Break::Words));
        }
    }

    /// Adds a part with its item names.
    fn part(&mut self, words: &str, names: &[String], role: Role) {
        self.part_of(words, names, names.len(), role);
    }

    /// As [`Sheet::part`], for `count` items of which only some have names.
    fn part_of(&mut self, words: &str, names: &[String], count: usize, role: Role) {
        self.rows.push(Row::blank());
        self.say(words, "", role);
        let shown = names.len().min(self.named);
        names.iter().take(shown).for_each(|name| self.say(name, "  ", Role::Muted));
        if shown > 0 && count > shown {
            self.say(&format!("and {} more", count - shown), "  ", Role::Faint);
        }
    }
}

fn undone(preview: &RewindPreview, sheet: &mut Sheet) {
    let before = sheet.rows.len();
    if preview.turns > 0 {
        let words = text::count(
            preview.turns,
            "turn is removed from the conversation",
            "turns are removed from the conversation",
        );
        let read = text::count(preview.read, "message", "messages");
        let read = format!("including {read} that the agent has read");
        sheet.part(&words, if preview.read > 0 { std::slice::from_ref(&read) } else { &[] }, Role::Text);
    }
    let count = preview.files.len() + preview.hidden_files;
    if count > 0 {
        let names: Vec<String> = preview.files.iter().map(|file| file.path.clone()).collect();
        sheet.part_of(&text::count(count, "file is restored", "files are restored"), &names, count, Role::Text);
    }
    if !preview.commits.is_empty() {
        let line = |commit: &crate::engine::review::CommitLine| {
            let id: String = commit.id.chars().take(8).collect();
            format!("{id} {}", sanitize::line(&commit.subject))
        };
        let names: Vec<String> = preview.commits.iter().map(line).collect();
        sheet.part(
            &text::count(names.len(), "commit is removed from the branch", "commits are removed from the branch"),
            &names,
            Role::Text,
        );
    }
    if !preview.sent.is_empty() {
        let names: Vec<String> = preview.sent.iter().map(|words| text::headline(&sanitize::line(words), 100)).collect();
        let words = format!("Cannot be undone: {} sent", text::count(names.len(), "message was", "messages were"));
        sheet.part(&words, &names, Role::Warn);
    }
    if !preview.created.is_empty() {
        let names: Vec<String> = preview.created.iter().map(|task| sanitize::line(&task.title).into_owned()).collect();
        let words = format!("Cannot be undone: {} created", text::count(names.len(), "task was", "tasks were"));
        sheet.part(&words, &names, Role::Warn);
    }
    if !preview.stays.is_empty() {
        let named = std::mem::replace(&mut sheet.named, usize::MAX);
        sheet.part("Not affected", &preview.stays, Role::Text);
        sheet.named = named;
    }
    if sheet.rows.len() == before {
        sheet.part("Nothing would change.", &[], Role::Muted);
    }
}
