//! Computes the areas of the panes from the size of the screen. A pure function; it knows sizes, not contents.
//!
//! From 100 columns on the panes are side by side: a sidebar, a divider of one column, and the task. From 170 columns on a
//! third column shows another page of the task beside its transcript. Below 100 columns one pane has the whole width and a
//! tab line shows which. Panes have a heading and a surface, never a frame.
//! Below 40 columns or 10 rows the screen only shows that it is too small.

use ratatui::layout::Rect;

/// Minimum columns for panes side by side.
pub const WIDE: u16 = 100;
/// Minimum columns for a third column.
pub const THREE: u16 = 170;
/// Minimum columns of the third one.
const MIN_SIDE: u16 = 55;
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

/// The columns that are wanted on a wide screen. The third one is left out where there is no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Columns {
    /// The task has the whole width.
    Task,
    #[default]
    SidebarAndTask,
    All,
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
    /// Rows of notices above the hints.
    pub notices: u16,
    /// Whether there are tasks besides the root, so that a narrow screen needs the line of tasks.
    pub has_tasks: bool,
    /// Columns of the left side, if the user set them.
    pub left: Option<u16>,
    pub columns: Columns,
    /// Rows below the tree that are kept for the list of what goes on.
    pub news: u16,
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
    /// One line with the state of every task, on narrow screens.
    pub tasks: Rect,
    /// The sidebar with its heading.
    pub left: Rect,
    pub tree: Rect,
    /// The rows below the tree that are kept for the list of what goes on. The list also takes the rows that the tree
    /// leaves empty.
    pub news: Rect,
    /// The line between tasks and Asks.
    pub asks_rule: Rect,
    pub asks: Rect,
    /// One line with the next open question, where the list is not visible.
    pub strip: Rect,
    /// The column between the sides.
    pub divider: Rect,
    /// The task with its heading.
    pub right: Rect,
    pub detail: Rect,
    /// The line between the task and the third column.
    pub side_divider: Rect,
    /// The third column with its heading. Empty if there is none.
    pub side: Rect,
    /// The third column without its heading.
    pub page: Rect,
    /// The line between detail and composer.
    pub composer_rule: Rect,
    pub composer: Rect,
    pub notices: Rect,
    pub hints: Rect,
}

impl Layout {
    /// Returns the area of a tab: of the transcript, or of another page, which has a column of its own if there is room.
    pub fn of(&self, transcript: bool) -> Rect {
        if transcript || self.page.is_empty() { self.detail } else { self.page }
    }

    /// Returns the first row of the sidebar or of the task.
    pub fn heading_of(side: Rect) -> Rect {
        Rect { height: side.height.min(1), ..side }
    }
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
    // On the smallest screen one row is left for notices.
    let notice_rows = request.notices.min((rows - MIN_SIZE.1).max(1));
    let notices = Rect::new(0, hints.y - notice_rows, columns, notice_rows);
    let base = Layout { screen, header, notices, hints, ..Layout::default() };
    if columns >= WIDE { wide(base, request) } else { tabs(base, request) }
}

/// Returns the width of the left side.
pub fn left_width(columns: u16, chosen: Option<u16>) -> u16 {
    let usual = if columns >= THREE { columns * 11 / 50 } else { columns * 3 / 10 };
    chosen.unwrap_or(usual.clamp(32, 56)).clamp(24, columns.saturating_sub(50).max(24))
}

/// The widths of the columns of a wide screen, without the lines between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Widths {
    pub left: u16,
    pub task: u16,
    /// Zero if there is no third column.
    pub side: u16,
}

/// Returns the widths of the columns of a screen of at least [`WIDE`] columns.
pub fn widths(columns: u16, request: &LayoutRequest) -> Widths {
    if request.columns == Columns::Task {
        return Widths { left: 0, task: columns, side: 0 };
    }
    let left = left_width(columns, request.left);
    let rest = columns.saturating_sub(left + 1);
    let has_side = request.columns == Columns::All && columns >= THREE && rest > 2 * MIN_SIDE;
    let side = if has_side { (rest - 1) / 2 } else { 0 };
    Widths { left, task: rest - side - u16::from(side > 0), side }
}

fn wide(base: Layout, request: &LayoutRequest) -> Layout {
    let Rect { width, .. } = base.screen;
    let body = Rect::new(0, 1, width, base.notices.y - 1);
    let widths = widths(width, request);
    let left = Rect { width: widths.left, ..body };
    let divider = Rect { x: left.right(), width: u16::from(widths.left > 0), ..body };
    let right = Rect { x: divider.right(), width: widths.task, ..body };
    let side_divider = Rect { x: right.right(), width: u16::from(widths.side > 0), ..body };
    let side = Rect { x: side_divider.right(), width: widths.side, ..body };
    let has_sidebar = request.columns != Columns::Task;
    let list = if has_sidebar { below_heading(left) } else { Rect::default() };
    let rows = if request.asks == 0 || !has_sidebar { 0 } else { request.asks.clamp(2, (list.height / 2).max(2)) };
    let (tree, asks_rule, asks) = split(list, rows);
    let kept = request.news.min(tree.height / 3);
    let (tree, news) =
        (Rect { height: tree.height - kept, ..tree }, Rect { y: tree.bottom() - kept, height: kept, ..tree });
    let (detail, composer_rule, composer) = split_composer(below_heading(right), request);
    let page = below_heading(side);
    Layout {
        shape: Shape::Wide,
        left,
        tree,
        news,
        asks_rule,
        asks,
        divider,
        right,
        detail,
        side_divider,
        side,
        page,
        composer_rule,
        composer,
        ..base
    }
}

fn tabs(base: Layout, request: &LayoutRequest) -> Layout {
    let Rect { width, height, .. } = base.screen;
    let tabs = Rect::new(0, 1, width, 1);
    let is_task_shown = matches!(request.shown, Pane::Detail | Pane::Composer);
    let has_line = request.has_tasks && is_task_shown && height >= 16;
    let tasks = Rect::new(0, 2, width, u16::from(has_line));
    let body = Rect::new(0, tasks.bottom(), width, base.notices.y - tasks.bottom());
    let (pane, composer_rule, composer) = split_composer(body, request);
    let has_strip = request.asks > 0 && !request.asking && request.shown != Pane::Asks && pane.height >= 6;
    let pane = Rect { height: pane.height - u16::from(has_strip), ..pane };
    let strip = if has_strip { Rect { y: pane.bottom(), height: 1, ..pane } } else { Rect::default() };
    let place = |shown: bool| if shown { pane } else { Rect::default() };
    // A message belongs to a task: the composer shows that task above it.
    let detail = place(is_task_shown);
    let tree = place(request.shown == Pane::Tree);
    let asks = place(request.shown == Pane::Asks);
    Layout { shape: Shape::Tabs, tabs, tasks, tree, asks, strip, detail, composer_rule, composer, ..base }
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

fn below_heading(side: Rect) -> Rect {
    let heading = side.height.min(1);
    Rect { y: side.y + heading, height: side.height - heading, ..side }
}

#[cfg(test)]
#[path = "layout_tests.rs"]
mod tests;
