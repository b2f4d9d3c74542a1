//! Computes the areas of the panes from the size of the screen. A pure function; it knows sizes, not contents.
//!
//! From 100 columns on the panes are side by side. Below that one pane has the whole width and a tab line shows which.
//! Below 40 columns or 10 rows the screen only shows that it is too small.

use ratatui::layout::Rect;

/// Minimum columns for panes side by side.
pub const WIDE: u16 = 100;
/// Minimum columns and rows for a usable screen.
pub const MIN_SIZE: (u16, u16) = (40, 10);

/// A part of the screen that can have the focus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Pane {
    Tree,
    Asks,
    Detail,
    #[default]
    Composer,
}

/// The arrangement of the panes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    Wide,
    Tabs,
    #[default]
    Tiny,
}

/// The sizes that the panes ask for.
#[derive(Clone, Copy, Debug, Default)]
pub struct LayoutRequest {
    /// Rows of the list of Asks. Zero if there are none.
    pub asks: u16,
    /// Whether the composer shows a question, which needs more room than a message.
    pub asking: bool,
    /// Rows of the composer including chips and notes above the text.
    pub composer: u16,
    /// Columns of the left side, if the user set them.
    pub left: Option<u16>,
    /// The task pane has the whole width.
    pub zoom: bool,
    /// The focused pane, where only one fits.
    pub shown: Pane,
}

/// The areas of all parts. An empty area is not on the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    pub shape: Shape,
    pub screen: Rect,
    pub header: Rect,
    /// The tab line of narrow screens.
    pub tabs: Rect,
    /// The frame of the left side.
    pub left: Rect,
    pub tree: Rect,
    /// The line between tasks and Asks.
    pub asks_rule: Rect,
    pub asks: Rect,
    /// One line with the next open question, where the list is not visible.
    pub strip: Rect,
    /// The frame of the right side.
    pub right: Rect,
    pub detail: Rect,
    /// The line between detail and composer.
    pub composer_rule: Rect,
    pub composer: Rect,
    pub hints: Rect,
}

/// Computes the layout for a screen of `size`.
pub fn layout(size: (u16, u16), request: &LayoutRequest) -> Layout {
    let (columns, rows) = size;
    let screen = Rect::new(0, 0, columns, rows);
    if columns < MIN_SIZE.0 || rows < MIN_SIZE.1 {
        return Layout { screen, ..Layout::default() };
    }
    let header = Rect::new(0, 0, columns, 1);
    let hints = Rect::new(0, rows - 1, columns, 1);
    let base = Layout { screen, header, hints, ..Layout::default() };
    if columns >= WIDE { wide(base, request) } else { tabs(base, request) }
}

/// Returns the width of the left side.
pub fn left_width(columns: u16, chosen: Option<u16>) -> u16 {
    let usual = (columns * 3 / 10).clamp(32, 56);
    chosen.unwrap_or(usual).clamp(24, columns.saturating_sub(50).max(24))
}

fn wide(base: Layout, request: &LayoutRequest) -> Layout {
    let Rect { width, height, .. } = base.screen;
    let body = Rect::new(0, 1, width, height - 2);
    let left_columns = if request.zoom { 0 } else { left_width(width, request.left) };
    let left = Rect { width: left_columns, ..body };
    let gap = u16::from(!request.zoom);
    let right = Rect { x: left_columns + gap, width: width - left_columns - gap, ..body };
    let inner = inside(left);
    let rows = if request.asks == 0 || request.zoom { 0 } else { request.asks.clamp(2, (inner.height / 2).max(2)) };
    let (tree, asks_rule, asks) = split(inner, rows);
    let (detail, composer_rule, composer) = split_composer(inside(right), request);
    Layout {
        shape: Shape::Wide,
        left,
        tree,
        asks_rule: across(asks_rule, left),
        asks,
        right,
        detail,
        composer_rule: across(composer_rule, right),
        composer,
        ..base
    }
}

fn tabs(base: Layout, request: &LayoutRequest) -> Layout {
    let Rect { width, height, .. } = base.screen;
    let tabs = Rect::new(0, 1, width, 1);
    let body = Rect::new(0, 2, width, height - 3);
    let (pane, composer_rule, composer) = split_composer(body, request);
    let has_strip = request.asks > 0 && !request.asking && request.shown != Pane::Asks && pane.height >= 6;
    let pane = Rect { height: pane.height - u16::from(has_strip), ..pane };
    let strip = if has_strip { Rect { y: pane.bottom(), height: 1, ..pane } } else { Rect::default() };
    let place = |shown: bool| if shown { pane } else { Rect::default() };
    // A message belongs to a task: the composer shows that task above it.
    let detail = place(matches!(request.shown, Pane::Detail | Pane::Composer));
    let tree = place(request.shown == Pane::Tree);
    let asks = place(request.shown == Pane::Asks);
    Layout { shape: Shape::Tabs, tabs, tree, asks, strip, detail, composer_rule, composer, ..base }
}

/// Splits off the lower `rows` with a rule between. Splits nothing for zero rows.
fn split(area: Rect, rows: u16) -> (Rect, Rect, Rect) {
    if rows == 0 || area.height < rows + 2 {
        return (area, Rect::default(), Rect::default());
    }
    let upper = Rect { height: area.height - rows - 1, ..area };
    let rule = Rect { y: upper.bottom(), height: 1, ..area };
    let lower = Rect { y: rule.bottom(), height: rows, ..area };
    (upper, rule, lower)
}

fn split_composer(area: Rect, request: &LayoutRequest) -> (Rect, Rect, Rect) {
    let most = if request.asking { area.height.saturating_sub(4) } else { area.height / 3 };
    split(area, request.composer.clamp(1, most.max(2)))
}

fn inside(area: Rect) -> Rect {
    if area.width < 2 || area.height < 2 {
        return Rect::default();
    }
    Rect { x: area.x + 1, y: area.y + 1, width: area.width - 2, height: area.height - 2 }
}

/// Stretches a rule over the frame around it.
fn across(rule: Rect, frame: Rect) -> Rect {
    if rule.height == 0 { rule } else { Rect { x: frame.x, width: frame.width, ..rule } }
}

#[cfg(test)]
#[path = "layout_tests.rs"]
mod tests;
