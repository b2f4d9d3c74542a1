//! What runs show of themselves, on its way to those who watch. It waits here, put together, for the driver's next look: a
//! model or a tool that floods can neither fill the driver's queue nor keep a command waiting behind its text.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Mutex, PoisonError};
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
pub(in crate::engine) struct LiveBuffer(Mutex<BTreeMap<TaskId, Vec<Live>>>);

impl LiveBuffer {
    /// Adds what came. Returns true if nothing waited for this task: then the driver has to be told to look.
    fn push(&self, task: TaskId, live: Live) -> bool {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match waiting.entry(task) {
            Entry::Vacant(entry) => {
                entry.insert(vec![live]);
                true
            }
            Entry::Occupied(mut entry) => {
                let pieces = entry.get_mut();
                let rest = match pieces.last_mut() {
                    Some(last) => last.join(live),
                    None => Some(live),
                };
                pieces.extend(rest);
                false
            }
        }
    }

    fn take(&self, task: TaskId) -> Vec<Live> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&task).unwrap_or_default()
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
        if self.live.push(task, live) {
            let _ = self.incoming.send(Incoming::Live { task });
        }
    }
}

impl Driver {
    /// Tells what a run has shown so far. Comes before the events of that task: what they keep was shown first.
    pub(super) fn tell_live(&mut self, task: TaskId) {
        let now = self.parts.clock.now();
        for live in self.parts.live.take(task) {
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
