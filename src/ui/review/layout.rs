//! The layout of a comparison at a width: maps rows to positions and builds visible rows. Comments follow their lines.

use std::ops::Range;
use std::sync::Arc;

use crate::text::Row;
use crate::text::diff::{DiffRows, RowContent};
use crate::ui::review::comparison::Comparison;
use crate::ui::review::files;

/// A position in a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReviewPosition {
    pub file: usize,
    pub place: Place,
}

/// A position in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// The heading of the file.
    #[default]
    Name,
    Note(usize),
    /// The heading of a hunk.
    Head(usize),
    Line {
        hunk: usize,
        line: usize,
        part: usize,
    },
    /// A row of a comment.
    Comment {
        comment: usize,
        row: usize,
    },
    /// The blank row after a file.
    End,
}

impl ReviewPosition {
    pub fn hunk(self) -> Option<usize> {
        match self.place {
            Place::Head(hunk) | Place::Line { hunk, .. } => Some(hunk),
            Place::Name | Place::Note(_) | Place::Comment { .. } | Place::End => None,
        }
    }
}

/// A comment inserted into a file.
#[derive(Clone, Debug)]
pub struct Insert {
    /// The diff row that it follows. `None` if it follows the heading of the file.
    pub below: Option<usize>,
    pub comment: usize,
    pub rows: Vec<Row>,
    /// The row and column of the cursor, if the user writes it.
    pub cursor: Option<(usize, usize)>,
}

#[derive(Debug)]
pub struct FileLayout {
    pub start: usize,
    /// `None` for a folded file.
    pub rows: Option<Arc<DiffRows>>,
    /// Ordered by position.
    pub inserts: Vec<Insert>,
    len: usize,
}

/// The content of a row of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Local {
    Name,
    Comment {
        comment: usize,
        row: usize,
    },
    /// A row of the diff, or the one after its last.
    Diff(usize),
}

#[derive(Debug, Default)]
pub struct ReviewLayout {
    pub comparison: Arc<Comparison>,
    pub files: Vec<FileLayout>,
    pub len: usize,
    pub columns: usize,
}

impl ReviewLayout {
    pub fn new(comparison: Arc<Comparison>, columns: usize) -> Self {
        Self { comparison, columns, ..Self::default() }
    }

    /// Adds the next file.
    pub fn push(&mut self, rows: Option<Arc<DiffRows>>, mut inserts: Vec<Insert>) {
        inserts.sort_by_key(|insert| insert.below);
        let lines = rows.as_ref().map_or(0, |rows| rows.len());
        if rows.is_none() {
            inserts.clear();
        }
        let len = 1 + lines + inserts.iter().map(|insert| insert.rows.len()).sum::<usize>();
        self.files.push(FileLayout { start: self.len, rows, inserts, len });
        // An unfolded file is followed by a blank row.
        self.len += len + usize::from(lines > 0);
    }

    pub fn file_at(&self, row: usize) -> usize {
        self.files.partition_point(|file| file.start <= row).saturating_sub(1)
    }

    pub fn is_folded(&self, file: usize) -> bool {
        self.files.get(file).is_some_and(|file| file.rows.is_none())
    }

    /// Returns the position of a row.
    pub fn mark(&self, row: usize) -> ReviewPosition {
        let file = self.file_at(row.min(self.len.saturating_sub(1)));
        let place = self.files.get(file).map_or(Place::Name, |layout| layout.place(row.saturating_sub(layout.start)));
        ReviewPosition { file, place }
    }

    /// Returns the row of a position, or of the nearest visible one.
    pub fn row(&self, mark: ReviewPosition) -> usize {
        let Some(file) = self.files.get(mark.file) else { return self.len.saturating_sub(1) };
        file.start + file.row(mark.place)
    }

    /// Returns a range of rows with their positions.
    pub fn window(&self, rows: Range<usize>, make: &files::RowBuilder<'_>) -> Vec<(ReviewPosition, Row)> {
        let mut out = Vec::with_capacity(rows.len());
        let end = rows.end.min(self.len);
        let mut row = rows.start;
        while row < end {
            let mark = self.mark(row);
            let (Some(layout), Some(file)) = (self.files.get(mark.file), self.comparison.files.get(mark.file)) else {
                break;
            };
            match (mark.place, &layout.rows) {
                (Place::Note(_) | Place::Line { .. }, Some(rows)) => {
                    // Consecutive rows are built together: they share syntax colours.
                    let local = row - layout.start;
                    let Local::Diff(first) = layout.local(local) else { break };
                    let made = rows.rows(&file.diff, first, layout.run(local, end - row).max(1));
                    for made in made {
                        out.push((self.mark(row), files::indent_row(made)));
                        row += 1;
                    }
                    continue;
                }
                (Place::Head(hunk), _) => out.push((mark, make.head(mark.file, hunk))),
                (Place::Comment { comment, row: at }, _) => {
                    let insert = layout.inserts.iter().find(|insert| insert.comment == comment);
                    out.push((mark, insert.and_then(|insert| insert.rows.get(at)).cloned().unwrap_or_default()));
                }
                (Place::Name, _) => out.push((mark, make.name(mark.file, layout.rows.is_none()))),
                (Place::End | Place::Note(_) | Place::Line { .. }, _) => out.push((mark, Row::blank())),
            }
            row += 1;
        }
        out
    }

    /// Returns the row and column of the cursor in the comment being written.
    pub fn cursor(&self) -> Option<(usize, usize)> {
        self.files.iter().enumerate().find_map(|(at, file)| {
            let insert = file.inserts.iter().find(|insert| insert.cursor.is_some())?;
            let (row, column) = insert.cursor?;
            let place = Place::Comment { comment: insert.comment, row };
            Some((self.row(ReviewPosition { file: at, place }), column))
        })
    }
}

impl FileLayout {
    fn local(&self, row: usize) -> Local {
        let Some(mut row) = row.checked_sub(1) else { return Local::Name };
        for insert in &self.inserts {
            let above = insert.below.map_or(0, |below| below + 1);
            if row < above {
                break;
            }
            if row < above + insert.rows.len() {
                return Local::Comment { comment: insert.comment, row: row - above };
            }
            row -= insert.rows.len();
        }
        Local::Diff(row)
    }

    fn place(&self, row: usize) -> Place {
        let row = match self.local(row) {
            Local::Name => return Place::Name,
            Local::Comment { comment, row } => return Place::Comment { comment, row },
            Local::Diff(row) => row,
        };
        match self.rows.as_ref().and_then(|rows| rows.at(row)) {
            Some(RowContent::Note(note)) => Place::Note(note),
            Some(RowContent::Head(hunk)) => Place::Head(hunk),
            Some(RowContent::Fold { hunk, line }) => Place::Line { hunk, line, part: 0 },
            Some(RowContent::Line { hunk, line, part }) => Place::Line { hunk, line, part },
            None => Place::End,
        }
    }

    /// Returns how many rows from `row` on are consecutive diff rows.
    fn run(&self, row: usize, most: usize) -> usize {
        let Local::Diff(first) = self.local(row) else { return 0 };
        let is_plain = |at: &usize| {
            let place = self.place(row + at);
            self.local(row + at) == Local::Diff(first + at) && matches!(place, Place::Note(_) | Place::Line { .. })
        };
        (0..most).take_while(is_plain).count()
    }

    fn row(&self, place: Place) -> usize {
        let Some(rows) = &self.rows else { return 0 };
        let diff = match place {
            Place::Name => return 0,
            Place::End => return self.len - usize::from(rows.is_empty()),
            Place::Note(_) | Place::Head(_) | Place::Line { .. } if rows.is_empty() => return 0,
            Place::Note(note) => note,
            Place::Head(hunk) => rows.hunk_starts().get(hunk).copied().unwrap_or(0),
            Place::Line { hunk, line, part } => {
                let first = rows.row_of(hunk, line);
                let same = |row: usize| matches!(rows.at(row), Some(RowContent::Line { line: at, .. }) if at == line);
                (0..=part).rev().map(|part| first + part).find(|row| same(*row)).unwrap_or(first)
            }
            Place::Comment { comment, row } => {
                let mut before = 0;
                for insert in &self.inserts {
                    if insert.comment == comment {
                        let above = insert.below.map_or(0, |below| below + 1);
                        return 1 + above + before + row.min(insert.rows.len().saturating_sub(1));
                    }
                    before += insert.rows.len();
                }
                return 0;
            }
        };
        let before = self.inserts.iter().filter(|insert| insert.below.is_none_or(|below| below < diff));
        1 + diff + before.map(|insert| insert.rows.len()).sum::<usize>()
    }
}
