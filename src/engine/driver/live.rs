//! What runs show of themselves, on its way to those who watch. It waits here, put together, for the driver's next look: a
//! model or a tool that floods can neither fill the driver's queue nor keep a command waiting behind its text.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{Driver, Incoming, Parts};
use crate::base::{TaskId, Timestamp, known_secrets};
use crate::engine::machine::Input;
use crate::engine::update::Update;
use crate::model::Live;
use crate::model::live::Activity;

/// How often the machine hears that a model still talks.
const WORD: Duration = Duration::from_secs(1);

/// What waits to be told, by task.
#[derive(Default)]
pub(in crate::engine) struct LiveBuffer(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    batches: BTreeMap<TaskId, Batch>,
    /// How many batches there have been.
    numbers: u64,
}

/// Streamed output since the last batch or the last event of the session. The driver is woken once for each batch, by its
/// number: a late wake-up must not show text that follows an event before that event.
struct Batch {
    number: u64,
    pieces: Vec<Live>,
}

impl LiveBuffer {
    /// Adds what came. Returns the number of a new batch: the driver has to be called for it.
    fn push(&self, task: TaskId, live: Live) -> Option<u64> {
        let mut waiting = self.lock();
        if let Some(batch) = waiting.batches.get_mut(&task) {
            let rest = match batch.pieces.last_mut() {
                Some(last) => last.join(live),
                None => Some(live),
            };
            batch.pieces.extend(rest);
            return None;
        }
        waiting.numbers += 1;
        let number = waiting.numbers;
        waiting.batches.insert(task, Batch { number, pieces: vec![live] });
        Some(number)
    }

    /// Passes what was shown before an event of this task, which the disk has just acknowledged, to `send`. Nothing new is
    /// taken in until that is done, so that nothing newer can be sent before it.
    pub(in crate::engine) fn seal(&self, task: TaskId, send: impl FnOnce(Vec<Live>)) {
        let mut waiting = self.lock();
        send(waiting.batches.remove(&task).map(|batch| batch.pieces).unwrap_or_default());
    }

    /// Takes a batch, unless it went with an event.
    fn take_batch(&self, task: TaskId, number: u64) -> Vec<Live> {
        let mut waiting = self.lock();
        let is_it = waiting.batches.get(&task).is_some_and(|batch| batch.number == number);
        let batch = if is_it { waiting.batches.remove(&task) } else { None };
        batch.map(|batch| batch.pieces).unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the machine has last heard of a run that streams.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Heard {
    streams: bool,
    word: Option<Timestamp>,
}

impl Heard {
    /// Returns true if the machine has something to decide about what came. Streamed text is only shown, except that it
    /// begins, and that from time to time the machine has to know that it goes on.
    fn concerns_machine(&mut self, now: Timestamp, live: &Live) -> bool {
        match live {
            Live::Activity { activity } => self.streams = *activity == Activity::Streaming,
            Live::Retry { .. } => self.streams = false,
            Live::TextDelta { .. } | Live::ThinkingDelta { .. } | Live::CallDelta { .. } => {
                let is_first = !std::mem::replace(&mut self.streams, true);
                if !is_first && self.word.is_some_and(|word| now.since(word) < WORD) {
                    return false;
                }
            }
            Live::OutputChunk { .. } | Live::ProcessOutput { .. } | Live::Discarded => {
                if self.word.is_some_and(|word| now.since(word) < WORD) {
                    return false;
                }
            }
        }
        self.word = Some(now);
        true
    }
}

impl Parts {
    /// Shows what a run does. Secrets that a command prints are not shown.
    pub(super) fn show(&self, task: TaskId, mut live: Live) {
        if let Live::OutputChunk { text, .. } = &mut live {
            *text = known_secrets::mask(text).into_owned();
        }
        if let Some(batch) = self.live.push(task, live) {
            let _ = self.incoming.send(Incoming::Live { task, batch });
        }
    }
}

impl Driver {
    /// Tells what a run showed since it was last told.
    pub(super) fn tell_batch(&mut self, task: TaskId, batch: u64) {
        let shown = self.parts.live.take_batch(task, batch);
        self.tell_live(task, shown);
    }

    pub(super) fn tell_live(&mut self, task: TaskId, shown: Vec<Live>) {
        let now = self.parts.clock.now();
        for live in shown {
            let concerns = self.heard.entry(task).or_default().concerns_machine(now, &live);
            let update = Update::Live { task, live };
            self.parts.feed.tell(&update);
            if let Update::Live { live, .. } = update
                && concerns
            {
                self.step(Input::Live { task, live });
            }
        }
    }
}

#[cfg(test)]
#[path = "live_tests.rs"]
mod tests;
