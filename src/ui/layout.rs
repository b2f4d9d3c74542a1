//! From the size of the screen to the places of the panes. A pure function; knows what panes want, not what they hold.
//!
//! From 100 columns on the panes stand side by side; below that one of them has the width and a line of tabs says
//! which; below 40 columns or 10 rows nothing useful fits and the screen says so.

use ratatui::layout::Rect;

/// From here on panes stand side by side.
pub const WIDE: u16 = 100;
/// Columns and rows below which nothing useful fits.
pub const LEAST: (u16, u16) = (40, 10);

/// A part of the screen that can have the keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Pane {
    Tree,
    Asks,
    Detail,
    #[default]
    Composer,
}

/// How the panes are arranged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    Wide,
    Tabs,
    #[default]
    Tiny,
}

/// What the panes would like.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wish {
    /// Rows of the list of Asks; zero: there are none.
    pub asks: u16,
    /// Whether a question is open and needs room.
    pub asking: bool,
    /// Rows of the composer with everything above it.
    pub composer: u16,
    /// Columns of the left side, if the person chose them.
    pub left: Option<u16>,
    /// The task has the whole width.
    pub zoom: bool,
    /// The pane that is looked at, where only one fits.
    pub shown: Pane,
}

/// Where everything is. A place without size is not on the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    pub shape: Shape,
    pub screen: Rect,
    pub header: Rect,
    /// The line of tabs, where panes do not stand side by side.
    pub tabs: Rect,
    /// The frame of the left side.
    pub left: Rect,
    pub tree: Rect,
    /// The line between tasks and Asks.
    pub asks_rule: Rect,
    pub asks: Rect,
    /// One line that says what waits for the person, where the list of it is not on the screen.
    pub strip: Rect,
    /// The frame of the right side.
    pub right: Rect,
    pub detail: Rect,
    /// The line between detail and composer.
    pub composer_rule: Rect,
    pub composer: Rect,
    pub hints: Rect,
}

/// Places the panes on a screen of `size`.
pub fn layout(size: (u16, u16), wish: &Wish) -> Layout {
    let (columns, rows) = size;
    let screen = Rect::new(0, 0, columns, rows);
    if columns < LEAST.0 || rows < LEAST.1 {
        return Layout { screen, ..Layout::default() };
    }
    let header = Rect::new(0, 0, columns, 1);
    let hints = Rect::new(0, rows - 1, columns, 1);
    let base = Layout { screen, header, hints, ..Layout::default() };
    if columns >= WIDE { wide(base, wish) } else { tabs(base, wish) }
}

/// Returns the columns of the left side on a screen that is so wide.
pub fn left_width(columns: u16, chosen: Option<u16>) -> u16 {
    let usual = (columns * 3 / 10).clamp(32, 56);
    chosen.unwrap_or(usual).clamp(24, columns.saturating_sub(50).max(24))
}

fn wide(base: Layout, wish: &Wish) -> Layout {
    let Rect { width, height, .. } = base.screen;
    let body = Rect::new(0, 1, width, height - 2);
    let left_columns = if wish.zoom { 0 } else { left_width(width, wish.left) };
    let left = Rect { width: left_columns, ..body };
    let gap = u16::from(!wish.zoom);
    let right = Rect { x: left_columns + gap, width: width - left_columns - gap, ..body };
    let inner = inside(left);
    let most = if wish.asking { inner.height.saturating_sub(5) } else { inner.height / 2 };
    let rows = if wish.asks == 0 || wish.zoom { 0 } else { wish.asks.clamp(2, most.max(2)) };
    let (tree, asks_rule, asks) = split(inner, rows);
    let (detail, composer_rule, composer) = split_composer(inside(right), wish.composer);
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

fn tabs(base: Layout, wish: &Wish) -> Layout {
    let Rect { width, height, .. } = base.screen;
    let tabs = Rect::new(0, 1, width, 1);
    let body = Rect::new(0, 2, width, height - 3);
    let (pane, composer_rule, composer) = split_composer(body, wish.composer);
    let is_told = wish.asks > 0 && wish.shown != Pane::Asks && pane.height >= 6;
    let pane = Rect { height: pane.height - u16::from(is_told), ..pane };
    let strip = if is_told { Rect { y: pane.bottom(), height: 1, ..pane } } else { Rect::default() };
    let place = |shown: bool| if shown { pane } else { Rect::default() };
    // What is being written belongs to a task: the composer has that task above it.
    let detail = place(matches!(wish.shown, Pane::Detail | Pane::Composer));
    let tree = place(wish.shown == Pane::Tree);
    let asks = place(wish.shown == Pane::Asks);
    Layout { shape: Shape::Tabs, tabs, tree, asks, strip, detail, composer_rule, composer, ..base }
}

/// Splits the lower `rows` off, with a line between. Nothing is split off for zero rows.
fn split(area: Rect, rows: u16) -> (Rect, Rect, Rect) {
    if rows == 0 || area.height < rows + 2 {
        return (area, Rect::default(), Rect::default());
    }
    let upper = Rect { height: area.height - rows - 1, ..area };
    let rule = Rect { y: upper.bottom(), height: 1, ..area };
    let lower = Rect { y: rule.bottom(), height: rows, ..area };
    (upper, rule, lower)
}

fn split_composer(area: Rect, wanted: u16) -> (Rect, Rect, Rect) {
    let most = (area.height / 3).max(2);
    split(area, wanted.clamp(1, most))
}

fn inside(area: Rect) -> Rect {
    if area.width < 2 || area.height < 2 {
        return Rect::default();
    }
    Rect { x: area.x + 1, y: area.y + 1, width: area.width - 2, height: area.height - 2 }
}

/// Stretches a line between two parts over the frame around them.
fn across(rule: Rect, frame: Rect) -> Rect {
    if rule.height == 0 { rule } else { Rect { x: frame.x, width: frame.width, ..rule } }
}

#[cfg(test)]
#[path = "layout_tests.rs"]
mod tests;
