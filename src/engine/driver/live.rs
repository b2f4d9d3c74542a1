//! Buffers the streamed output of runs until the driver publishes it. Output is merged while it waits, so a model or
//! tool that floods cannot fill the driver's queue or delay commands.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{Driver, EngineContext, Incoming};
use crate::base::{TaskId, Timestamp, known_secrets};
use crate::engine::machine::Input;
use crate::engine::update::Update;
use crate::model::Live;
use crate::model::live::Activity;

/// How often the machine is told that a model still streams.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// Waiting output, by task.
#[derive(Default)]
pub(in crate::engine) struct LiveBuffer(Mutex<Batches>);

#[derive(Default)]
struct Batches {
    by_task: BTreeMap<TaskId, Batch>,
    /// The number of the last batch.
    last_number: u64,
}

/// Streamed output since the last batch or the last event. The driver is woken once per batch, by its number: a late
/// wake-up must not show text that follows an event before that event.
struct Batch {
    number: u64,
    output: Vec<Live>,
}

impl LiveBuffer {
    /// Adds output. Returns the number if this starts a new batch, for which the driver must be woken.
    fn push(&self, task: TaskId, live: Live) -> Option<u64> {
        let mut batches = self.lock();
        if let Some(batch) = batches.by_task.get_mut(&task) {
            let rest = match batch.output.last_mut() {
                Some(last) => last.join(live),
                None => Some(live),
            };
            batch.output.extend(rest);
            return None;
        }
        batches.last_number += 1;
        let number = batches.last_number;
        batches.by_task.insert(task, Batch { number, output: vec![live] });
        Some(number)
    }

    /// Passes the output that precedes an event, which the store has just written, to `send`. Holds the lock
    /// meanwhile, so that newer output cannot overtake it.
    pub(in crate::engine) fn seal(&self, task: TaskId, send: impl FnOnce(Vec<Live>)) {
        let mut batches = self.lock();
        send(batches.by_task.remove(&task).map(|batch| batch.output).unwrap_or_default());
    }

    /// Takes a batch. Empty if an event took it already.
    fn take_batch(&self, task: TaskId, number: u64) -> Vec<Live> {
        let mut batches = self.lock();
        let is_current = batches.by_task.get(&task).is_some_and(|batch| batch.number == number);
        let batch = if is_current { batches.by_task.remove(&task) } else { None };
        batch.map(|batch| batch.output).unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, Batches> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The last report to the machine about the stream of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StreamState {
    streaming: bool,
    last_report: Option<Timestamp>,
}

impl StreamState {
    /// Returns true if the machine needs to know about `live`. Text is only shown, but the machine has to know when it
    /// starts and, once per interval, that it continues.
    fn concerns_machine(&mut self, now: Timestamp, live: &Live) -> bool {
        match live {
            Live::Activity { activity } => self.streaming = *activity == Activity::Streaming,
            Live::Retry { .. } => self.streaming = false,
            Live::TextDelta { .. } | Live::ThinkingDelta { .. } | Live::CallDelta { .. } => {
                let is_first = !std::mem::replace(&mut self.streaming, true);
                if !is_first && self.last_report.is_some_and(|at| now.since(at) < REPORT_INTERVAL) {
                    return false;
                }
            }
            Live::OutputChunk { .. } | Live::ProcessOutput { .. } | Live::Discarded => {
                if self.last_report.is_some_and(|at| now.since(at) < REPORT_INTERVAL) {
                    return false;
                }
            }
        }
        self.last_report = Some(now);
        true
    }
}

impl EngineContext {
    /// Publishes output of a run. Masks secrets that a command prints.
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
    pub(super) fn publish_batch(&mut self, task: TaskId, batch: u64) {
        let shown = self.ctx.live.take_batch(task, batch);
        self.publish_live(task, shown);
    }

    pub(super) fn publish_live(&mut self, task: TaskId, shown: Vec<Live>) {
        let now = self.ctx.clock.now();
        for live in shown {
            let is_relevant = self.streams.entry(task).or_default().concerns_machine(now, &live);
            self.live_turns.on_live(task, &live);
            let update = Update::Live { task, live };
            self.ctx.feed.publish(&update);
            if let Update::Live { live, .. } = update
                && is_relevant
            {
                self.step(Input::Live { task, live });
            }
        }
    }
}

#[cfg(test)]
#[path = "live_tests.rs"]
mod tests;
