//! The top line: project, activity, cost.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::base::sanitize;
use crate::model::Status;
use crate::text::width;
use crate::theme::Role;
use crate::ui::draw;
use crate::ui::labels;
use crate::ui::model::Model;
use crate::ui::msg::Cx;

const GAUGE: usize = 8;

pub fn view(model: &Model, cx: &Cx<'_>, area: Rect, buffer: &mut Buffer) {
    let theme = cx.theme;
    draw::tint(buffer, area, theme.style(Role::Header));
    let project = &model.project.info;
    let left = Line::from(vec![
        Span::styled(format!(" {} matrix", theme.glyphs.brand), theme.style(Role::Brand)),
        Span::raw("  "),
        Span::styled(sanitize::line(&project.name).into_owned(), theme.style(Role::Strong)),
        Span::raw("  "),
        Span::styled(sanitize::line(&project.base_branch).into_owned(), theme.style(Role::Muted)),
    ]);
    let mut parts = parts(model, cx);
    // Parts are dropped from the end: tokens first, then the budget bar. Open questions are kept longest.
    let room = usize::from(area.width).saturating_sub(2);
    while !parts.is_empty() && joined(&parts) + left.width().min(24) + 2 > room {
        parts.pop();
    }
    let right_width = joined(&parts);
    let left_room = room.saturating_sub(right_width + 2);
    draw::line(buffer, area, 0, &draw::cut(&left, left_room, theme.glyphs));
    parts.sort_by_key(|part| part.place);
    let mut spans = Vec::new();
    for part in parts {
        if !spans.is_empty() {
            spans.push(Span::raw("   "));
        }
        spans.extend(part.spans);
    }
    let wide = u16::try_from(right_width).unwrap_or(area.width).min(area.width);
    buffer.set_line(area.right().saturating_sub(wide + 1), area.y, &Line::from(spans), wide);
}

/// A part of the right side. The list is ordered by importance; `place` is the position on screen.
struct Part {
    place: u8,
    spans: Vec<Span<'static>>,
}

fn joined(parts: &[Part]) -> usize {
    let words: usize = parts.iter().flat_map(|part| &part.spans).map(|span| width::of(&span.content)).sum();
    words + parts.len().saturating_sub(1) * 3
}

fn parts(model: &Model, cx: &Cx<'_>) -> Vec<Part> {
    let theme = cx.theme;
    let glyphs = theme.glyphs;
    let total = model.project.total();
    let mut parts = Vec::new();
    let mut add = |place: u8, text: String, role: Role| {
        parts.push(Part { place, spans: vec![Span::styled(text, theme.style(role))] });
    };
    if total.asks > 0 {
        let word = if total.asks == 1 { "question" } else { "questions" };
        add(2, format!("{} {} {word}", glyphs.ask, total.asks), Role::Ask);
    }
    if total.stuck > 0 {
        add(2, format!("{} {} stuck", glyphs.working, total.stuck), Role::Warn);
    }
    if model.settings.read_only.is_some() {
        add(0, "read-only".to_owned(), Role::Warn);
    }
    if model.clients.len() > 1 {
        add(7, format!("{} {}", glyphs.clients, model.clients.len()), Role::Muted);
    }
    if total.working > 0 {
        add(1, format!("{} {} working", glyphs.working, total.working), Role::Working);
    }
    let failed = total.count(Status::Failed);
    if failed > 0 {
        add(3, format!("{} {failed} failed", glyphs.failed), Role::Error);
    }
    add(5, total.cost.to_string(), Role::Text);
    if let Some(budget) = model.settings.project_budget.or(model.project.info.budget) {
        let full = if budget.0 == 0 { 1.0 } else { total.cost.0 as f64 / budget.0 as f64 };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and GAUGE")]
        let filled = (full.clamp(0.0, 1.0) * GAUGE as f64).round() as usize;
        let role = if full >= 0.8 { Role::GaugeHigh } else { Role::Gauge };
        let block = glyphs.bar.last().copied().unwrap_or("#");
        parts.push(Part {
            place: 6,
            spans: vec![
                Span::styled(block.repeat(filled), theme.style(role)),
                Span::styled(glyphs.bar_empty.repeat(GAUGE - filled), theme.style(Role::GaugeEmpty)),
                Span::styled(format!(" of {budget}"), theme.style(Role::Muted)),
            ],
        });
    }
    if model.project.total_tokens() > 0 {
        let text = format!("{} tok", labels::tokens(model.project.total_tokens()));
        parts.push(Part { place: 4, spans: vec![Span::styled(text, theme.style(Role::Muted))] });
    }
    parts
}
