//! What entries look like at a width, kept until it is out of date. A finished entry is laid out once for each width;
//! one that nobody looks at is never laid out. Bounded: what has not been looked at for longest is let go.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use crate::text::{Row, StreamingMarkdown};
use crate::theme::Role;
use crate::ui::transcript::entry::Id;
use crate::ui::transcript::lay::{self, Page};

/// How many entries are kept laid out.
const MOST: usize = 600;

/// What a layout was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    pub version: u32,
    pub width: usize,
    pub unfolded: bool,
}

#[derive(Debug)]
struct Laid {
    key: Key,
    rows: Arc<Vec<Row>>,
    used: u64,
}

/// The layouts of a transcript.
#[derive(Debug, Default)]
pub struct Cache {
    laid: RefCell<HashMap<Id, Laid>>,
    clock: std::cell::Cell<u64>,
    /// How many layouts were made, for tests that count.
    made: std::cell::Cell<u64>,
}

impl Clone for Cache {
    /// A copy starts empty: it is only a cache.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Cache {
    /// Returns the rows of an entry, made by `lay` if they are not there or out of date.
    pub fn rows(&self, id: Id, key: Key, lay: impl FnOnce() -> Vec<Row>) -> Arc<Vec<Row>> {
        let now = self.clock.get() + 1;
        self.clock.set(now);
        if let Some(laid) = self.laid.borrow_mut().get_mut(&id)
            && laid.key == key
        {
            laid.used = now;
            return Arc::clone(&laid.rows);
        }
        let rows = Arc::new(lay());
        self.made.set(self.made.get() + 1);
        let mut all = self.laid.borrow_mut();
        if all.len() >= MOST {
            let mut ages: Vec<u64> = all.values().map(|laid| laid.used).collect();
            ages.sort_unstable();
            let limit = ages[ages.len() / 2];
            all.retain(|_, laid| laid.used > limit);
        }
        all.insert(id, Laid { key, rows: Arc::clone(&rows), used: now });
        rows
    }

    pub fn clear(&self) {
        self.laid.borrow_mut().clear();
    }

    #[cfg(test)]
    pub fn made(&self) -> u64 {
        self.made.get()
    }
}

/// The Markdown that is being written: what is complete of it is not laid out again with every word.
#[derive(Debug, Default)]
pub struct Stream(RefCell<Option<StreamingMarkdown>>);

impl Clone for Stream {
    /// A copy starts empty: it is only a cache.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Stream {
    pub fn rows(&self, text: &str, page: &Page<'_>) -> Vec<Row> {
        let mut stream = self.0.borrow_mut();
        let known = stream.take().filter(|known| text.starts_with(known.source()));
        let known = stream.insert(known.unwrap_or_else(|| StreamingMarkdown::new(lay::markdown_page(page))));
        known.set_page(lay::markdown_page(page));
        let new = known.source().len();
        known.push(&text[new..]);
        lay::gutter(known.rows().to_vec(), " ", Role::Agent)
    }
}
