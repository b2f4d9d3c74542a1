//! The tab line: the tabs of a task, and on a narrow screen the other panes before them. Drawing and clicking share one
//! list of pieces, so that they cannot disagree.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use crate::base::TaskId;
use crate::model::Status;
use crate::text::width;
use crate::theme::{Role, Theme};
use crate::ui::detail::{self, Tab};
use crate::ui::draw;
use crate::ui::layout::{Layout, Pane, Shape};
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

/// Returns a tab with its count: the size of the diff, or how many of the subtasks have ended.
fn tab_pieces(tab: Tab, model: &Model, role: Role) -> Vec<Piece> {
    let target = Some(TabTarget::Tab(tab));
    let task = model.project.task(model.selected());
    let diff = task.and_then(|task| task.diff).filter(|diff| diff.added + diff.removed > 0);
    let piece = |text: String, role: Role| Piece::new(text, role, target);
    match (tab, diff) {
        (Tab::Diff, Some(diff)) => {
            // On the surface of a chip only the colour of the chip is readable.
            let (plus, minus) = if role == Role::ChipActive { (role, role) } else { (Role::DiffPlus, Role::DiffMinus) };
            vec![
                piece(format!(" {}", tab.word()), role),
                piece(format!(" +{}", diff.added), plus),
                piece(format!(" -{} ", diff.removed), minus),
            ]
        }
        (Tab::Description, _) => vec![piece(format!(" {}{} ", tab.word(), subtasks(model)), role)],
        (tab, _) => vec![piece(format!(" {} ", tab.word()), role)],
    }
}

/// Returns how many subtasks of the selected task have ended, of how many.
fn subtasks(model: &Model) -> String {
    let children = model.project.node(model.selected()).map(|node| node.children.as_slice()).unwrap_or_default();
    let is_over = |id: &&TaskId| {
        model.project.node(**id).is_some_and(|node| matches!(node.status, Status::Passed | Status::Closed))
    };
    match children.len() {
        0 => String::new(),
        count => format!(" {}/{count}", children.iter().filter(is_over).count()),
    }
}

/// Returns tabs of a task, the visible ones highlighted.
fn task_tabs(model: &Model, tabs: impl Iterator<Item = Tab>) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for tab in tabs {
        let role = if model.shows(tab) { Role::TabActive } else { Role::Muted };
        pieces.extend(tab_pieces(tab, model, role));
    }
    pieces
}

/// A heading: the columns of its title, and the tabs after it.
struct Heading {
    area: Rect,
    title: usize,
    pieces: Vec<Piece>,
}

impl Heading {
    fn tabs_at(&self) -> u16 {
        let start = if self.title == 0 { 0 } else { self.title + 3 };
        u16::try_from(start).unwrap_or(u16::MAX).min(self.area.width)
    }
}

/// Returns the headings of the task pane and of the third column. Without a third column all tabs are in the first.
fn headings(model: &Model) -> Vec<Heading> {
    let places = &model.layout;
    let has_side = !places.side.is_empty();
    let pieces = task_tabs(model, Tab::ALL.into_iter().filter(|tab| *tab == Tab::Transcript || !has_side));
    let area = Layout::heading_of(places.right);
    let room = usize::from(area.width).saturating_sub(wide(&pieces) + 4);
    let title = width::of(&model.project.title(model.selected())).max(8).min(room.min(40));
    let mut headings = vec![Heading { area, title, pieces }];
    if has_side {
        let pieces = task_tabs(model, Tab::ALL.into_iter().filter(|tab| *tab != Tab::Transcript));
        headings.push(Heading { area: Layout::heading_of(places.side), title: 0, pieces });
    }
    headings
}

/// Draws the headings of the task pane: title, tabs, and a note about the agent.
pub fn heading(model: &Model, cx: &Cx<'_>, buffer: &mut Buffer) {
    let theme = cx.theme;
    for heading in headings(model) {
        let area = heading.area;
        let start = heading.tabs_at();
        let tabs = Rect { x: area.x + start, width: area.width - start, ..area };
        let end = draw::line(buffer, tabs, 0, &line(&heading.pieces, theme));
        if heading.title == 0 {
            continue;
        }
        let focused = model.layers.is_empty() && matches!(model.focus, Pane::Detail | Pane::Composer);
        let name = model.project.title(model.selected());
        let name = if name.trim().is_empty() { "untitled".to_owned() } else { name };
        let role = if focused { Role::TitleFocus } else { Role::Strong };
        draw::text(buffer, area, (1, 0), &draw::fit(&name, heading.title, theme.glyphs), theme.style(role));
        let room = usize::from(area.right().saturating_sub(end + 2));
        if let Some(task) = model.project.task(model.selected()) {
            let note = detail::head_note(task, cx, room);
            let columns = u16::try_from(note.width()).unwrap_or(u16::MAX);
            buffer.set_line(area.right().saturating_sub(columns + 1), area.y, &note, columns);
        }
    }
}

/// Returns the tabs of everything that can be shown on a narrow screen.
fn all(model: &Model, columns: usize) -> Vec<Piece> {
    let shown = |active: bool| if active { Role::ChipActive } else { Role::Muted };
    let in_detail = matches!(model.focus, Pane::Detail | Pane::Composer);
    let gap = || Piece::new(" ", Role::Text, None);
    let note = model.tree.note();
    let tasks = if note.is_empty() { " Tasks ".to_owned() } else { format!(" Tasks: {note} ") };
    let mut pieces = vec![gap(), Piece::new(tasks, shown(model.focus == Pane::Tree), Some(TabTarget::Tasks)), gap()];
    if !model.asks.is_empty() {
        let role = if model.focus == Pane::Asks { shown(true) } else { Role::Ask };
        pieces.push(Piece::new(format!(" Questions {} ", model.asks.len()), role, Some(TabTarget::Asks)));
        pieces.push(gap());
    }
    let tabs: usize = Tab::ALL.iter().map(|tab| wide(&tab_pieces(*tab, model, Role::Muted)) + 1).sum();
    let every = wide(&pieces) + tabs < columns;
    for tab in Tab::ALL.into_iter().filter(|tab| every || *tab == model.detail.tab) {
        let role = shown(in_detail && model.detail.tab == tab);
        pieces.extend(tab_pieces(tab, model, role));
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
pub fn target_at(model: &Model, at: Position) -> Option<TabTarget> {
    let places = &model.layout;
    let lines = match places.shape {
        Shape::Wide => headings(model)
            .into_iter()
            .map(|heading| (heading.area, heading.area.x + heading.tabs_at(), heading.pieces))
            .collect(),
        Shape::Tabs => vec![(places.tabs, places.tabs.x, all(model, usize::from(places.tabs.width)))],
        Shape::Tiny => Vec::new(),
    };
    lines.into_iter().find_map(|(area, start, pieces)| {
        let mut column = usize::from(at.x.checked_sub(start).filter(|_| area.contains(at))?);
        pieces.iter().find_map(|piece| {
            let columns = width::of(&piece.text);
            if column < columns {
                return Some(piece.target);
            }
            column -= columns;
            None
        })?
    })
}
