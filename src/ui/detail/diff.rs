//! What a task has changed: file by file, each with its counts, and rows only for what is looked at.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::base::TaskId;
use crate::text::diff::{self, DiffOptions, DiffRows, FileDiff};
use crate::text::width::{self, Cut};
use crate::text::{Row, Span};
use crate::theme::{Glyphs, Role};

/// The diff of a task.
#[derive(Debug, Default)]
pub struct DiffState {
    task: Option<TaskId>,
    text: Option<Result<String, String>>,
    files: Arc<Vec<FileDiff>>,
    pub loading: bool,
    folded: BTreeSet<usize>,
    pub top: usize,
    /// The file that keys act on.
    pub file: usize,
    laid: RefCell<Option<(usize, Arc<Laid>)>>,
}

impl Clone for DiffState {
    /// A copy lays itself out again.
    fn clone(&self) -> Self {
        Self {
            task: self.task,
            text: self.text.clone(),
            files: Arc::clone(&self.files),
            loading: self.loading,
            folded: self.folded.clone(),
            top: self.top,
            file: self.file,
            laid: RefCell::default(),
        }
    }
}

/// A diff at a width: where files begin, and what each of them has.
#[derive(Debug, Default)]
pub struct Laid {
    files: Arc<Vec<FileDiff>>,
    /// Nothing for a file that is folded.
    rows: Vec<Option<DiffRows>>,
    /// The row of each file's name.
    pub starts: Vec<usize>,
    pub len: usize,
    columns: usize,
    glyphs: Option<&'static Glyphs>,
}

impl DiffState {
    /// Tells whether the diff of `task` has to be asked for.
    pub fn wants(&mut self, task: TaskId) -> bool {
        if self.task == Some(task) && (self.loading || self.text.is_some()) {
            return false;
        }
        *self = Self { task: Some(task), loading: true, ..Self::default() };
        true
    }

    /// Asks for it again and keeps what is shown until it is there.
    pub fn reload(&mut self) {
        self.loading = true;
    }

    /// What is known of `task` is no longer so: it is asked for again when it is looked at.
    pub fn outdated(&mut self, task: TaskId) {
        if self.task == Some(task) {
            self.task = None;
        }
    }

    pub fn take(&mut self, task: TaskId, text: Result<String, String>) {
        if self.task != Some(task) {
            return;
        }
        self.loading = false;
        self.files = Arc::new(text.as_deref().map(diff::parse).unwrap_or_default());
        self.text = Some(text);
        self.laid = RefCell::default();
    }

    pub fn text(&self) -> Option<&str> {
        self.text.as_ref().and_then(|text| text.as_deref().ok())
    }

    pub fn problem(&self) -> Option<&str> {
        self.text.as_ref().and_then(|text| text.as_ref().err().map(String::as_str))
    }

    pub fn laid(&self, columns: usize, glyphs: &'static Glyphs) -> Arc<Laid> {
        if let Some((at, laid)) = &*self.laid.borrow()
            && *at == columns
        {
            return Arc::clone(laid);
        }
        let laid = Arc::new(Laid::new(&self.files, &self.folded, columns, glyphs));
        *self.laid.borrow_mut() = Some((columns, Arc::clone(&laid)));
        laid
    }

    pub fn toggle(&mut self, file: usize) {
        if !self.folded.remove(&file) {
            self.folded.insert(file);
        }
        self.laid = RefCell::default();
    }

    pub fn fold_all(&mut self) {
        self.folded = (0..self.files.len()).collect();
        self.laid = RefCell::default();
        self.top = 0;
    }

    pub fn unfold_all(&mut self) {
        self.folded.clear();
        self.laid = RefCell::default();
    }

    pub fn forget_layout(&self) {
        self.laid.borrow_mut().take();
    }
}

/// The columns before a diff.
const INDENT: usize = 3;

impl Laid {
    fn new(files: &Arc<Vec<FileDiff>>, folded: &BTreeSet<usize>, columns: usize, glyphs: &'static Glyphs) -> Self {
        let mut laid = Self { files: Arc::clone(files), columns, glyphs: Some(glyphs), ..Self::default() };
        let page = crate::text::Page::new(columns.saturating_sub(INDENT + 1), glyphs);
        for (at, file) in files.iter().enumerate() {
            // A row of air between two files.
            laid.len += usize::from(at > 0);
            laid.starts.push(laid.len);
            let rows = (!folded.contains(&at)).then(|| DiffRows::new(file, DiffOptions::new(page)));
            laid.len += 1 + rows.as_ref().map_or(0, DiffRows::len);
            laid.rows.push(rows);
        }
        laid
    }

    /// Returns the file that a row belongs to.
    pub fn file_at(&self, row: usize) -> usize {
        self.starts.partition_point(|start| *start <= row).saturating_sub(1)
    }

    /// Returns up to `count` rows from row `from` on.
    pub fn window(&self, from: usize, count: usize) -> Vec<Row> {
        let mut out = Vec::with_capacity(count);
        let end = (from + count).min(self.len);
        let mut row = from;
        while row < end {
            let file = self.file_at(row);
            let start = self.starts.get(file).copied().unwrap_or(0);
            if row == start {
                out.push(self.name(file));
                row += 1;
                continue;
            }
            let (first, here) = (row - start - 1, end - row);
            let made = match (self.rows.get(file).and_then(Option::as_ref), self.files.get(file)) {
                (Some(rows), Some(diff)) => rows.rows(diff, first, here),
                _ => Vec::new(),
            };
            row += made.len().max(1);
            if made.is_empty() {
                out.push(Row::blank());
            }
            out.extend(made.into_iter().map(|mut row| {
                row.spans.insert(0, Span::decoration(" ".repeat(INDENT), Role::Text));
                row
            }));
        }
        out
    }

    fn name(&self, at: usize) -> Row {
        let (Some(file), Some(glyphs)) = (self.files.get(at), self.glyphs) else { return Row::blank() };
        let sign = if self.rows.get(at).is_some_and(Option::is_some) { glyphs.unfolded } else { glyphs.folded };
        let counts = format!("  +{} -{}", file.added(), file.removed());
        let room = self.columns.saturating_sub(INDENT + 1 + width::of(&counts));
        let path = width::visible(file.path()).replace('\n', " ");
        let name = width::truncate(&path, room, Cut::Middle, glyphs.ellipsis).into_owned();
        Row::new(vec![
            Span::decoration(format!(" {sign} "), Role::Muted),
            Span::new(name, Role::DiffFile),
            Span::decoration(format!("  +{}", file.added()), Role::DiffPlus),
            Span::decoration(format!(" -{}", file.removed()), Role::DiffMinus),
        ])
    }
}
