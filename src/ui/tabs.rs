//! The line of tabs: the sides of a task, and on a small screen the other panes before them. One list of pieces, so that
//! what is drawn and what a click means cannot differ.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use crate::text::width;
use crate::theme::{Glyphs, Role, Theme};
use crate::ui::detail::Tab;
use crate::ui::layout::{Pane, Shape};
use crate::ui::model::Model;
use crate::ui::msg::Cx;
use crate::ui::paint;

/// Where a tab leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    Tasks,
    Asks,
    Side(Tab),
}

struct Piece {
    text: String,
    role: Role,
    goal: Option<Goal>,
}

impl Piece {
    fn new(text: impl Into<String>, role: Role, goal: Option<Goal>) -> Self {
        Self { text: text.into(), role, goal }
    }
}

fn wide(pieces: &[Piece]) -> usize {
    pieces.iter().map(|piece| width::of(&piece.text)).sum()
}

fn line<'a>(pieces: &[Piece], theme: &Theme) -> Line<'a> {
    let spans = pieces.iter().map(|piece| Span::styled(piece.text.clone(), theme.style(piece.role)));
    Line::from(spans.collect::<Vec<_>>())
}

/// Returns the sides of a task, the open one marked.
fn sides(model: &Model, glyphs: &Glyphs) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for tab in Tab::ALL {
        if !pieces.is_empty() {
            pieces.push(Piece::new(format!(" {} ", glyphs.dot), Role::Faint, None));
        }
        let role = if tab == model.detail.tab { Role::Accent } else { Role::Faint };
        pieces.push(Piece::new(tab.word(), role, Some(Goal::Side(tab))));
    }
    pieces
}

/// Returns the sides of a task, to be written into a line.
pub fn beside<'a>(model: &Model, cx: &Cx<'_>) -> Line<'a> {
    line(&sides(model, cx.theme.glyphs), cx.theme)
}

/// Returns everything that can be shown where only one thing fits.
fn all(model: &Model, columns: usize) -> Vec<Piece> {
    let shown = |active: bool| if active { Role::ChipActive } else { Role::Muted };
    let in_detail = matches!(model.focus, Pane::Detail | Pane::Composer);
    let gap = || Piece::new(" ", Role::Text, None);
    let note = model.tree.note();
    let tasks = if note.is_empty() { " tasks ".to_owned() } else { format!(" tasks: {note} ") };
    let mut pieces = vec![gap(), Piece::new(tasks, shown(model.focus == Pane::Tree), Some(Goal::Tasks)), gap()];
    if !model.asks.is_empty() {
        let role = if model.focus == Pane::Asks { shown(true) } else { Role::Ask };
        pieces.push(Piece::new(format!(" asks {} ", model.asks.len()), role, Some(Goal::Asks)));
        pieces.push(gap());
    }
    let tabs: usize = Tab::ALL.iter().map(|tab| width::of(tab.word()) + 3).sum();
    let every = wide(&pieces) + tabs < columns;
    for tab in Tab::ALL.into_iter().filter(|tab| every || *tab == model.detail.tab) {
        let role = shown(in_detail && model.detail.tab == tab);
        pieces.push(Piece::new(format!(" {} ", tab.word()), role, Some(Goal::Side(tab))));
        pieces.push(gap());
    }
    pieces
}

/// Draws the line that stands for the panes where only one of them fits.
pub fn view(model: &Model, cx: &Cx<'_>, area: Rect, buffer: &mut Buffer) {
    let theme = cx.theme;
    let pieces = all(model, usize::from(area.width));
    paint::line(buffer, area, 0, &line(&pieces, theme));
    let room = usize::from(area.width).saturating_sub(wide(&pieces) + 2);
    if room > 6 && matches!(model.focus, Pane::Detail | Pane::Composer) {
        let title = model.world.title(model.selected());
        let inner = Rect { width: area.width.saturating_sub(1), ..area };
        paint::right(buffer, inner, 0, &paint::fit(&title, room, theme.glyphs), theme.style(Role::Strong));
    }
}

/// Returns where a click leads.
pub fn goal_at(model: &Model, cx: &Cx<'_>, at: Position) -> Option<Goal> {
    let places = &model.layout;
    let (area, pieces, start) = match places.shape {
        Shape::Wide => {
            let pieces = sides(model, cx.theme.glyphs);
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
            return Some(piece.goal);
        }
        column -= columns;
        None
    })?
}
