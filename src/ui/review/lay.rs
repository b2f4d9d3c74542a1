//! A comparison at a width: which row shows what, and rows for a window of it. Remarks stand below their lines.

use std::ops::Range;
use std::sync::Arc;

use crate::text::Row;
use crate::text::diff::{At, DiffRows};
use crate::ui::review::comparison::Comparison;
use crate::ui::review::files;

/// A place in a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    pub file: usize,
    pub place: Place,
}

/// A place in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// Its name.
    #[default]
    Name,
    Note(usize),
    /// The row before a hunk.
    Head(usize),
    Line {
        hunk: usize,
        line: usize,
        part: usize,
    },
    /// A row of a remark.
    Comment {
        comment: usize,
        row: usize,
    },
    /// The row of air behind a file.
    End,
}

impl Mark {
    pub fn hunk(self) -> Option<usize> {
        match self.place {
            Place::Head(hunk) | Place::Line { hunk, .. } => Some(hunk),
            Place::Name | Place::Note(_) | Place::Comment { .. } | Place::End => None,
        }
    }
}

/// A remark that stands in a file.
#[derive(Clone, Debug)]
pub struct Insert {
    /// The row of the file's diff that it stands below. Nothing: it stands below the name.
    pub below: Option<usize>,
    pub comment: usize,
    pub rows: Vec<Row>,
    /// Row and column of the cursor, where it is being written.
    pub cursor: Option<(usize, usize)>,
}

/// A file at a width.
#[derive(Debug)]
pub struct LaidFile {
    pub start: usize,
    /// Nothing for a file that is folded.
    pub rows: Option<Arc<DiffRows>>,
    /// Ordered by place.
    pub inserts: Vec<Insert>,
    len: usize,
}

/// What a row of a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Local {
    Name,
    Comment {
        comment: usize,
        row: usize,
    },
    /// A row of the diff, or the one behind its last.
    Diff(usize),
}

/// A comparison at a width.
#[derive(Debug, Default)]
pub struct Laid {
    pub comparison: Arc<Comparison>,
    pub files: Vec<LaidFile>,
    pub len: usize,
    pub columns: usize,
}

impl Laid {
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
        self.files.push(LaidFile { start: self.len, rows, inserts, len });
        // Files that are open have a row of air behind them.
        self.len += len + usize::from(lines > 0);
    }

    pub fn file_at(&self, row: usize) -> usize {
        self.files.partition_point(|file| file.start <= row).saturating_sub(1)
    }

    pub fn is_folded(&self, file: usize) -> bool {
        self.files.get(file).is_some_and(|file| file.rows.is_none())
    }

    /// Returns what a row shows.
    pub fn mark(&self, row: usize) -> Mark {
        let file = self.file_at(row.min(self.len.saturating_sub(1)));
        let place = self.files.get(file).map_or(Place::Name, |laid| laid.place(row.saturating_sub(laid.start)));
        Mark { file, place }
    }

    /// Returns the row of a place, or of the nearest one that is shown.
    pub fn row(&self, mark: Mark) -> usize {
        let Some(file) = self.files.get(mark.file) else { return self.len.saturating_sub(1) };
        file.start + file.row(mark.place)
    }

    /// Returns the rows of a range, with what each shows.
    pub fn window(&self, rows: Range<usize>, make: &files::Maker<'_>) -> Vec<(Mark, Row)> {
        let mut out = Vec::with_capacity(rows.len());
        let end = rows.end.min(self.len);
        let mut row = rows.start;
        while row < end {
            let mark = self.mark(row);
            let (Some(laid), Some(file)) = (self.files.get(mark.file), self.comparison.files.get(mark.file)) else {
                break;
            };
            match (mark.place, &laid.rows) {
                (Place::Note(_) | Place::Line { .. }, Some(rows)) => {
                    // Rows that follow each other are made at once: they share their colours.
                    let local = row - laid.start;
                    let Local::Diff(first) = laid.local(local) else { break };
                    let made = rows.rows(&file.diff, first, laid.run(local, end - row).max(1));
                    for made in made {
                        out.push((self.mark(row), files::set_in(made)));
                        row += 1;
                    }
                    continue;
                }
                (Place::Head(hunk), _) => out.push((mark, make.head(mark.file, hunk))),
                (Place::Comment { comment, row: at }, _) => {
                    let insert = laid.inserts.iter().find(|insert| insert.comment == comment);
                    out.push((mark, insert.and_then(|insert| insert.rows.get(at)).cloned().unwrap_or_default()));
                }
                (Place::Name, _) => out.push((mark, make.name(mark.file, laid.rows.is_none()))),
                (Place::End | Place::Note(_) | Place::Line { .. }, _) => out.push((mark, Row::blank())),
            }
            row += 1;
        }
        out
    }

    /// Returns where the cursor of a remark that is being written is: row and column.
    pub fn cursor(&self) -> Option<(usize, usize)> {
        self.files.iter().enumerate().find_map(|(at, file)| {
            let insert = file.inserts.iter().find(|insert| insert.cursor.is_some())?;
            let (row, column) = insert.cursor?;
            let place = Place::Comment { comment: insert.comment, row };
            Some((self.row(Mark { file: at, place }), column))
        })
    }
}

impl LaidFile {
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
            Some(At::Note(note)) => Place::Note(note),
            Some(At::Head(hunk)) => Place::Head(hunk),
            Some(At::Fold { hunk, line }) => Place::Line { hunk, line, part: 0 },
            Some(At::Line { hunk, line, part }) => Place::Line { hunk, line, part },
            None => Place::End,
        }
    }

    /// Returns how many rows from one on are made of the diff alone and follow each other.
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
                let same = |row: usize| matches!(rows.at(row), Some(At::Line { line: at, .. }) if at == line);
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
