//! What a task has changed: a unified diff as rows, file by file, with files that can be folded.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use crate::base::TaskId;
use crate::text::{Row, Span, width};
use crate::theme::{Glyphs, Role};

/// The diff of a task.
#[derive(Debug, Default)]
pub struct DiffState {
    task: Option<TaskId>,
    text: Option<Result<String, String>>,
    pub loading: bool,
    folded: BTreeSet<usize>,
    pub top: usize,
    /// The file that keys act on.
    pub file: usize,
    laid: RefCell<Option<(usize, Rc<Laid>)>>,
}

impl Clone for DiffState {
    /// A copy lays itself out again.
    fn clone(&self) -> Self {
        Self {
            task: self.task,
            text: self.text.clone(),
            loading: self.loading,
            folded: self.folded.clone(),
            top: self.top,
            file: self.file,
            laid: RefCell::default(),
        }
    }
}

/// Rows, and where files begin in them.
#[derive(Debug, Default)]
pub struct Laid {
    pub rows: Vec<Row>,
    pub files: Vec<usize>,
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

    pub fn take(&mut self, task: TaskId, text: Result<String, String>) {
        if self.task == Some(task) {
            self.loading = false;
            self.text = Some(text);
            self.laid = RefCell::default();
        }
    }

    pub fn text(&self) -> Option<&str> {
        self.text.as_ref().and_then(|text| text.as_deref().ok())
    }

    pub fn problem(&self) -> Option<&str> {
        self.text.as_ref().and_then(|text| text.as_ref().err().map(String::as_str))
    }

    pub fn laid(&self, columns: usize, glyphs: &Glyphs) -> Rc<Laid> {
        if let Some((at, laid)) = &*self.laid.borrow()
            && *at == columns
        {
            return Rc::clone(laid);
        }
        let laid = Rc::new(lay(self.text().unwrap_or_default(), &self.folded, columns, glyphs));
        *self.laid.borrow_mut() = Some((columns, Rc::clone(&laid)));
        laid
    }

    pub fn toggle(&mut self, file: usize) {
        if !self.folded.remove(&file) {
            self.folded.insert(file);
        }
        self.laid = RefCell::default();
    }

    pub fn fold_all(&mut self, files: usize) {
        self.folded = (0..files).collect();
        self.laid = RefCell::default();
        self.top = 0;
    }

    pub fn unfold_all(&mut self) {
        self.folded.clear();
        self.laid = RefCell::default();
    }
}

fn lay(text: &str, folded: &BTreeSet<usize>, columns: usize, glyphs: &Glyphs) -> Laid {
    let mut laid = Laid::default();
    let mut hidden = false;
    for line in text.lines() {
        let line = width::visible(line);
        if let Some(name) = line.strip_prefix("diff --git ") {
            let file = laid.files.len();
            hidden = folded.contains(&file);
            if file > 0 {
                laid.rows.push(Row::blank());
            }
            laid.files.push(laid.rows.len());
            let sign = if hidden { glyphs.folded } else { glyphs.unfolded };
            let name = name.rsplit_once(" b/").map_or(name, |(_, name)| name).to_owned();
            laid.rows.push(Row::new(vec![
                Span::decoration(format!(" {sign} "), Role::Muted),
                Span::new(name, Role::DiffFile),
            ]));
            continue;
        }
        if hidden || line.starts_with("index ") || line.starts_with("--- ") || line.starts_with("+++ ") {
            continue;
        }
        let role = match line.as_bytes().first() {
            Some(b'+') => Role::DiffAdd,
            Some(b'-') => Role::DiffRemove,
            Some(b'@') => Role::DiffHunk,
            _ => Role::DiffContext,
        };
        let mut row = Row::new(vec![Span::decoration("   ", Role::Text), Span::new(line.into_owned(), role)]);
        row.truncate(columns.saturating_sub(1), glyphs.ellipsis);
        laid.rows.push(row);
    }
    laid
}
