//! What is known of a session, and how it grows at both ends.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use crate::base::{EventId, TaskId, Timestamp};
use crate::model::event::MoveReason;
use crate::model::{Body, Event, Live};
use crate::text::Row;
use crate::ui::transcript::cache::{Cache, Key, Stream};
use crate::ui::transcript::entry::{self, Entry, Id, Kind};
use crate::ui::transcript::fold::Fold;
use crate::ui::transcript::lay::{self, Page};
use crate::ui::transcript::log::{self, LogLine};
use crate::ui::transcript::search::Search;
use crate::ui::transcript::viewport::{Measure, Spot};

/// How many events are read at once.
pub const PAGE: usize = 300;
/// How many entries are kept while nobody reads the older ones.
const MOST_ENTRIES: usize = 4_000;

/// What is being read from disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Loading {
    #[default]
    Nothing,
    Newest,
    Older,
    /// Nothing could be read before this event, or nothing at all. Not tried again by itself: that would never end.
    Failed(Option<EventId>),
}

/// A place in a transcript that survives everything that happens to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    pub id: Id,
    /// Counted from the first row of the entry itself. What stands above it comes and goes with its neighbours and
    /// has numbers below zero.
    pub row: isize,
}

/// The transcript of one task.
#[derive(Clone, Debug)]
pub struct Transcript {
    pub task: TaskId,
    fold: Fold,
    /// What is being made, in the order in which it is shown.
    tail: Vec<Entry>,
    /// Each in a place of its own, as the entries are.
    log: VecDeque<Box<LogLine>>,
    /// The oldest event that is here.
    first: Option<EventId>,
    last: Option<EventId>,
    more: bool,
    loading: Loading,
    /// What happened while the newest events were being read.
    waiting: Vec<Event>,
    /// The event that is being gone to, and how much is read at once to get there.
    seeking: Option<(EventId, usize)>,
    pub(super) follow: bool,
    pub(super) anchor: Option<Anchor>,
    pub(super) cursor: Option<Id>,
    pub(super) unfolded: HashSet<Id>,
    pub(super) search: Search,
    /// Rows being chosen, from where to where.
    pub(super) select: Option<(Anchor, Anchor)>,
    cache: Cache,
    stream: Stream,
    /// Lines that arrived while one was reading further up.
    pub(super) unseen: usize,
}

impl Transcript {
    pub fn new(task: TaskId) -> Self {
        Self {
            task,
            fold: Fold::default(),
            tail: Vec::new(),
            log: VecDeque::new(),
            first: None,
            last: None,
            more: true,
            loading: Loading::Nothing,
            waiting: Vec::new(),
            seeking: None,
            follow: true,
            anchor: None,
            cursor: None,
            unfolded: HashSet::new(),
            search: Search::default(),
            select: None,
            cache: Cache::default(),
            stream: Stream::default(),
            unseen: 0,
        }
    }

    /// Returns what has to be read first, if nothing has been yet: nothing before this event.
    pub fn wants_newest(&mut self) -> bool {
        let wants = self.last.is_none() && self.loading == Loading::Nothing && self.more;
        if wants {
            self.loading = Loading::Newest;
        }
        wants
    }

    /// Returns the event before which older ones should be read, if one is near the oldest and there are any.
    pub fn wants_older(&mut self, near: bool) -> Option<EventId> {
        if !near || !self.more || self.loading != Loading::Nothing {
            return None;
        }
        let before = self.first?;
        self.loading = Loading::Older;
        Some(before)
    }

    /// Goes to an event, once it has been read.
    pub fn seek(&mut self, event: EventId) {
        self.seeking = Some((event, PAGE));
    }

    /// Returns the event before which so many should be read, to get to the one that is being gone to. More each time:
    /// a place far back must not take a thousand readings.
    pub fn wants_sought(&mut self) -> Option<(EventId, usize)> {
        let (event, count) = self.seeking.filter(|_| self.more && self.loading == Loading::Nothing)?;
        let before = self.first.filter(|first| *first > event)?;
        self.seeking = Some((event, count.saturating_mul(2)));
        self.loading = Loading::Older;
        Some((before, count))
    }

    /// Returns the event that is being gone to if it can be gone to now: it is here, or nothing more will come.
    pub fn sought(&mut self) -> Option<EventId> {
        let (event, _) = self.seeking.filter(|_| self.loading == Loading::Nothing && self.last.is_some())?;
        let here = !self.more || self.first.is_some_and(|first| first <= event);
        here.then(|| self.seeking = None).map(|()| event)
    }

    pub fn is_loading(&self) -> bool {
        matches!(self.loading, Loading::Newest | Loading::Older)
    }

    /// Tells whether older events exist that are not here.
    pub fn has_more(&self) -> bool {
        self.more
    }

    pub fn entry_count(&self) -> usize {
        self.fold.entries.len() + self.tail.len()
    }

    /// Returns how many entries are in the log: the first ones.
    pub(super) fn kept_count(&self) -> usize {
        self.fold.entries.len()
    }

    /// Returns the place of the first entry of the log after `id`.
    pub(super) fn first_after(&self, id: Id) -> usize {
        self.fold.entries.partition_point(|entry| entry.id <= id)
    }

    pub fn entries(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.fold.entries.iter().map(Box::as_ref).chain(&self.tail)
    }

    pub fn entry(&self, index: usize) -> Option<&Entry> {
        let kept = self.fold.entries.len();
        if index < kept { self.fold.entries.get(index).map(Box::as_ref) } else { self.tail.get(index - kept) }
    }

    pub fn index_of(&self, id: Id) -> Option<usize> {
        match id {
            Id::Event(_) => self.fold.entries.binary_search_by_key(&id, |entry| entry.id).ok(),
            Id::Live(_) => {
                self.tail.iter().position(|entry| entry.id == id).map(|place| self.fold.entries.len() + place)
            }
        }
    }

    /// Returns where `id` stands, or the entry that took its place.
    pub fn index_near(&self, id: Id) -> usize {
        self.index_of(id).unwrap_or_else(|| {
            let place = self.fold.entries.partition_point(|entry| entry.id < id);
            place.min(self.entry_count().saturating_sub(1))
        })
    }

    pub fn log(&self) -> &VecDeque<Box<LogLine>> {
        &self.log
    }

    pub fn is_following(&self) -> bool {
        self.follow
    }

    /// Takes in events that were read: the newest ones, or those before what is here.
    pub fn page(&mut self, before: Option<EventId>, events: &[Event], more: bool) {
        if before.is_none() {
            return self.newest(events, more);
        }
        self.loading = Loading::Nothing;
        if before != self.first {
            return;
        }
        self.more = more;
        self.first = events.first().map(|event| event.id).or(self.first);
        let mut older = Fold::of(events);
        self.join(&mut older);
        // One by one in front: what is here already stays where it is, however much that is.
        older.entries.into_iter().rev().for_each(|entry| self.fold.entries.push_front(entry));
        events.iter().rev().for_each(|event| self.log.push_front(Box::new(log::line(event))));
        self.recount();
    }

    /// Results whose calls lie in the older part move to them.
    fn join(&mut self, older: &mut Fold) {
        for entry in &mut older.entries {
            let Kind::Tool(call) = &mut entry.kind else { continue };
            if call.result.is_some() {
                continue;
            }
            let orphan = self.fold.entries.iter().position(
                |newer| matches!(&newer.kind, Kind::Tool(tool) if tool.asked.is_none() && tool.call == call.call),
            );
            let Some(orphan) = orphan.and_then(|place| self.fold.entries.remove(place)) else { continue };
            if let Kind::Tool(tool) = orphan.kind {
                call.result = tool.result;
            }
            entry.changed();
            for spot in [self.anchor.as_mut().map(|anchor| &mut anchor.id), self.cursor.as_mut()].into_iter().flatten()
            {
                if *spot == orphan.id {
                    *spot = entry.id;
                }
            }
        }
    }

    /// Nothing can be read before this event, or nothing at all.
    pub fn no_page(&mut self, before: Option<EventId>) {
        self.loading = Loading::Failed(before);
        self.seeking = None;
        if before.is_none() {
            let waiting = std::mem::take(&mut self.waiting);
            waiting.iter().for_each(|event| self.event(event));
        }
    }

    /// Tries again what could not be read, because somebody looks.
    pub fn try_again(&mut self) {
        let Loading::Failed(before) = self.loading else { return };
        self.loading = Loading::Nothing;
        if before.is_none() {
            self.last = None;
        }
    }

    fn newest(&mut self, events: &[Event], more: bool) {
        self.loading = Loading::Nothing;
        self.more = more;
        self.fold = Fold::of(events);
        self.log = events.iter().map(|event| Box::new(log::line(event))).collect();
        self.first = events.first().map(|event| event.id);
        self.last = events.last().map(|event| event.id);
        self.cache.clear();
        self.recount();
        let waiting = std::mem::take(&mut self.waiting);
        waiting.iter().for_each(|event| self.event(event));
    }

    /// Takes in an event that has just happened.
    pub fn event(&mut self, event: &Event) {
        if self.loading == Loading::Newest {
            self.waiting.push(event.clone());
            return;
        }
        if self.last.is_some_and(|last| event.id <= last) {
            return;
        }
        if matches!(&event.body, Body::HeadMoved(moved) if moved.reason == MoveReason::Redo) {
            // What was struck out counts again; only the disk knows what else belongs to it.
            self.last = None;
            self.more = true;
            self.loading = Loading::Nothing;
            return;
        }
        self.last = Some(event.id);
        self.first = self.first.or(Some(event.id));
        let before = self.fold.entries.len();
        self.fold.apply(event);
        self.log.push_back(Box::new(log::line(event)));
        self.settle_tail(event, before);
        if matches!(
            &event.body,
            Body::ToolResult(_) | Body::AskAnswered(_) | Body::CompactMarker(_) | Body::DoneNotified(_)
        ) {
            self.recount_newest();
        }
        if !self.follow {
            self.unseen += self.fold.entries.len().saturating_sub(before);
        }
        // What is being read goes before what is the oldest now.
        if self.fold.entries.len() > MOST_ENTRIES + MOST_ENTRIES / 4 && !self.is_loading() && self.seeking.is_none() {
            self.forget_oldest();
        }
    }

    /// What was being made is in the log now: the place in it goes over to its entry.
    fn settle_tail(&mut self, event: &Event, before: usize) {
        let live = match &event.body {
            Body::AssistantText(_) => Some(entry::Live::Text),
            Body::Thinking(_) => Some(entry::Live::Thinking),
            Body::ToolCall(_) => Some(entry::Live::Call),
            Body::TurnEnded(_) | Body::RunEnded(_) | Body::RunStarted(_) => {
                self.tail.clear();
                None
            }
            _ => None,
        };
        let Some(live) = live.map(Id::Live) else { return };
        self.tail.retain(|entry| entry.id != live);
        let Some(new) = self.fold.entries.get(before).map(|entry| entry.id) else { return };
        if let Some(anchor) = self.anchor.as_mut().filter(|anchor| anchor.id == live) {
            anchor.id = new;
        }
        if self.cursor == Some(live) {
            self.cursor = Some(new);
        }
        if self.unfolded.remove(&live) {
            self.unfolded.insert(new);
        }
    }

    fn forget_oldest(&mut self) {
        let surplus = self.fold.entries.len() - MOST_ENTRIES;
        // Whoever reads further up keeps the place and what is near it.
        let read = self.anchor.filter(|_| !self.follow).map(|anchor| self.index_near(anchor.id).saturating_sub(PAGE));
        let cut = read.map_or(surplus, |read| read.min(surplus));
        if cut == 0 {
            return;
        }
        self.fold.entries.drain(..cut);
        if let Some(Id::Event(first)) = self.fold.entries.front().map(|entry| entry.id) {
            self.first = Some(first);
            let keep = self.log.partition_point(|line| line.id < first);
            self.log.drain(..keep);
        }
        self.forget_counted();
        self.more = true;
    }

    /// Takes in something to look at that is not kept.
    pub fn live(&mut self, live: &Live, now: Timestamp) {
        match live {
            Live::TextDelta { text } => self.grow(entry::Live::Text, text, now),
            Live::ThinkingDelta { text } => self.grow(entry::Live::Thinking, text, now),
            Live::CallDelta { name, bytes, .. } => {
                let entry = self.tail_entry(entry::Live::Call, now);
                entry.kind = Kind::Writing { name: name.clone(), bytes: *bytes };
                entry.changed();
            }
            Live::OutputChunk { call, text, .. } => {
                // Output of a call that is not here comes again with its result.
                let running = self.fold.entries.iter_mut().rev().take(200).find(
                    |entry| matches!(&entry.kind, Kind::Tool(tool) if tool.call == *call && tool.result.is_none()),
                );
                if let Some(entry) = running
                    && let Kind::Tool(tool) = &mut entry.kind
                {
                    tool.output.push(text);
                    entry.changed();
                }
            }
            Live::Discarded => self.tail.clear(),
            Live::ProcessOutput { .. } | Live::Activity { .. } | Live::Retry { .. } => {}
        }
    }

    fn tail_entry(&mut self, live: entry::Live, now: Timestamp) -> &mut Entry {
        let id = Id::Live(live);
        let place = self.tail.iter().position(|entry| entry.id == id).unwrap_or_else(|| {
            let kind = match live {
                entry::Live::Thinking => Kind::Thinking { text: String::new(), hidden: false },
                entry::Live::Text => Kind::Text { text: String::new() },
                entry::Live::Call => Kind::Writing { name: String::new(), bytes: 0 },
            };
            let turn = self.fold.entries.back().map_or(0, |entry| entry.turn);
            let place = self.tail.partition_point(|entry| entry.id < id);
            self.tail.insert(place, Entry::new(id, now, turn, kind));
            place
        });
        &mut self.tail[place]
    }

    fn grow(&mut self, live: entry::Live, delta: &str, now: Timestamp) {
        let entry = self.tail_entry(live, now);
        if let Kind::Text { text } | Kind::Thinking { text, .. } = &mut entry.kind {
            text.push_str(delta);
        }
        entry.changed();
    }

    /// Takes in the whole output of a tool call.
    pub fn full_output(&mut self, event: EventId, text: String) {
        let id = Id::Event(event);
        if let Some(entry) = self.index_of(id).and_then(|index| self.fold.entries.get_mut(index))
            && let Kind::Tool(tool) = &mut entry.kind
        {
            tool.full = Some(text);
            entry.changed();
        }
    }

    /// Returns the rows of an entry at a width, without what stands above it.
    pub fn rows(&self, entry: &Entry, page: &Page<'_>) -> Arc<Vec<Row>> {
        let unfolded = self.unfolded.contains(&entry.id);
        let key = Key { version: entry.version, width: page.width, unfolded };
        let page = Page { unfolded, ..*page };
        self.cache.rows(entry.id, key, || match &entry.kind {
            Kind::Text { text } if entry.id == Id::Live(entry::Live::Text) => self.stream.rows(text, &page),
            _ => lay::rows(entry, &page),
        })
    }

    /// Returns what stands above an entry.
    pub fn lead(&self, index: usize, page: &Page<'_>) -> Vec<Row> {
        let before = index.checked_sub(1).and_then(|before| self.entry(before));
        self.entry(index).map(|entry| lay::lead(before, entry, page)).unwrap_or_default()
    }

    /// Forgets every layout, after a change of glyphs or time zone.
    pub fn forget_layouts(&self) {
        self.cache.clear();
    }

    /// Returns how many layouts have been made.
    #[cfg(test)]
    pub fn layouts_made(&self) -> u64 {
        self.cache.made()
    }

    pub(super) fn spot(&self, anchor: Anchor, page: &Page<'_>) -> Spot {
        let entry = self.index_near(anchor.id);
        let row = if self.index_of(anchor.id).is_some() { anchor.row } else { 0 };
        Spot { entry, row: self.lead(entry, page).len().saturating_add_signed(row) }
    }

    pub(super) fn anchor_at(&self, spot: Spot, page: &Page<'_>) -> Option<Anchor> {
        let row = spot.row.cast_signed() - self.lead(spot.entry, page).len().cast_signed();
        self.entry(spot.entry).map(|entry| Anchor { id: entry.id, row })
    }
}

/// A transcript at a width: what can be measured.
pub struct Measured<'a> {
    pub transcript: &'a Transcript,
    pub page: &'a Page<'a>,
}

impl Measure for Measured<'_> {
    fn len(&self) -> usize {
        self.transcript.entry_count()
    }

    fn height(&self, index: usize) -> usize {
        let Some(entry) = self.transcript.entry(index) else { return 0 };
        self.transcript.lead(index, self.page).len() + self.transcript.rows(entry, self.page).len()
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
