//! Draws the composer: why the task is stuck, queued messages, the text, and the delivery mode.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use crate::base::sanitize;
use crate::engine::snapshot::TaskView;
use crate::model::message::MessageSource;
use crate::text::wrap::{self, Break};
use crate::text::{Row, Span as Word, width};
use crate::theme::Role;
use crate::ui::composer::{Popup, State};
use crate::ui::draw;
use crate::ui::field::Field;
use crate::ui::labels;
use crate::ui::msg::Cx;

/// The columns before the text.
const PROMPT: usize = 3;
/// The columns around the delivery mode: a gap, the key glyph, the edge.
const CHIP: usize = 4;

/// Returns the rows that the composer needs in `columns`.
pub fn height(state: &State, task: Option<&TaskView>, stuck_reason: Option<&str>, columns: u16) -> u16 {
    let Some(task) = task else { return 1 };
    let empty = Field::default();
    let draft = state.draft(task.node.id);
    let field = draft.map_or(&empty, |draft| &draft.field);
    let rows = field.rows(text_width(columns, task, state)).len();
    let chips = usize::from(chip_row(state, task));
    u16::try_from(rows + chips + stuck_rows(stuck_reason, columns).len()).unwrap_or(u16::MAX)
}

/// Returns the columns available for the text.
pub fn text_width(columns: u16, task: &TaskView, state: &State) -> usize {
    usize::from(columns).saturating_sub(PROMPT + CHIP + width::of(&mode_label(task, state))).max(8)
}

fn mode_label(task: &TaskView, state: &State) -> String {
    if task.alive || task.is_working() {
        return labels::delivery(state.mode).to_owned();
    }
    // Without a running agent there is nothing to steer: the message starts or resumes it.
    if labels::has_begun(task) { "resume" } else { "start" }.to_owned()
}

fn stuck_rows(stuck_reason: Option<&str>, columns: u16) -> Vec<Row> {
    let Some(stuck_reason) = stuck_reason else { return Vec::new() };
    let words = [Word::new(width::visible(stuck_reason).into_owned(), Role::Warn)];
    wrap::spans(&words, usize::from(columns).saturating_sub(2).max(1), &[], &[], Break::Words)
}

/// Draws why the task is stuck, leaving at least one row for the text. Returns the rows it took.
fn draw_stuck(stuck_reason: Option<&str>, cx: &Cx<'_>, area: Rect, buffer: &mut Buffer) -> u16 {
    let mut rows = stuck_rows(stuck_reason, area.width);
    let spared = usize::from(area.height.saturating_sub(1));
    if rows.len() > spared {
        rows.truncate(spared);
        if let Some(last) = rows.last_mut() {
            last.push(Word::decoration(cx.theme.glyphs.ellipsis, Role::Warn));
            last.truncate(usize::from(area.width).saturating_sub(2), cx.theme.glyphs.ellipsis);
        }
    }
    let inner = Rect { x: area.x + 1, width: area.width.saturating_sub(1), ..area };
    for (row, y) in rows.iter().zip(0..area.height) {
        draw::line(buffer, inner, y, &row.line(cx.theme));
    }
    u16::try_from(rows.len()).unwrap_or(u16::MAX)
}

fn chip_row(state: &State, task: &TaskView) -> bool {
    let images = state.draft(task.node.id).is_some_and(|draft| !draft.images.is_empty());
    images || unread(task).next().is_some()
}

fn unread(task: &TaskView) -> impl Iterator<Item = &str> {
    task.unread.iter().filter(|message| message.from == MessageSource::User).map(|message| message.body.as_str())
}

/// Everything drawing needs besides the drafts.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    pub task: Option<&'a TaskView>,
    pub focused: bool,
    /// The key that withdraws a message.
    pub withdraw: &'a str,
    /// Whether the project is read-only, so nothing written here is sent.
    pub read_only: bool,
    /// The goal that Enter sends while nothing is written.
    pub suggestion: Option<&'a str>,
    /// Why the task is stuck, if it is.
    pub stuck_reason: Option<&'a str>,
}

/// Draws the composer into `area`. Returns the cursor position if the composer has the focus.
pub fn view(state: &State, with: &View<'_>, cx: &Cx<'_>, area: Rect, buffer: &mut Buffer) -> Option<Position> {
    let View { task, focused, .. } = *with;
    let task = task.filter(|_| !area.is_empty())?;
    let theme = cx.theme;
    let above = draw_stuck(with.stuck_reason, cx, area, buffer);
    let area = Rect { y: area.y + above, height: area.height - above, ..area };
    let chips = u16::from(chip_row(state, task) && area.height > 1);
    if chips > 0 {
        draw_chips(state, task, with.withdraw, cx, Rect { height: 1, ..area }, buffer);
    }
    let area = Rect { y: area.y + chips, height: area.height - chips, ..area };
    let sign = if focused { Role::Accent } else { Role::Faint };
    draw::text(buffer, area, (1, 0), theme.glyphs.prompt, theme.style(sign));
    if !with.read_only {
        draw_mode(state, task, cx, focused, area, buffer);
    }
    let room = text_width(area.width, task, state);
    let inner = Rect {
        x: area.x + 3,
        width: u16::try_from(room + 1).unwrap_or(u16::MAX).min(area.width.saturating_sub(3)),
        ..area
    };
    let empty = Field::default();
    let field = state.draft(task.node.id).map_or(&empty, |draft| &draft.field);
    if field.is_empty() {
        let words = if with.read_only {
            "Read-only: another mxd is running this project".to_owned()
        } else if let Some(suggestion) = with.suggestion {
            suggestion.to_owned()
        } else {
            format!("message {}{}", title(task), theme.glyphs.ellipsis)
        };
        let words = draw::fit(&words, room, theme.glyphs);
        draw::text(buffer, inner, (0, 0), &words, theme.style(Role::Placeholder));
        return focused.then_some(Position::new(inner.x, inner.y));
    }
    draw_field(field, cx, focused, room, inner, buffer)
}

fn title(task: &TaskView) -> String {
    let title = sanitize::line(&task.node.title).trim().to_owned();
    if title.is_empty() { "this task".to_owned() } else { title }
}

/// Draws a text of several lines and its cursor, the cursor's row always visible.
pub fn draw_field(
    field: &Field,
    cx: &Cx<'_>,
    focused: bool,
    room: usize,
    area: Rect,
    buffer: &mut Buffer,
) -> Option<Position> {
    let rows = field.rows(room);
    let (cursor_row, column) = rows.place(field.shown(), field.cursor());
    let height = usize::from(area.height);
    let top = (cursor_row + 1).saturating_sub(height);
    let blocks = field.block_ranges();
    for (range, y) in rows.iter().skip(top).zip(0..area.height) {
        let mut spans = Vec::new();
        let mut at = range.start;
        // A pasted block is shown as a chip.
        for block in blocks.iter().filter(|block| block.start < range.end && block.end > range.start) {
            let (from, to) = (block.start.max(range.start), block.end.min(range.end));
            spans.push(Span::styled(cell_text(&field.shown()[at..from]), cx.theme.style(Role::Text)));
            spans.push(Span::styled(cell_text(&field.shown()[from..to]), cx.theme.style(Role::Chip)));
            at = to;
        }
        spans.push(Span::styled(cell_text(&field.shown()[at..range.end]), cx.theme.style(Role::Text)));
        draw::line(buffer, area, y, &Line::from(spans));
    }
    let x = area.x + u16::try_from(column).unwrap_or(u16::MAX).min(area.width.saturating_sub(1));
    let y = area.y + u16::try_from(cursor_row - top.min(cursor_row)).unwrap_or(0).min(area.height.saturating_sub(1));
    focused.then_some(Position::new(x, y))
}

/// Returns text for cells: a tab becomes one space, a trailing line break is dropped.
fn cell_text(text: &str) -> String {
    let text = text.replace('\t', " ");
    width::visible(text.trim_end_matches('\n')).into_owned()
}

fn draw_mode(state: &State, task: &TaskView, cx: &Cx<'_>, focused: bool, area: Rect, buffer: &mut Buffer) {
    use crate::model::message::Delivery;
    let words = mode_label(task, state);
    let role = match (focused, state.mode) {
        (false, _) => Role::Faint,
        (true, Delivery::Interrupt) if words == "interrupt" => Role::Warn,
        (true, Delivery::Steer | Delivery::Next | Delivery::Interrupt) => Role::Muted,
    };
    let inner = Rect { width: area.width.saturating_sub(1), ..area };
    let text = format!("{words} {}", cx.theme.glyphs.enter);
    draw::right(buffer, inner, 0, &text, cx.theme.style(role));
}

fn draw_chips(state: &State, task: &TaskView, key: &str, cx: &Cx<'_>, area: Rect, buffer: &mut Buffer) {
    let theme = cx.theme;
    let mut spans = vec![Span::raw(" ")];
    let images = state.draft(task.node.id).map(|draft| draft.images.as_slice()).unwrap_or_default();
    for (path, _) in images {
        let name = path.rsplit('/').next().unwrap_or(path);
        spans.push(Span::styled(
            format!(" {} ", draw::fit(&sanitize::line(name), 24, theme.glyphs)),
            theme.style(Role::Chip),
        ));
        spans.push(Span::raw(" "));
    }
    let blank = state.draft(task.node.id).is_none_or(|draft| draft.field.is_empty());
    if !images.is_empty() && blank {
        spans.push(Span::styled("Backspace removes it  ", theme.style(Role::Faint)));
    }
    let waiting: Vec<_> = unread(task).collect();
    if let Some((last, earlier)) = waiting.split_last() {
        let count = if earlier.is_empty() { String::new() } else { format!(" (and {} more)", earlier.len()) };
        spans.push(Span::styled("queued: ", theme.style(Role::Muted)));
        let room = usize::from(area.width).saturating_sub(40 + width::of(&count)).max(8);
        let text = sanitize::line(last);
        spans.push(Span::styled(format!(" {} ", draw::fit(&text, room, theme.glyphs)), theme.style(Role::Chip)));
        spans.push(Span::styled(format!("{count}  {key} to withdraw"), theme.style(Role::Faint)));
    }
    draw::line(buffer, area, 0, &draw::cut(&Line::from(spans), usize::from(area.width), theme.glyphs));
}

/// Returns the area of the completion popup above the text.
pub fn popup_area(popup: &Popup, screen: Rect, composer: Rect) -> Rect {
    let columns = popup.offers.iter().map(|offer| width::of(&offer.label) + width::of(&offer.note) + 4).max();
    let (rows, columns) = (popup.offers.len(), columns.unwrap_or(0));
    let height = u16::try_from(rows + 2).unwrap_or(u16::MAX).min(12).min(composer.y.saturating_sub(1));
    let wide = u16::try_from(columns + 4).unwrap_or(u16::MAX).clamp(24, 70).min(composer.width);
    Rect { x: composer.x + 1, y: composer.y.saturating_sub(height + 1), width: wide, height }.intersection(screen)
}
