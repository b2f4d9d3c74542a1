//! Rows of the screen as roles and text. A row becomes a drawn line only when a theme is at hand.
//!
//! A row remembers which of its text is decoration and whether it ends a line or was merely wrapped, so that a
//! range of rows gives back the text that was said ([`copied`]).

use std::borrow::Cow;
use std::ops::Range;

use ratatui::style::{Modifier, Style};
use ratatui::text::Line;

use super::width;
use crate::theme::{Role, Theme};

/// How a piece of text is to be drawn: what it is, what lies over it, and marks of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ink {
    pub role: Role,
    /// Drawn on top: a part of a diff, something found. Where it is silent the role shows through.
    pub over: Option<Role>,
    pub marks: Modifier,
}

impl Ink {
    pub const fn new(role: Role) -> Self {
        Self { role, over: None, marks: Modifier::empty() }
    }

    pub const fn over(self, over: Role) -> Self {
        Self { over: Some(over), ..self }
    }

    pub const fn with(self, marks: Modifier) -> Self {
        Self { marks: self.marks.union(marks), ..self }
    }

    pub fn style(self, theme: &Theme) -> Style {
        let style = theme.style(self.role).add_modifier(self.marks);
        match self.over {
            Some(over) => style.patch(theme.style(over)),
            None => style,
        }
    }
}

impl From<Role> for Ink {
    fn from(role: Role) -> Self {
        Self::new(role)
    }
}

/// What of a span is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copied {
    /// The text as it is shown.
    Shown,
    /// Nothing: it is decoration.
    Nothing,
    /// Something else than what is shown.
    As(&'static str),
}

/// Text of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    pub text: Cow<'static, str>,
    pub ink: Ink,
    pub copied: Copied,
}

impl Span {
    pub fn new(text: impl Into<Cow<'static, str>>, ink: impl Into<Ink>) -> Self {
        Self { text: text.into(), ink: ink.into(), copied: Copied::Shown }
    }

    /// Returns text that is not part of what was said.
    pub fn decoration(text: impl Into<Cow<'static, str>>, ink: impl Into<Ink>) -> Self {
        Self { text: text.into(), ink: ink.into(), copied: Copied::Nothing }
    }

    pub fn width(&self) -> usize {
        width::of(&self.text)
    }
}

/// What follows a row in the text that it came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowEnd {
    /// The line ends here.
    #[default]
    Line,
    /// The line goes on in the next row, without a gap.
    Wrapped,
    /// The line goes on in the next row; the spaces between are not shown.
    WrappedAtSpace,
}

/// One row of the screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    pub spans: Vec<Span>,
    /// What the whole row is painted with, to its very end.
    pub ground: Option<Role>,
    pub end: RowEnd,
}

impl Row {
    pub fn new(spans: Vec<Span>) -> Self {
        Self { spans, ..Self::default() }
    }

    /// Returns a row of one kind of text.
    pub fn of(text: impl Into<Cow<'static, str>>, ink: impl Into<Ink>) -> Self {
        Self::new(vec![Span::new(text, ink)])
    }

    /// Returns a row without anything on it.
    pub fn blank() -> Self {
        Self::default()
    }

    pub fn on(mut self, ground: Role) -> Self {
        self.ground = Some(ground);
        self
    }

    pub fn push(&mut self, span: Span) {
        if !span.text.is_empty() {
            self.spans.push(span);
        }
    }

    pub fn width(&self) -> usize {
        self.spans.iter().map(Span::width).sum()
    }

    /// Returns the text as it is shown, decoration included.
    pub fn shown(&self) -> String {
        self.spans.iter().map(|span| span.text.as_ref()).collect()
    }

    /// Returns the text as it was said, without decoration.
    pub fn said(&self) -> String {
        self.spans
            .iter()
            .map(|span| match span.copied {
                Copied::Shown => span.text.as_ref(),
                Copied::Nothing => "",
                Copied::As(text) => text,
            })
            .collect()
    }

    /// Returns the row as `theme` draws it. The style of the line fills the row to its end.
    pub fn line<'a>(&'a self, theme: &Theme) -> Line<'a> {
        let spans = self.spans.iter().map(|span| ratatui::text::Span::styled(&*span.text, span.ink.style(theme)));
        let line = Line::from(spans.collect::<Vec<_>>());
        match self.ground {
            Some(ground) => line.style(theme.style(ground)),
            None => line,
        }
    }

    /// Lays `over` on a range of bytes of the shown text.
    pub fn mark(&mut self, range: Range<usize>, over: Role) {
        let mut at = 0;
        let mut out = Vec::with_capacity(self.spans.len() + 2);
        for span in self.spans.drain(..) {
            let len = span.text.len();
            let cut = |byte: usize| span.text.floor_char_boundary(byte.saturating_sub(at).min(len));
            let (from, to) = (cut(range.start), cut(range.end.max(range.start)));
            at += len;
            if from == to {
                out.push(span);
                continue;
            }
            for (part, marked) in [(0..from, false), (from..to, true), (to..len, false)] {
                if part.is_empty() {
                    continue;
                }
                let ink = if marked { span.ink.over(over) } else { span.ink };
                out.push(Span { text: span.text[part].to_owned().into(), ink, copied: span.copied });
            }
        }
        self.spans = out;
    }

    /// Returns the row cut to a width.
    pub fn truncate(&mut self, columns: usize, ellipsis: &'static str) {
        if self.width() <= columns {
            return;
        }
        let mut room = columns.saturating_sub(width::of(ellipsis));
        let mut kept = Vec::new();
        let mut ink = Ink::new(Role::Muted);
        for span in self.spans.drain(..) {
            let (text, used) = width::prefix(&span.text, room);
            room -= used;
            ink = span.ink;
            let cut = text.len() < span.text.len();
            if !text.is_empty() {
                kept.push(Span { text: text.to_owned().into(), ..span });
            }
            if cut {
                break;
            }
        }
        if columns >= width::of(ellipsis) {
            kept.push(Span::decoration(ellipsis, ink));
        }
        self.spans = kept;
    }
}

/// Returns the text that rows were made of: without decoration, and with wrapped lines whole again.
pub fn copied(rows: &[Row]) -> String {
    let mut out = String::new();
    for (at, row) in rows.iter().enumerate() {
        out.push_str(&row.said());
        if at + 1 < rows.len() {
            match row.end {
                RowEnd::Line => out.push('\n'),
                RowEnd::Wrapped => {}
                RowEnd::WrappedAtSpace => out.push(' '),
            }
        }
    }
    out
}

#[cfg(test)]
#[path = "row_tests.rs"]
mod tests;
