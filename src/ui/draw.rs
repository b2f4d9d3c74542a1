//! Primitives that draw text into cells: cut to width with an ellipsis, clipped to their area, sanitized.
//!
//! Text from outside goes through `base::sanitize` before it becomes a cell. This module knows no panes.

use std::borrow::Cow;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::text::MEASURE;
use crate::text::width::{self, Cut};
use crate::theme::{Glyphs, Role, Theme};

/// Returns `area` cut to the widest line that can be read.
pub fn readable(area: Rect) -> Rect {
    Rect { width: area.width.min(u16::try_from(MEASURE).unwrap_or(u16::MAX)), ..area }
}

/// Returns a chart of `values`, one column each. Its height is relative to the greatest of them.
pub fn sparkline(values: &[u64], glyphs: &Glyphs) -> String {
    let most = values.iter().copied().max().unwrap_or(0).max(1);
    let steps = glyphs.spark.len().saturating_sub(1) as u64;
    let step = |value: u64| usize::try_from((value.saturating_mul(steps)).div_ceil(most)).unwrap_or(0);
    values.iter().filter_map(|value| glyphs.spark.get(step(*value))).copied().collect()
}

/// Returns `text` if it fits in `columns`, or its beginning followed by an ellipsis.
pub fn fit<'a>(text: &'a str, columns: usize, glyphs: &Glyphs) -> Cow<'a, str> {
    width::truncate(text, columns, Cut::End, glyphs.ellipsis)
}

/// Draws one line at `row` of `area`, clipped on the right. Returns the column after it.
pub fn line(buffer: &mut Buffer, area: Rect, row: u16, line: &Line<'_>) -> u16 {
    if row >= area.height {
        return area.x;
    }
    buffer.set_line(area.x, area.y + row, line, area.width).0
}

/// Draws `text` at `(x, y)` relative to `area`. Returns the column after it.
pub fn text(buffer: &mut Buffer, area: Rect, (x, y): (u16, u16), text: &str, style: Style) -> u16 {
    if y >= area.height || x >= area.width {
        return area.x + x;
    }
    buffer.set_stringn(area.x + x, area.y + y, text, usize::from(area.width - x), style).0
}

/// Draws `text` right-aligned in `row`. Returns the columns it took.
pub fn right(buffer: &mut Buffer, area: Rect, row: u16, text: &str, style: Style) -> u16 {
    let columns = u16::try_from(width::of(text)).unwrap_or(u16::MAX).min(area.width);
    self::text(buffer, area, (area.width - columns, row), text, style);
    columns
}

/// Applies a style to every cell of `area`, keeping its content.
pub fn tint(buffer: &mut Buffer, area: Rect, style: Style) {
    // With reversed video each foreground colour would become a separate patch: draw the row as one bar.
    let style = if style.add_modifier.contains(Modifier::REVERSED) && style.fg.is_none() {
        style.fg(Color::Reset).remove_modifier(Modifier::DIM)
    } else {
        style
    };
    buffer.set_style(area.intersection(buffer.area), style);
}

/// Clears `area` and gives it the style of `role`.
pub fn clear(buffer: &mut Buffer, area: Rect, theme: &Theme, role: Role) {
    let area = area.intersection(buffer.area);
    ratatui::widgets::Clear.render(area, buffer);
    // A wide character that starts left of the area would cover its first column.
    for y in area.y..area.bottom() {
        if let Some(cell) = area.x.checked_sub(1).and_then(|left| buffer.cell_mut((left, y)))
            && width::of(cell.symbol()) > 1
        {
            cell.set_symbol(" ");
        }
    }
    buffer.set_style(area, theme.over(Role::Background, role));
}

/// Draws a frame with a title on the left and a note on the right. Returns the inner area.
pub fn frame(buffer: &mut Buffer, area: Rect, theme: &Theme, title: &Line<'_>, note: &Line<'_>) -> Rect {
    if area.width < 2 || area.height < 2 {
        return Rect { width: 0, height: 0, ..area };
    }
    let (border, heading) = (theme.style(Role::BorderFocus), theme.style(Role::TitleFocus));
    let g = theme.glyphs;
    let (right, bottom) = (area.right() - 1, area.bottom() - 1);
    for x in area.x + 1..right {
        buffer.set_string(x, area.y, g.rule, border);
        buffer.set_string(x, bottom, g.rule, border);
    }
    for y in area.y + 1..bottom {
        buffer.set_string(area.x, y, g.vertical, border);
        buffer.set_string(right, y, g.vertical, border);
    }
    for (x, y, corner) in [
        (area.x, area.y, g.corner_top_left),
        (right, area.y, g.corner_top_right),
        (area.x, bottom, g.corner_bottom_left),
        (right, bottom, g.corner_bottom_right),
    ] {
        buffer.set_string(x, y, corner, border);
    }
    heading_line(buffer, area, heading, title, note, theme);
    Rect { x: area.x + 1, y: area.y + 1, width: area.width - 2, height: area.height - 2 }
}

/// Writes title and note into the upper edge of a frame or into a rule.
pub fn heading_line(buffer: &mut Buffer, area: Rect, style: Style, title: &Line<'_>, note: &Line<'_>, theme: &Theme) {
    let inner = usize::from(area.width.saturating_sub(4));
    if inner < 3 {
        return;
    }
    let mut note_width = note.width();
    if note_width > 0 && note_width + 3 < inner {
        let x = area.right() - 2 - u16::try_from(note_width + 1).unwrap_or(0);
        buffer.set_string(x, area.y, " ", style);
        let end = buffer.set_line(x + 1, area.y, note, u16::try_from(note_width).unwrap_or(0)).0;
        buffer.set_string(end, area.y, " ", style);
        note_width += 3;
    } else {
        note_width = 0;
    }
    let room = inner.saturating_sub(note_width);
    let title = cut(title, room.saturating_sub(2), theme.glyphs);
    if title.width() == 0 {
        return;
    }
    buffer.set_string(area.x + 1, area.y, " ", style);
    let styled = title.patch_style(Style::default());
    let spans: Vec<_> =
        styled.spans.into_iter().map(|span| Span::styled(span.content, style.patch(span.style))).collect();
    let end = buffer.set_line(area.x + 2, area.y, &Line::from(spans), u16::try_from(room).unwrap_or(u16::MAX)).0;
    buffer.set_string(end, area.y, " ", style);
}

/// Returns `line` cut to `columns` with an ellipsis.
pub fn cut<'a>(line: &Line<'a>, columns: usize, glyphs: &Glyphs) -> Line<'a> {
    if line.width() <= columns {
        return line.clone();
    }
    let mut left = columns;
    let mut spans = Vec::new();
    for span in &line.spans {
        let wide = width::of(&span.content);
        if wide < left {
            left -= wide;
            spans.push(span.clone());
        } else {
            spans.push(Span::styled(fit(&format!("{} ", span.content), left, glyphs).into_owned(), span.style));
            break;
        }
    }
    Line { spans, ..line.clone() }
}

/// Draws a scrollbar, or nothing if all rows are visible.
pub fn scrollbar(buffer: &mut Buffer, area: Rect, theme: &Theme, top: usize, shown: usize, total: usize) {
    if total <= shown || area.height == 0 || area.width == 0 {
        return;
    }
    let height = usize::from(area.height);
    let thumb = (height * shown / total).clamp(1, height);
    let most = total - shown;
    let start = ((height - thumb) * top.min(most) + most / 2) / most;
    let x = area.right() - 1;
    for offset in start..start + thumb {
        let y = area.y + u16::try_from(offset).unwrap_or(0);
        if y < area.bottom() {
            buffer.set_string(x, y, theme.glyphs.thumb, theme.style(Role::ScrollbarThumb));
        }
    }
}
