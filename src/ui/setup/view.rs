//! Draws the set-up: what was found, the question of the page, the keys.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use crate::base::sanitize;
use crate::text::wrap::{self, Break};
use crate::text::{self as words, width};
use crate::theme::Role;
use crate::ui::draw;
use crate::ui::field::Field;
use crate::ui::msg::Cx;
use crate::ui::setup::{INTRODUCTION, SetupPage, State};

/// The maximum size of the page.
const COLUMNS: u16 = 88;
const ROWS: u16 = 24;
/// The minimum size of a readable page.
const MIN_SIZE: (u16, u16) = (30, 10);

pub fn view(state: &State, cx: &Cx<'_>, frame: &mut Frame<'_>) {
    let screen = frame.area();
    let theme = cx.theme;
    draw::clear(frame.buffer_mut(), screen, theme, Role::Background);
    if screen.width < MIN_SIZE.0 || screen.height < MIN_SIZE.1 {
        let words = format!("Terminal too small ({}x{}). Ctrl-C: quit", screen.width, screen.height);
        return Sheet { buffer: frame.buffer_mut(), area: screen, y: 0, cx }.text(&words, Role::Text);
    }
    let wide = COLUMNS.min(screen.width);
    let high = ROWS.min(screen.height - 1);
    let (x, y) = (screen.x + (screen.width - wide) / 2, screen.y + (screen.height - 1 - high) / 3);
    let area = Rect { x, y, width: wide, height: high };
    let title = Line::from("Matrix: set up");
    let step = match state.step() {
        (_, ..=1) => Line::default(),
        (step, steps) => Line::from(format!("step {step} of {steps}")),
    };
    let inner = draw::frame(frame.buffer_mut(), area, theme, &title, &step);
    let mut page = Sheet {
        buffer: frame.buffer_mut(),
        area: Rect { x: inner.x + 2, width: inner.width.saturating_sub(4), ..inner },
        y: 1,
        cx,
    };
    let cursor = body(state, &mut page);
    keys(state, cx, Rect { y: screen.bottom() - 1, height: 1, ..screen }, frame.buffer_mut());
    if let Some(cursor) = cursor {
        frame.set_cursor_position(cursor);
    }
}

struct Sheet<'a, 'b> {
    buffer: &'a mut Buffer,
    area: Rect,
    y: u16,
    cx: &'a Cx<'b>,
}

impl Sheet<'_, '_> {
    /// Writes wrapped text.
    fn text(&mut self, text: &str, role: Role) {
        let text = sanitize::line(text).into_owned();
        let spans = [words::Span::new(text, role)];
        for row in wrap::spans(&spans, usize::from(self.area.width).max(1), &[], &[], Break::Words) {
            if self.y < self.area.height {
                draw::line(self.buffer, self.area, self.y, &row.line(self.cx.theme));
            }
            self.y += 1;
        }
    }

    fn gap(&mut self) {
        self.y += 1;
    }

    /// Writes a line that can be selected, with its note in a column of its own.
    fn option(&mut self, label: &str, columns: usize, note: &str, chosen: bool) {
        let label = width::pad(&sanitize::line(label), columns, width::Align::Left, self.cx.theme.glyphs.ellipsis);
        if self.y >= self.area.height {
            return;
        }
        let theme = self.cx.theme;
        let row = Rect { y: self.area.y + self.y, height: 1, ..self.area };
        let end = draw::text(self.buffer, row, (1, 0), &label, theme.style(Role::Text));
        let note = draw::fit(&sanitize::line(note), usize::from(row.right().saturating_sub(end + 3)), theme.glyphs)
            .into_owned();
        draw::text(self.buffer, row, (end - row.x + 2, 0), &note, theme.style(Role::Muted));
        if chosen {
            draw::tint(self.buffer, row, theme.style(Role::Selection));
        }
        self.y += 1;
    }

    /// Writes a line that can be selected.
    fn choice(&mut self, label: &str, note: &str, chosen: bool) {
        if self.y >= self.area.height {
            return;
        }
        let theme = self.cx.theme;
        let row = Rect { y: self.area.y + self.y, height: 1, ..self.area };
        let label = draw::fit(&sanitize::line(label), usize::from(row.width) * 3 / 5, theme.glyphs).into_owned();
        let end = draw::text(self.buffer, row, (1, 0), &label, theme.style(Role::Text));
        let room = usize::from(row.right().saturating_sub(end + 3));
        let note = draw::fit(&sanitize::line(note), room, theme.glyphs).into_owned();
        draw::right(self.buffer, row, 0, &note, theme.style(Role::Muted));
        if chosen {
            draw::tint(self.buffer, row, theme.style(Role::Selection));
        }
        self.y += 1;
    }

    /// Writes a text input. Returns the cursor position.
    fn input(&mut self, before: &str, after: &str, placeholder: &str) -> Option<Position> {
        if self.y >= self.area.height {
            return None;
        }
        let theme = self.cx.theme;
        let row = Rect { y: self.area.y + self.y, height: 1, ..self.area };
        self.y += 1;
        let x = draw::text(self.buffer, row, (0, 0), &format!("{} ", theme.glyphs.prompt), theme.style(Role::Accent));
        let inner = Rect { x, width: row.right().saturating_sub(x), ..row };
        if before.is_empty() && after.is_empty() {
            draw::text(self.buffer, inner, (0, 0), placeholder, theme.style(Role::Placeholder));
            return Some(Position::new(inner.x, inner.y));
        }
        let shown = width::suffix(before, usize::from(inner.width).saturating_sub(1)).0.to_owned();
        draw::text(self.buffer, inner, (0, 0), &format!("{shown}{after}"), theme.style(Role::Text));
        Some(Position::new(inner.x + u16::try_from(width::of(&shown)).unwrap_or(0), inner.y))
    }

    fn field(&mut self, field: &Field, placeholder: &str) -> Option<Position> {
        let (before, after) = field.shown().split_at(field.cursor());
        self.input(&width::visible(before), &width::visible(after), placeholder)
    }
}

fn body(state: &State, page: &mut Sheet<'_, '_>) -> Option<Position> {
    if matches!(state.page, SetupPage::Repository | SetupPage::Connections) {
        page.text(INTRODUCTION, Role::Text);
        page.gap();
    }
    if state.page == SetupPage::Connections && !state.start.found.is_empty() {
        state.start.found.iter().for_each(|line| page.text(line, Role::Muted));
        page.gap();
    }
    let (title, note) = state.heading();
    page.text(&title, Role::Strong);
    if let Some(note) = note {
        page.text(&note, Role::Muted);
    }
    let cursor = match state.page {
        SetupPage::Repository => {
            page.gap();
            let does = if state.has_repository() { "Enter: create an empty commit" } else { "Enter: run `git init`" };
            page.text(&format!("{does}, Esc: quit and change nothing"), Role::Text);
            None
        }
        SetupPage::Connections => {
            page.gap();
            let columns = state.start.connections.iter().map(|way| width::of(&way.label)).max().unwrap_or(0).min(32);
            for (at, way) in state.start.connections.iter().enumerate() {
                page.option(&way.label, columns, &way.note, at == state.cursor.chosen);
            }
            page.gap();
            page.text("No key? Press Tab to skip, and run `mxd demo` to watch a complete run offline.", Role::Muted);
            None
        }
        SetupPage::Address => page.field(&state.address, "http://"),
        SetupPage::Key => {
            let masked = "*".repeat(state.key.expose().chars().count().min(200));
            page.input(&masked, "", "paste the key here")
        }
        SetupPage::Models => models(state, page),
        SetupPage::Budget => page.field(&state.budget, "leave empty for no limit"),
    };
    page.gap();
    match (&state.problem, state.busy) {
        (_, true) => page.text(if state.page == SetupPage::Repository { "creating…" } else { "testing…" }, Role::Muted),
        (Some(problem), false) => page.text(problem, Role::Error),
        (None, false) => {}
    }
    cursor
}

fn models(state: &State, page: &mut Sheet<'_, '_>) -> Option<Position> {
    let unlisted = state.available.models.is_empty();
    let placeholder = if unlisted { "model name" } else { "type to filter, or enter a model name" };
    let cursor = page.field(&state.filter, placeholder);
    let found: Vec<_> = state.models().collect();
    let room = usize::from(page.area.height.saturating_sub(page.y + 2)).max(1);
    let top = (state.cursor.chosen + 1).saturating_sub(room);
    for (at, model) in found.iter().enumerate().skip(top).take(room) {
        page.choice(&model.id, &model.note, at == state.cursor.chosen);
    }
    if found.is_empty() && !unlisted {
        page.text("no match; the name you typed will be used", Role::Muted);
    }
    cursor
}

fn keys(state: &State, cx: &Cx<'_>, area: Rect, buffer: &mut Buffer) {
    let theme = cx.theme;
    draw::tint(buffer, area, theme.style(Role::Footer));
    let back = if state.busy && state.page != SetupPage::Repository { "cancel" } else { "back" };
    let next = match state.page {
        SetupPage::Repository if state.has_repository() => "commit",
        SetupPage::Repository => "git init",
        SetupPage::Connections | SetupPage::Address | SetupPage::Key | SetupPage::Models | SetupPage::Budget => "next",
    };
    let mut hints = vec![("Esc", back)];
    if !state.busy {
        hints.insert(0, ("Enter", next));
    }
    if state.page != SetupPage::Repository {
        hints.push(("Tab", "skip set-up"));
    }
    if state.lines() > 1 {
        hints.insert(0, ("Up Down", "choose"));
    }
    hints.push(("Ctrl-C", "quit"));
    let mut spans = vec![Span::raw(" ")];
    for (key, label) in hints {
        spans.push(Span::styled(key, theme.style(Role::Key)));
        spans.push(Span::styled(format!(" {label}  "), theme.style(Role::Footer)));
    }
    draw::line(buffer, area, 0, &Line::from(spans));
}
