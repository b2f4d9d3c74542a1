//! Caches the layout of entries. A finished entry is layouts out once per width, and only when it becomes visible.
//! Bounded: the least recently used layouts are dropped.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use crate::text::{Row, StreamingMarkdown};
use crate::theme::Role;
use crate::ui::transcript::entry::EntryId;
use crate::ui::transcript::layout::{self, Page};

/// The maximum number of cached layouts.
const MAX_LAYOUTS: usize = 600;

/// The inputs of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    pub version: u32,
    pub width: usize,
    pub unfolded: bool,
}

#[derive(Debug)]
struct CachedLayout {
    key: Key,
    rows: Arc<Vec<Row>>,
    used: u64,
}

/// The layouts of a transcript.
#[derive(Debug, Default)]
pub struct Cache {
    layouts: RefCell<HashMap<EntryId, CachedLayout>>,
    clock: std::cell::Cell<u64>,
    /// How many layouts were made. For tests.
    made: std::cell::Cell<u64>,
}

impl Clone for Cache {
    /// Returns an empty cache.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Cache {
    /// Returns the rows of an entry, calling `lay` if they are missing or out of date.
    pub fn rows(&self, id: EntryId, key: Key, lay: impl FnOnce() -> Vec<Row>) -> Arc<Vec<Row>> {
        let now = self.clock.get() + 1;
        self.clock.set(now);
        if let Some(layouts) = self.layouts.borrow_mut().get_mut(&id)
            && layouts.key == key
        {
            layouts.used = now;
            return Arc::clone(&layouts.rows);
        }
        let rows = Arc::new(lay());
        self.made.set(self.made.get() + 1);
        let mut all = self.layouts.borrow_mut();
        if all.len() >= MAX_LAYOUTS {
            let mut ages: Vec<u64> = all.values().map(|layouts| layouts.used).collect();
            ages.sort_unstable();
            let limit = ages[ages.len() / 2];
            all.retain(|_, layouts| layouts.used > limit);
        }
        all.insert(id, CachedLayout { key, rows: Arc::clone(&rows), used: now });
        rows
    }

    pub fn clear(&self) {
        self.layouts.borrow_mut().clear();
    }

    #[cfg(test)]
    pub fn made(&self) -> u64 {
        self.made.get()
    }
}

/// The Markdown being streamed. Its finished part is not layouts out again for every delta.
#[derive(Debug, Default)]
pub struct Stream(RefCell<Option<StreamingMarkdown>>);

impl Clone for Stream {
    /// Returns an empty cache.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Stream {
    pub fn rows(&self, text: &str, page: &Page<'_>) -> Vec<Row> {
        let mut stream = self.0.borrow_mut();
        let known = stream.take().filter(|known| text.starts_with(known.source()));
        let known = stream.insert(known.unwrap_or_else(|| StreamingMarkdown::new(layout::markdown_page(page))));
        known.set_page(layout::markdown_page(page));
        let new = known.source().len();
        known.push(&text[new..]);
        layout::gutter(known.rows().to_vec(), " ", Role::Agent)
    }
}
