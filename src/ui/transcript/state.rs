//! The loaded part of a session, growing at both ends.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use crate::base::{EventId, TaskId, Timestamp, text};
use crate::model::event::MoveReason;
use crate::model::live_turn::LiveTurn;
use crate::model::{Body, Event, Live};
use crate::text::Row;
use crate::ui::position::ReadingPosition;
use crate::ui::transcript::cache::{Cache, Key, Stream};
use crate::ui::transcript::entry::{Entry, EntryId, EntryKind, LivePart, ToolEntry};
use crate::ui::transcript::fold::Fold;
use crate::ui::transcript::layout::{self, Page};
use crate::ui::transcript::log::{self, LogLine};
use crate::ui::transcript::search::Search;
use crate::ui::transcript::viewport::{Measure, RowPosition};

/// How many events are loaded at once.
pub const PAGE: usize = 300;
/// How many entries are kept while the user does not read older ones.
const MAX_ENTRIES: usize = 4_000;

/// The pending load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Loading {
    #[default]
    Nothing,
    Newest,
    Older,
    /// Loading failed before this event, or at the end. Not retried by itself, or it would never stop.
    Failed(Option<EventId>),
}

/// An event to go to.
#[derive(Clone, Copy, Debug)]
struct Sought {
    event: EventId,
    /// How many events to load next to reach it.
    count: usize,
    /// The row of its entry that was the topmost one when the transcript was left.
    row: Option<isize>,
}

/// A stable position in a transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    pub id: EntryId,
    /// Counted from the first row of the entry itself. Rows above it, which depend on its neighbours, are negative.
    pub row: isize,
}

/// The transcript of one task.
#[derive(Clone, Debug)]
pub struct Transcript {
    pub task: TaskId,
    fold: Fold,
    /// Live entries, in display order.
    tail: Vec<Entry>,
    /// Boxed like the entries.
    log: VecDeque<Box<LogLine>>,
    /// The oldest loaded event.
    first: Option<EventId>,
    last: Option<EventId>,
    more: bool,
    loading: Loading,
    /// Events that arrived while the newest ones were loading.
    waiting: Vec<Event>,
    /// The loaded events are newer than the updates: streamed text is not shown until those have caught up.
    is_ahead: bool,
    seeking: Option<Sought>,
    pub(super) follow: bool,
    pub(super) anchor: Option<Anchor>,
    pub(super) cursor: Option<EntryId>,
    pub(super) unfolded: HashSet<EntryId>,
    pub(super) search: Search,
    /// The line selection, from its start to its end.
    pub(super) select: Option<(Anchor, Anchor)>,
    cache: Cache,
    stream: Stream,
    /// Entries that arrived while the user was reading further up.
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
            is_ahead: false,
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

    /// Returns true, once, if the newest events have to be loaded.
    pub fn wants_newest(&mut self) -> bool {
        let wants = self.last.is_none() && self.loading == Loading::Nothing && self.more;
        if wants {
            self.loading = Loading::Newest;
        }
        wants
    }

    /// Returns the event before which older ones have to be loaded, if `near` the oldest loaded one.
    pub fn wants_older(&mut self, near: bool) -> Option<EventId> {
        if !near || !self.more || self.loading != Loading::Nothing {
            return None;
        }
        let before = self.first?;
        self.loading = Loading::Older;
        Some(before)
    }

    /// Goes to an event once it is loaded.
    pub fn seek(&mut self, event: EventId) {
        self.seeking = Some(Sought { event, count: PAGE, row: None });
    }

    /// Continues where the transcript was left, once that is loaded.
    pub fn resume(&mut self, at: ReadingPosition) {
        self.seeking = Some(Sought { event: at.event, count: PAGE, row: Some(at.row) });
    }

    /// Returns the topmost visible row. `None` in follow mode.
    pub fn reading_position(&self) -> Option<ReadingPosition> {
        if let Some(Sought { event, row: Some(row), .. }) = self.seeking {
            return Some(ReadingPosition { event, row });
        }
        let anchor = self.anchor.filter(|_| !self.follow)?;
        Some(ReadingPosition { event: anchor.id.event()?, row: anchor.row })
    }

    /// Goes to the place where the transcript was left, if it is loaded.
    fn resume_if_loaded(&mut self) {
        let Some(Sought { event, row: Some(row), .. }) = self.seeking else { return };
        if !self.more || self.first.is_some_and(|first| first <= event) {
            self.seeking = None;
            self.follow = false;
            self.anchor = Some(Anchor { id: self.id_of(event), row });
        }
    }

    /// Returns the event before which to load, and how many, to reach the sought one. The count doubles each time, so
    /// that a distant event does not take a thousand loads.
    pub fn wants_sought(&mut self) -> Option<(EventId, usize)> {
        let sought = self.seeking.filter(|_| self.more && self.loading == Loading::Nothing)?;
        let (before, count) = (self.first.filter(|first| *first > sought.event)?, sought.count);
        self.seeking = Some(Sought { count: count.saturating_mul(2), ..sought });
        self.loading = Loading::Older;
        Some((before, count))
    }

    /// Returns the sought event once it is loaded, or once nothing more can be loaded.
    pub fn take_sought(&mut self) -> Option<EventId> {
        let is_ready = self.loading == Loading::Nothing && self.last.is_some();
        let Sought { event, .. } = self.seeking.filter(|sought| is_ready && sought.row.is_none())?;
        let here = !self.more || self.first.is_some_and(|first| first <= event);
        here.then(|| self.seeking = None).map(|()| event)
    }

    pub fn is_loading(&self) -> bool {
        matches!(self.loading, Loading::Newest | Loading::Older)
    }

    /// Returns true if older events are not loaded.
    pub fn has_more(&self) -> bool {
        self.more
    }

    pub fn entry_count(&self) -> usize {
        self.fold.entries.len() + self.tail.len() + self.fold.queued.len()
    }

    /// Returns the number of log entries, which come before the live ones.
    pub(super) fn log_entry_count(&self) -> usize {
        self.fold.entries.len()
    }

    /// Returns the index of the first log entry after `id`.
    pub(super) fn first_after(&self, id: EntryId) -> usize {
        self.fold.entries.partition_point(|entry| entry.id <= id)
    }

    pub fn entries(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.fold.entries.iter().map(Box::as_ref).chain(&self.tail).chain(&self.fold.queued)
    }

    pub fn entry(&self, index: usize) -> Option<&Entry> {
        let kept = self.fold.entries.len();
        let streamed = kept + self.tail.len();
        match index {
            _ if index < kept => self.fold.entries.get(index).map(Box::as_ref),
            _ if index < streamed => self.tail.get(index - kept),
            _ => self.fold.queued.get(index - streamed),
        }
    }

    pub fn index_of(&self, id: EntryId) -> Option<usize> {
        match id {
            EntryId::Event(_) | EntryId::Delayed { .. } => {
                self.fold.entries.binary_search_by_key(&id, |entry| entry.id).ok()
            }
            EntryId::Live(_) => {
                self.tail.iter().position(|entry| entry.id == id).map(|place| self.fold.entries.len() + place)
            }
            EntryId::Queued(_) => {
                let before = self.fold.entries.len() + self.tail.len();
                self.fold.queued.iter().position(|entry| entry.id == id).map(|place| before + place)
            }
        }
    }

    /// Returns the id of the entry that shows an event, or the id that it would have.
    pub(super) fn id_of(&self, event: EventId) -> EntryId {
        let plain = EntryId::Event(event);
        if self.index_of(plain).is_some() {
            return plain;
        }
        self.entries().map(|entry| entry.id).find(|id| id.event() == Some(event)).unwrap_or(plain)
    }

    /// Returns the index of `id`, or of the entry that took its place.
    pub fn index_near(&self, id: EntryId) -> usize {
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

    /// Takes in loaded events: the newest ones, or those before the oldest loaded one.
    pub fn on_page(&mut self, before: Option<EventId>, events: &[Event], more: bool) {
        if before.is_none() {
            return self.on_newest(events, more);
        }
        self.loading = Loading::Nothing;
        if before != self.first {
            return;
        }
        self.more = more;
        self.first = events.first().map(|event| event.id).or(self.first);
        let mut older = Fold::of(events);
        older.finish();
        self.join(&mut older);
        // Pushed one by one to the front, so that loaded entries are not moved.
        older.entries.into_iter().rev().for_each(|entry| self.fold.entries.push_front(entry));
        events.iter().rev().for_each(|event| self.log.push_front(Box::new(log::line(event))));
        self.recount();
        self.resume_if_loaded();
    }

    /// Moves results to their calls in the older part.
    fn join(&mut self, older: &mut Fold) {
        for entry in &mut older.entries {
            let EntryKind::Tool(call) = &mut entry.kind else { continue };
            if call.result.is_some() {
                continue;
            }
            let orphan = self.fold.entries.iter().position(
                |newer| matches!(&newer.kind, EntryKind::Tool(tool) if tool.asked.is_none() && tool.call == call.call),
            );
            let Some(orphan) = orphan.and_then(|place| self.fold.entries.remove(place)) else { continue };
            if let EntryKind::Tool(tool) = orphan.kind {
                call.result = tool.result;
            }
            entry.bump_version();
            for spot in [self.anchor.as_mut().map(|anchor| &mut anchor.id), self.cursor.as_mut()].into_iter().flatten()
            {
                if *spot == orphan.id {
                    *spot = entry.id;
                }
            }
        }
    }

    /// Takes note that events before `before`, or the newest ones, could not be loaded.
    pub fn on_page_failed(&mut self, before: Option<EventId>) {
        self.loading = Loading::Failed(before);
        self.seeking = None;
        if before.is_none() {
            let waiting = std::mem::take(&mut self.waiting);
            waiting.iter().for_each(|event| self.on_event(event));
        }
    }

    /// Retries a failed load, because the user looks at the transcript again.
    pub fn retry(&mut self) {
        let Loading::Failed(before) = self.loading else { return };
        self.loading = Loading::Nothing;
        if before.is_none() {
            self.last = None;
        }
    }

    fn on_newest(&mut self, events: &[Event], more: bool) {
        self.loading = Loading::Nothing;
        self.more = more;
        self.fold = Fold::of(events);
        self.log = events.iter().map(|event| Box::new(log::line(event))).collect();
        self.first = events.first().map(|event| event.id);
        self.last = events.last().map(|event| event.id);
        self.cache.clear();
        self.recount();
        self.resume_if_loaded();
        let waiting = std::mem::take(&mut self.waiting);
        waiting.iter().for_each(|event| self.on_event(event));
    }

    /// Takes in a new event.
    pub fn on_event(&mut self, event: &Event) {
        if self.loading == Loading::Newest {
            self.waiting.push(event.clone());
            return;
        }
        if self.last.is_some_and(|last| event.id <= last) {
            self.drop_live_entry(event);
            return;
        }
        if matches!(&event.body, Body::HeadMoved(moved) if moved.reason == MoveReason::Redo) {
            // Undone entries count again; the log has to be loaded anew.
            self.last = None;
            self.more = true;
            self.loading = Loading::Nothing;
            return;
        }
        self.last = Some(event.id);
        self.first = self.first.or(Some(event.id));
        let (before, count) = (self.fold.entries.len(), self.entry_count());
        let places = self.fold.apply(event);
        self.log.push_back(Box::new(log::line(event)));
        self.replace_live_entry(event, before);
        places.into_iter().for_each(|(old, new)| self.rename(old, new));
        if matches!(
            &event.body,
            Body::ToolResult(_) | Body::AskAnswered(_) | Body::CompactMarker(_) | Body::DoneNotified(_)
        ) {
            self.recount_newest();
        }
        if !self.follow {
            self.unseen += self.entry_count().saturating_sub(count);
        }
        // Entries being loaded belong before the current oldest one.
        if self.fold.entries.len() > MAX_ENTRIES + MAX_ENTRIES / 4 && !self.is_loading() && self.seeking.is_none() {
            self.forget_oldest();
        }
    }

    /// Replaces a live entry by its log entry, keeping position and folding.
    fn replace_live_entry(&mut self, event: &Event, before: usize) {
        let Some(live) = self.drop_live_entry(event) else { return };
        if let Some(new) = self.fold.entries.get(before).map(|entry| entry.id) {
            self.rename(live, new);
        }
    }

    /// Removes the streamed entries that an event stores or makes void. Returns the id of the stored one.
    fn drop_live_entry(&mut self, event: &Event) -> Option<EntryId> {
        let live = match &event.body {
            Body::AssistantText(_) => LivePart::Text,
            Body::Thinking(_) => LivePart::Thinking,
            Body::ToolCall(_) => LivePart::Call,
            Body::TurnEnded(_) | Body::RunEnded(_) | Body::RunStarted(_) => {
                self.tail.clear();
                return None;
            }
            _ => return None,
        };
        let live = EntryId::Live(live);
        self.tail.retain(|entry| entry.id != live);
        Some(live)
    }

    /// Moves position, cursor, search and folding to the new id of an entry.
    fn rename(&mut self, old: EntryId, new: EntryId) {
        let ends = self.select.as_mut().map(|(start, end)| [start, end]);
        let anchors =
            self.anchor.as_mut().into_iter().chain(self.search.current.as_mut()).chain(ends.into_iter().flatten());
        anchors.filter(|anchor| anchor.id == old).for_each(|anchor| anchor.id = new);
        if self.cursor == Some(old) {
            self.cursor = Some(new);
        }
        if self.unfolded.remove(&old) {
            self.unfolded.insert(new);
        }
    }

    fn forget_oldest(&mut self) {
        let surplus = self.fold.entries.len() - MAX_ENTRIES;
        // Keep what the user reads further up, and a page before it.
        let read = self.anchor.filter(|_| !self.follow).map(|anchor| self.index_near(anchor.id).saturating_sub(PAGE));
        let mut cut = read.map_or(surplus, |read| read.min(surplus));
        // A delayed entry stays with the response that it follows.
        while self.fold.entries.get(cut).is_some_and(|entry| matches!(entry.id, EntryId::Delayed { .. })) {
            cut += 1;
        }
        if cut == 0 {
            return;
        }
        self.fold.entries.drain(..cut);
        if let Some(first) = self.fold.entries.front().and_then(|entry| entry.id.event()) {
            self.first = Some(first);
            let keep = self.log.partition_point(|line| line.id < first);
            self.log.drain(..keep);
        }
        self.drop_old_counts();
        self.more = true;
    }

    /// Returns true if the loaded events are newer than the updates.
    pub fn is_ahead(&self) -> bool {
        self.is_ahead
    }

    /// Shows the streamed part of the turn under way, from its first character.
    pub fn sync_live(&mut self, turn: Option<&LiveTurn>, now: Timestamp) {
        self.tail.clear();
        let Some(turn) = turn else { return };
        self.is_ahead = turn.after.zip(self.last).is_some_and(|(after, last)| after < last);
        if self.is_ahead {
            return;
        }
        for (part, written) in [(LivePart::Thinking, &turn.thinking), (LivePart::Text, &turn.text)] {
            if written.dropped > 0 {
                let gone = format!("… {} earlier, shown when the turn is saved\n\n", text::size(written.dropped));
                self.append_live(part, &gone, now);
            }
            if !written.is_empty() {
                self.append_live(part, &written.text, now);
            }
        }
        if let Some(call) = &turn.call {
            self.set_writing(&call.name, call.bytes, now);
        }
        for (call, output) in &turn.outputs {
            if let Some((tool, version)) = self.running_call(call) {
                tool.output = output.clone();
                *version = version.wrapping_add(1);
            }
        }
    }

    /// Takes in live output that is not stored.
    pub fn on_live(&mut self, live: &Live, now: Timestamp) {
        // Loaded events show what is older; the rest is taken over once both are known.
        if self.loading == Loading::Newest || self.is_ahead {
            return;
        }
        match live {
            Live::TextDelta { text } => self.append_live(LivePart::Text, text, now),
            Live::ThinkingDelta { text } => self.append_live(LivePart::Thinking, text, now),
            Live::CallDelta { name, bytes, .. } => self.set_writing(name, *bytes, now),
            Live::OutputChunk { call, text, .. } => {
                // Output of a call that is not loaded arrives again with its result.
                if let Some((tool, version)) = self.running_call(call) {
                    tool.output.push_output(text);
                    *version = version.wrapping_add(1);
                }
            }
            Live::Discarded => self.tail.clear(),
            Live::ProcessOutput { .. } | Live::Activity { .. } | Live::Retry { .. } => {}
        }
    }

    fn set_writing(&mut self, name: &str, bytes: u64, now: Timestamp) {
        let entry = self.tail_entry(LivePart::Call, now);
        entry.kind = EntryKind::Writing { name: name.to_owned(), bytes };
        entry.bump_version();
    }

    /// Returns a call without a result, with the version of its entry.
    fn running_call(&mut self, call: &str) -> Option<(&mut ToolEntry, &mut u32)> {
        self.fold.entries.iter_mut().rev().take(200).find_map(|entry| {
            let Entry { kind, version, .. } = entry.as_mut();
            match kind {
                EntryKind::Tool(tool) if tool.call == call && tool.result.is_none() => Some((tool.as_mut(), version)),
                _ => None,
            }
        })
    }

    fn tail_entry(&mut self, live: LivePart, now: Timestamp) -> &mut Entry {
        let id = EntryId::Live(live);
        let place = self.tail.iter().position(|entry| entry.id == id).unwrap_or_else(|| {
            let kind = match live {
                LivePart::Thinking => EntryKind::Thinking { text: String::new(), hidden: false },
                LivePart::Text => EntryKind::Text { text: String::new() },
                LivePart::Call => EntryKind::Writing { name: String::new(), bytes: 0 },
            };
            let turn = self.fold.entries.back().map_or(0, |entry| entry.turn);
            let place = self.tail.partition_point(|entry| entry.id < id);
            self.tail.insert(place, Entry::new(id, now, turn, kind));
            place
        });
        &mut self.tail[place]
    }

    fn append_live(&mut self, live: LivePart, delta: &str, now: Timestamp) {
        let entry = self.tail_entry(live, now);
        if let EntryKind::Text { text } | EntryKind::Thinking { text, .. } = &mut entry.kind {
            text.push_str(delta);
        }
        entry.bump_version();
    }

    /// Takes in the full output of a tool call.
    pub fn on_full_output(&mut self, event: EventId, text: String) {
        let id = self.id_of(event);
        if let Some(entry) = self.index_of(id).and_then(|index| self.fold.entries.get_mut(index))
            && let EntryKind::Tool(tool) = &mut entry.kind
        {
            tool.full = Some(text);
            entry.bump_version();
        }
    }

    /// Returns the rows of an entry at a width, without the lead above it.
    pub fn rows(&self, entry: &Entry, page: &Page<'_>) -> Arc<Vec<Row>> {
        let unfolded = self.unfolded.contains(&entry.id);
        let key = Key { version: entry.version, width: page.width, unfolded };
        let page = Page { unfolded, ..*page };
        self.cache.rows(entry.id, key, || match &entry.kind {
            EntryKind::Text { text } if entry.id == EntryId::Live(LivePart::Text) => self.stream.rows(text, &page),
            _ => layout::rows(entry, &page),
        })
    }

    /// Returns the lead of an entry: blank row or date.
    pub fn lead(&self, index: usize, page: &Page<'_>) -> Vec<Row> {
        let before = index.checked_sub(1).and_then(|before| self.entry(before));
        self.entry(index).map(|entry| layout::lead(before, entry, page)).unwrap_or_default()
    }

    /// Drops all layouts, after a change of glyphs or time zone.
    pub fn forget_layouts(&self) {
        self.cache.clear();
    }

    #[cfg(test)]
    pub fn layouts_made(&self) -> u64 {
        self.cache.made()
    }

    pub(super) fn row_position(&self, anchor: Anchor, page: &Page<'_>) -> RowPosition {
        let entry = self.index_near(anchor.id);
        let row = if self.index_of(anchor.id).is_some() { anchor.row } else { 0 };
        RowPosition { entry, row: self.lead(entry, page).len().saturating_add_signed(row) }
    }

    pub(super) fn anchor_at(&self, spot: RowPosition, page: &Page<'_>) -> Option<Anchor> {
        let row = spot.row.cast_signed() - self.lead(spot.entry, page).len().cast_signed();
        self.entry(spot.entry).map(|entry| Anchor { id: entry.id, row })
    }
}

/// A transcript at a width.
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
