//! The last output of background processes, by task and process. Bounded, and dropped when the process ends.

use std::collections::BTreeMap;

use crate::base::{TaskId, text};
use crate::model::event::BackgroundRef;

/// The bytes kept per process: more than is ever visible.
const TAIL_BYTES: usize = 8 * 1024;

#[derive(Clone, Debug, Default)]
pub struct Tails(BTreeMap<(TaskId, String), String>);

impl Tails {
    pub fn push(&mut self, task: TaskId, process: &str, printed: &str) {
        let tail = self.0.entry((task, process.to_owned())).or_default();
        tail.push_str(printed);
        if tail.len() > 2 * TAIL_BYTES {
            *tail = text::suffix(tail, TAIL_BYTES).to_owned();
        }
    }

    pub fn of(&self, task: TaskId, process: &str) -> &str {
        self.0.get(&(task, process.to_owned())).map_or("", String::as_str)
    }

    /// Drops the output of processes that have ended.
    pub fn remove_ended(&mut self, task: TaskId, before: &[BackgroundRef], now: &[BackgroundRef]) {
        for gone in before.iter().filter(|old| now.iter().all(|process| process.id != old.id)) {
            self.0.remove(&(task, gone.id.clone()));
        }
    }

    pub fn forget(&mut self, task: TaskId) {
        self.0.retain(|(of, _), _| *of != task);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::testing::task;

    fn process(id: &str) -> BackgroundRef {
        BackgroundRef { id: id.to_owned(), command: "serve".to_owned() }
    }

    #[test]
    fn tail_is_kept_until_the_process_ends() {
        let mut tails = Tails::default();
        for line in 0..5_000 {
            tails.push(task(1), "bg-1", &format!("line {line}\n"));
        }
        tails.push(task(1), "bg-2", "other\n");
        assert!(tails.of(task(1), "bg-1").ends_with("line 4999\n"));
        assert!(tails.of(task(1), "bg-1").len() <= 2 * TAIL_BYTES);
        assert_eq!(tails.of(task(2), "bg-1"), "");
        tails.remove_ended(task(1), &[process("bg-1"), process("bg-2")], &[process("bg-2")]);
        assert_eq!((tails.of(task(1), "bg-1"), tails.of(task(1), "bg-2")), ("", "other\n"));
        tails.forget(task(1));
        assert_eq!(tails.of(task(1), "bg-2"), "");
    }
}
