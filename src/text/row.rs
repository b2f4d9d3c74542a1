//! Rows of the screen as roles and text. A theme turns a row into a drawn line.
//!
//! A row knows which of its text is decoration and whether it ends a line or was wrapped, so that a range of rows can
//! return the original text ([`copied`]).

use std::borrow::Cow;
use std::ops::Range;

use ratatui::style::{Modifier, Style};
use ratatui::text::Line;

use super::width;
use crate::theme::{Role, Theme};

/// How a piece of text is drawn: its role, an overlay, and additional attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ink {
    pub role: Role,
    /// An overlay: a part of a diff, a search match. Where it sets nothing, `role` shows through.
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

/// The text that copying a span yields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copied {
    /// The displayed text.
    Shown,
    /// No text: the span is decoration.
    Nothing,
    /// Another text than the displayed one.
    As(&'static str),
}

/// Text in one style.
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

    /// Returns a span that is not copied.
    pub fn decoration(text: impl Into<Cow<'static, str>>, ink: impl Into<Ink>) -> Self {
        Self { text: text.into(), ink: ink.into(), copied: Copied::Nothing }
    }

    pub fn width(&self) -> usize {
        width::of(&self.text)
    }
}

/// How a row ends in its source text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowEnd {
    /// The line ends here.
    #[default]
    Line,
    /// The line continues in the next row, without a gap.
    Wrapped,
    /// The line continues in the next row; the spaces between are not shown.
    WrappedAtSpace,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    pub spans: Vec<Span>,
    /// The background of the whole row, to the right edge.
    pub ground: Option<Role>,
    pub end: RowEnd,
}

impl Row {
    pub fn new(spans: Vec<Span>) -> Self {
        Self { spans, ..Self::default() }
    }

    /// Returns a row of one span.
    pub fn of(text: impl Into<Cow<'static, str>>, ink: impl Into<Ink>) -> Self {
        Self::new(vec![Span::new(text, ink)])
    }

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

    /// Returns the displayed text, including decoration.
    pub fn shown(&self) -> String {
        self.spans.iter().map(|span| span.text.as_ref()).collect()
    }

    /// Returns the text without decoration.
    pub fn source_text(&self) -> String {
        self.spans
            .iter()
            .map(|span| match span.copied {
                Copied::Shown => span.text.as_ref(),
                Copied::Nothing => "",
                Copied::As(text) => text,
            })
            .collect()
    }

    /// Returns the row drawn with `theme`. The style of the line fills the row to its end.
    pub fn line<'a>(&'a self, theme: &Theme) -> Line<'a> {
        let spans = self.spans.iter().map(|span| ratatui::text::Span::styled(&*span.text, span.ink.style(theme)));
        let line = Line::from(spans.collect::<Vec<_>>());
        match self.ground {
            Some(ground) => line.style(theme.style(ground)),
            None => line,
        }
    }

    /// Puts `over` on a byte range of the displayed text.
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

    /// Cuts the row to a width.
    pub fn truncate(&mut self, columns: usize, ellipsis: &'static str) {
        if self.width() <= columns {
            return;
        }
        let mut room = columns.saturating_sub(width::of(ellipsis));
        let mut spans = Vec::new();
        let mut ink = Ink::new(Role::Muted);
        for span in self.spans.drain(..) {
            let (text, used) = width::prefix(&span.text, room);
            room -= used;
            ink = span.ink;
            let cut = text.len() < span.text.len();
            if !text.is_empty() {
                spans.push(Span { text: text.to_owned().into(), ..span });
            }
            if cut {
                break;
            }
        }
        if columns >= width::of(ellipsis) {
            spans.push(Span::decoration(ellipsis, ink));
        }
        self.spans = spans;
    }
}

/// Returns the source text of rows: without decoration, with wrapped lines joined.
pub fn copied(rows: &[Row]) -> String {
    let mut out = String::new();
    for (at, row) in rows.iter().enumerate() {
        out.push_str(&row.source_text());
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
