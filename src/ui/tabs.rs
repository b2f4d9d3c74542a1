//! The tab line: the tabs of a task, and on a narrow screen the other panes before them. Drawing and clicking share one
//! list of pieces, so that they cannot disagree.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use crate::text::width;
use crate::theme::{Glyphs, Role, Theme};
use crate::ui::detail::Tab;
use crate::ui::draw;
use crate::ui::layout::{Pane, Shape};
use crate::ui::model::Model;
use crate::ui::msg::Cx;

/// The target of a tab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TabTarget {
    Tasks,
    Asks,
    Tab(Tab),
}

struct Piece {
    text: String,
    role: Role,
    target: Option<TabTarget>,
}

impl Piece {
    fn new(text: impl Into<String>, role: Role, target: Option<TabTarget>) -> Self {
        Self { text: text.into(), role, target }
    }
}

fn wide(pieces: &[Piece]) -> usize {
    pieces.iter().map(|piece| width::of(&piece.text)).sum()
}

fn line<'a>(pieces: &[Piece], theme: &Theme) -> Line<'a> {
    let spans = pieces.iter().map(|piece| Span::styled(piece.text.clone(), theme.style(piece.role)));
    Line::from(spans.collect::<Vec<_>>())
}

/// Returns the tabs of a task, the open one highlighted.
fn task_tabs(model: &Model, glyphs: &Glyphs) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for tab in Tab::ALL {
        if !pieces.is_empty() {
            pieces.push(Piece::new(format!(" {} ", glyphs.dot), Role::Faint, None));
        }
        let role = if tab == model.detail.tab { Role::Accent } else { Role::Faint };
        pieces.push(Piece::new(tab.word(), role, Some(TabTarget::Tab(tab))));
    }
    pieces
}

pub fn task_tab_line<'a>(model: &Model, cx: &Cx<'_>) -> Line<'a> {
    line(&task_tabs(model, cx.theme.glyphs), cx.theme)
}

/// Returns the tabs of everything that can be shown on a narrow screen.
fn all(model: &Model, columns: usize) -> Vec<Piece> {
    let shown = |active: bool| if active { Role::ChipActive } else { Role::Muted };
    let in_detail = matches!(model.focus, Pane::Detail | Pane::Composer);
    let gap = || Piece::new(" ", Role::Text, None);
    let note = model.tree.note();
    let tasks = if note.is_empty() { " tasks ".to_owned() } else { format!(" tasks: {note} ") };
    let mut pieces = vec![gap(), Piece::new(tasks, shown(model.focus == Pane::Tree), Some(TabTarget::Tasks)), gap()];
    if !model.asks.is_empty() {
        let role = if model.focus == Pane::Asks { shown(true) } else { Role::Ask };
        pieces.push(Piece::new(format!(" asks {} ", model.asks.len()), role, Some(TabTarget::Asks)));
        pieces.push(gap());
    }
    let tabs: usize = Tab::ALL.iter().map(|tab| width::of(tab.word()) + 3).sum();
    let every = wide(&pieces) + tabs < columns;
    for tab in Tab::ALL.into_iter().filter(|tab| every || *tab == model.detail.tab) {
        let role = shown(in_detail && model.detail.tab == tab);
        pieces.push(Piece::new(format!(" {} ", tab.word()), role, Some(TabTarget::Tab(tab))));
        pieces.push(gap());
    }
    pieces
}

/// Draws the tab line of a narrow screen.
pub fn view(model: &Model, cx: &Cx<'_>, area: Rect, buffer: &mut Buffer) {
    let theme = cx.theme;
    let pieces = all(model, usize::from(area.width));
    draw::line(buffer, area, 0, &line(&pieces, theme));
    let room = usize::from(area.width).saturating_sub(wide(&pieces) + 2);
    if room > 6 && matches!(model.focus, Pane::Detail | Pane::Composer) {
        let title = model.project.title(model.selected());
        let inner = Rect { width: area.width.saturating_sub(1), ..area };
        draw::right(buffer, inner, 0, &draw::fit(&title, room, theme.glyphs), theme.style(Role::Strong));
    }
}

/// Returns the target of a click.
pub fn target_at(model: &Model, cx: &Cx<'_>, at: Position) -> Option<TabTarget> {
    let places = &model.layout;
    let (area, pieces, start) = match places.shape {
        Shape::Wide => {
            let pieces = task_tabs(model, cx.theme.glyphs);
            let area = places.composer_rule;
            let start = usize::from(area.right()).checked_sub(wide(&pieces) + 2)?;
            (area, pieces, start)
        }
        Shape::Tabs => (places.tabs, all(model, usize::from(places.tabs.width)), usize::from(places.tabs.x)),
        Shape::Tiny => return None,
    };
    let mut column = usize::from(at.x).checked_sub(start).filter(|_| area.contains(at))?;
    pieces.iter().find_map(|piece| {
        let columns = width::of(&piece.text);
        if column < columns {
            return Some(piece.target);
        }
        column -= columns;
        None
    })?
}
