//! The rows of a diff: planned for a width at once, built only for the visible window.

use std::ops::Range;

use super::colours::{Colours, shown, visible_spaces};
use crate::base;
use crate::model::diff::{FileDiff, Hunk, Line, LineKind};
use crate::text::highlight::Language;
use crate::text::page::Page;
use crate::text::row::{Copied, Ink, Row, RowEnd, Span};
use crate::text::width;
use crate::text::wrap::{self, Break, WrapLayout};
use crate::theme::Role;

/// How the two sides of a diff are arranged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sides {
    /// Side by side if there is room, otherwise unified.
    #[default]
    Auto,
    Unified,
    Split,
}

impl Sides {
    /// Returns true if the sides are shown side by side at this width.
    pub fn is_split(self, columns: usize) -> bool {
        match self {
            Self::Auto => columns >= SPLIT_WIDTH,
            Self::Unified => false,
            Self::Split => columns >= 40,
        }
    }
}

/// How spaces are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spaces {
    #[default]
    Plain,
    /// Spaces are drawn as glyphs.
    Visible,
}

/// Which hunks have a heading row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Heads {
    /// Hunks that do not start at the beginning of the file.
    #[default]
    WhereNeeded,
    Always,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiffOptions {
    pub page: Page,
    pub sides: Sides,
    pub spaces: Spaces,
    pub heads: Heads,
    /// The number of unchanged lines around a change; the rest is folded. `None` folds nothing.
    pub context: Option<usize>,
}

impl DiffOptions {
    pub fn new(page: Page) -> Self {
        Self { page, sides: Sides::Auto, spaces: Spaces::Plain, heads: Heads::WhereNeeded, context: Some(3) }
    }
}

/// The smallest width for two sides.
const SPLIT_WIDTH: usize = 120;

/// A planned row.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Plan {
    Note(usize),
    /// The row before a hunk.
    Gap {
        hunk: usize,
        unchanged: Option<u32>,
    },
    Fold {
        hunk: usize,
        lines: Range<usize>,
    },
    Line {
        hunk: usize,
        line: usize,
        part: usize,
    },
    Pair {
        hunk: usize,
        left: Option<usize>,
        right: Option<usize>,
        part: usize,
    },
}

/// The content of a row, in terms of the diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowContent {
    Note(usize),
    /// The row before a hunk.
    Head(usize),
    /// Folded unchanged lines, by the first of them.
    Fold {
        hunk: usize,
        line: usize,
    },
    /// A line, or the part of it that fits in the row. In split view, the new line.
    Line {
        hunk: usize,
        line: usize,
        part: usize,
    },
}

/// The rows of one file's diff at one width. Rows must be built from the same diff that they were planned for.
#[derive(Clone, Debug)]
pub struct DiffRows {
    options: DiffOptions,
    split: bool,
    /// The number of digits of a line number.
    digits: usize,
    remarks: Vec<String>,
    plan: Vec<Plan>,
    /// The row at which each hunk starts.
    starts: Vec<usize>,
}

impl DiffRows {
    pub fn new(file: &FileDiff, options: DiffOptions) -> Self {
        Self::folded(file, options, |_| false)
    }

    /// Plans the rows, with only the heading for hunks for which `folded` returns true.
    pub fn folded(file: &FileDiff, options: DiffOptions, folded: impl Fn(usize) -> bool) -> Self {
        let split = options.sides.is_split(options.page.width);
        let numbers = file.hunks.iter().filter_map(|hunk| hunk.lines.last());
        let largest = numbers.flat_map(|line| [line.old, line.new]).flatten().max().unwrap_or(1);
        let digits = largest.to_string().len().max(3);
        let mut rows = Self { options, split, digits, remarks: file.remarks(), plan: Vec::new(), starts: Vec::new() };
        rows.plan(file, folded);
        rows
    }

    /// Returns the content of a row.
    pub fn at(&self, row: usize) -> Option<RowContent> {
        Some(match self.plan.get(row)? {
            Plan::Note(note) => RowContent::Note(*note),
            Plan::Gap { hunk, .. } => RowContent::Head(*hunk),
            Plan::Fold { hunk, lines } => RowContent::Fold { hunk: *hunk, line: lines.start },
            Plan::Line { hunk, line, part } => RowContent::Line { hunk: *hunk, line: *line, part: *part },
            Plan::Pair { hunk, left, right, part } => {
                RowContent::Line { hunk: *hunk, line: right.or(*left).unwrap_or(0), part: *part }
            }
        })
    }

    /// Returns the row that shows a line, or the fold that contains it.
    pub fn row_of(&self, hunk: usize, line: usize) -> usize {
        let start = self.starts.get(hunk).copied().unwrap_or(0);
        let end = self.starts.get(hunk + 1).copied().unwrap_or(self.plan.len());
        let shows = |plan: &Plan| match plan {
            Plan::Line { line: at, .. } => *at == line,
            Plan::Pair { left, right, .. } => [*left, *right].contains(&Some(line)),
            Plan::Fold { lines, .. } => lines.contains(&line),
            Plan::Note(_) | Plan::Gap { .. } => false,
        };
        start + self.plan[start..end].iter().position(shows).unwrap_or(0)
    }

    pub fn len(&self) -> usize {
        self.plan.len()
    }

    pub fn is_empty(&self) -> bool {
        self.plan.is_empty()
    }

    /// Returns the row at which each hunk starts, for jumps between hunks.
    pub fn hunk_starts(&self) -> &[usize] {
        &self.starts
    }

    fn plan(&mut self, file: &FileDiff, folded: impl Fn(usize) -> bool) {
        self.plan.extend((0..self.remarks.len()).map(Plan::Note));
        let mut end: Option<u32> = None;
        for (at, hunk) in file.hunks.iter().enumerate() {
            let unchanged = hunk.old_start.checked_sub(end.unwrap_or(1)).filter(|lines| *lines > 0);
            self.starts.push(self.plan.len());
            // A diff that starts at the beginning of the file needs no heading.
            let always = self.options.heads == Heads::Always;
            if always || at > 0 || unchanged.is_some() || !hunk.heading.is_empty() {
                self.plan.push(Plan::Gap { hunk: at, unchanged });
            }
            end = Some(hunk.old_start.saturating_add(hunk.old_lines));
            if folded(at) {
                continue;
            }
            for block in blocks(hunk, self.options.context) {
                match block {
                    Block::Fold(lines) => self.plan.push(Plan::Fold { hunk: at, lines }),
                    Block::Lines(lines) if self.split => self.plan_pairs(at, hunk, lines),
                    Block::Lines(lines) => {
                        for line in lines {
                            let parts = self.height(&hunk.lines[line].shown());
                            self.plan.extend((0..parts).map(|part| Plan::Line { hunk: at, line, part }));
                        }
                    }
                }
            }
        }
    }

    fn plan_pairs(&mut self, at: usize, hunk: &Hunk, lines: Range<usize>) {
        let of = |kind: LineKind| lines.clone().filter(move |line| hunk.lines[*line].kind == kind).map(Some);
        let pairs: Vec<(Option<usize>, Option<usize>)> = if of(LineKind::Context).next().is_some() {
            lines.clone().map(|line| (Some(line), Some(line))).collect()
        } else {
            let (mut left, mut right) = (of(LineKind::Removed), of(LineKind::Added));
            std::iter::from_fn(|| match (left.next(), right.next()) {
                (None, None) => None,
                (left, right) => Some((left.flatten(), right.flatten())),
            })
            .collect()
        };
        for (left, right) in pairs {
            let height = |line: Option<usize>| line.map_or(0, |line| self.height(&hunk.lines[line].shown()));
            let parts = height(left).max(height(right));
            self.plan.extend((0..parts).map(|part| Plan::Pair { hunk: at, left, right, part }));
        }
    }

    /// Returns the number of columns for the text of a side.
    fn text_width(&self) -> usize {
        let taken = if self.split { self.digits + 3 } else { 2 * self.digits + 4 };
        let side = if self.split { self.side_width() } else { self.options.page.width };
        width::left(side, taken).unwrap_or(1)
    }

    fn side_width(&self) -> usize {
        self.options.page.width.saturating_sub(1) / 2
    }

    fn height(&self, text: &str) -> usize {
        // Fast path for nearly all lines: no layout, so that a file of fifty thousand lines is planned at once.
        if text.len() <= self.text_width() && width::is_plain(text) {
            return 1;
        }
        let shown = shown(text);
        wrap::pieces(&shown, WrapLayout::anywhere(self.text_width())).count().max(1)
    }

    /// Returns up to `count` rows, starting at row `from`.
    pub fn rows(&self, file: &FileDiff, from: usize, count: usize) -> Vec<Row> {
        let window = &self.plan[from.min(self.plan.len())..from.saturating_add(count).min(self.plan.len())];
        let language = Language::of_path(&file.name());
        let mut hunk_at = None;
        let mut colours = Colours::default();
        let mut rows = Vec::with_capacity(window.len());
        for plan in window {
            if let Plan::Line { hunk, .. } | Plan::Pair { hunk, .. } = plan
                && hunk_at != Some(*hunk)
            {
                hunk_at = Some(*hunk);
                colours = Colours::of(&file.hunks[*hunk], &lines_of(window, *hunk), language);
            }
            rows.push(self.row(file, plan, &colours));
        }
        rows
    }

    fn row(&self, file: &FileDiff, plan: &Plan, colours: &Colours) -> Row {
        let glyphs = self.options.page.glyphs;
        match plan {
            Plan::Note(note) => Row::of(self.remarks[*note].clone(), Role::Muted),
            Plan::Gap { hunk, unchanged } => {
                let hunk = &file.hunks[*hunk];
                let lines =
                    unchanged.map(|lines| base::text::count(lines as usize, "unchanged line", "unchanged lines"));
                let words = [lines.unwrap_or_default(), width::visible(&hunk.heading).replace('\n', " ")];
                let words: Vec<&str> = words.iter().map(String::as_str).filter(|word| !word.is_empty()).collect();
                let text = format!("{} {}", glyphs.ellipsis, words.join("  "));
                let mut row = Row::new(vec![Span::decoration(text, Role::DiffHunk)]);
                row.truncate(self.options.page.width, glyphs.ellipsis);
                row
            }
            Plan::Fold { lines, .. } => {
                let count = base::text::count(lines.len(), "unchanged line", "unchanged lines");
                Row::new(vec![Span::decoration(format!("{} {count}", glyphs.folded), Role::DiffFold)])
            }
            Plan::Line { hunk, line, part } => {
                let diff_line = &file.hunks[*hunk].lines[*line];
                let mut row = Row::default();
                let number = |number: Option<u32>| self.number(number.filter(|_| *part == 0));
                row.push(Span::decoration(number(diff_line.old), Role::LineNumber));
                row.push(Span::decoration(number(diff_line.new), Role::LineNumber));
                row.end = self.side(diff_line, *line, *part, colours, &mut row);
                row.ground = ground(diff_line.kind);
                row
            }
            Plan::Pair { hunk, left, right, part } => {
                let mut row = Row::default();
                for (line, is_left) in [(left, true), (right, false)] {
                    let before = row.width();
                    if !is_left {
                        row.push(Span::decoration(glyphs.vertical, Role::Border));
                    }
                    if let Some(line) = line {
                        let diff_line = &file.hunks[*hunk].lines[*line];
                        let number = if is_left { diff_line.old } else { diff_line.new };
                        row.push(Span::decoration(self.number(number.filter(|_| *part == 0)), Role::LineNumber));
                        self.side(diff_line, *line, *part, colours, &mut row);
                        // Each side is filled separately: the background of the row would cover both.
                        let taken = row.width() - before - usize::from(!is_left);
                        let fill = " ".repeat(self.side_width().saturating_sub(taken));
                        let ink =
                            ground(diff_line.kind).map_or(Ink::new(Role::Text), |over| Ink::new(Role::Text).over(over));
                        row.push(Span::decoration(fill, ink));
                    } else if is_left {
                        row.push(Span::decoration(" ".repeat(self.side_width()), Role::Text));
                    }
                }
                row
            }
        }
    }

    fn number(&self, number: Option<u32>) -> String {
        let digits = self.digits;
        number.map_or_else(|| " ".repeat(digits + 1), |number| format!("{number:>digits$} "))
    }

    /// Appends the sign and one part of a line.
    fn side(&self, line: &Line, at: usize, part: usize, colours: &Colours, row: &mut Row) -> RowEnd {
        let (sign, role) = match line.kind {
            LineKind::Context => (" ", Role::DiffContext),
            LineKind::Added => ("+", Role::DiffPlus),
            LineKind::Removed => ("-", Role::DiffMinus),
        };
        let over = ground(line.kind);
        let ink = |role: Role| Ink { role, over, ..Ink::new(role) };
        let first =
            Span { copied: if part == 0 { Copied::Shown } else { Copied::Nothing }, ..Span::new(sign, ink(role)) };
        row.push(first);
        row.push(Span::decoration(" ", ink(role)));
        let mut spans = colours.spans(line, at, over);
        if self.options.spaces == Spaces::Visible {
            spans = spans.into_iter().flat_map(|span| visible_spaces(&span, self.options.page.glyphs.space)).collect();
        }
        let mut parts = wrap::spans(&spans, self.text_width(), &[], &[], Break::Anywhere);
        if part >= parts.len() {
            return RowEnd::Line;
        }
        let part = parts.swap_remove(part);
        part.spans.into_iter().for_each(|span| row.push(span));
        part.end
    }
}

fn ground(kind: LineKind) -> Option<Role> {
    match kind {
        LineKind::Context => None,
        LineKind::Added => Some(Role::DiffAdd),
        LineKind::Removed => Some(Role::DiffRemove),
    }
}

enum Block {
    Lines(Range<usize>),
    Fold(Range<usize>),
}

/// Splits a hunk into runs of changed and unchanged lines, with long unchanged runs folded.
fn blocks(hunk: &Hunk, context: Option<usize>) -> Vec<Block> {
    let mut out = Vec::new();
    let mut at = 0;
    for run in hunk.lines.chunk_by(|a, b| (a.kind == LineKind::Context) == (b.kind == LineKind::Context)) {
        let range = at..at + run.len();
        at = range.end;
        let keep = context.filter(|_| run.first().is_some_and(|line| line.kind == LineKind::Context));
        let head = keep.map(|keep| if range.start == 0 { 0 } else { keep });
        let tail = keep.map(|keep| if range.end == hunk.lines.len() { 0 } else { keep });
        match (head, tail) {
            // Folding one or two lines saves nothing. The context that came with the diff is never folded.
            (Some(head), Some(tail)) if run.len() > (head + tail).max(keep.unwrap_or(0)) + 2 => {
                let fold = range.start + head..range.end - tail;
                out.extend([
                    Block::Lines(range.start..fold.start),
                    Block::Fold(fold.clone()),
                    Block::Lines(fold.end..range.end),
                ]);
            }
            _ => out.push(Block::Lines(range)),
        }
    }
    out
}

/// Returns the lines of a hunk that a window shows.
fn lines_of(window: &[Plan], hunk: usize) -> Range<usize> {
    let lines = window.iter().flat_map(|plan| match plan {
        Plan::Line { hunk: at, line, .. } if *at == hunk => vec![*line],
        Plan::Pair { hunk: at, left, right, .. } if *at == hunk => left.iter().chain(right).copied().collect(),
        _ => Vec::new(),
    });
    let (low, high) = lines.fold((usize::MAX, 0), |(low, high), line| (low.min(line), high.max(line + 1)));
    low.min(high)..high
}
