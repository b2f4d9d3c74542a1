//! What each agent is doing, in one line: the call it makes or the text it writes; and what the agents did last. Bounded,
//! never stored.

use std::collections::{BTreeMap, VecDeque};

use crate::base::{TaskId, sanitize, text};
use crate::model::event::Verdict;
use crate::model::live_turn::LiveTurns;
use crate::model::{Body, Event, Live};
use crate::ui::transcript;

/// The bytes kept of a line: more than a sidebar shows.
const LINE_BYTES: usize = 240;

#[derive(Clone, Debug)]
enum Line {
    Call(String),
    /// The last line of the text that is being written.
    Text(String),
}

/// How much of what the agents did is kept.
const MOST_NEWS: usize = 12;

/// Something that an agent did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    pub task: TaskId,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    Call(String),
    Asked,
    Passed,
    Failed,
}

#[derive(Clone, Debug, Default)]
pub struct LiveLines {
    lines: BTreeMap<TaskId, Line>,
    /// The newest first.
    news: VecDeque<News>,
}

impl LiveLines {
    /// Returns the lines of turns that are under way.
    pub fn of_turns(turns: &LiveTurns) -> Self {
        let mut lines = Self::default();
        for (task, turn) in turns.iter() {
            for written in [&turn.thinking, &turn.text].into_iter().filter(|written| !written.is_empty()) {
                let text = text::suffix(&written.text, LINE_BYTES).to_owned();
                lines.on_live(task, &Live::TextDelta { text });
            }
        }
        lines
    }

    /// Takes in a stored event. Returns true if the line changed.
    pub fn on_event(&mut self, task: TaskId, event: &Event) -> bool {
        match &event.body {
            Body::ToolCall(call) => {
                let line = transcript::call_line(call);
                // The other calls are reported by what comes of them.
                if !matches!(transcript::shown_name(&call.name).as_ref(), "clarify" | "done" | "yield") {
                    self.report(task, What::Call(text::prefix(&line, LINE_BYTES).to_owned()));
                }
                self.lines.insert(task, Line::Call(line));
                true
            }
            Body::AskRaised(_) => self.report(task, What::Asked),
            Body::DoneNotified(done) => self.report(
                task,
                match done.verdict {
                    Verdict::Passed => What::Passed,
                    Verdict::Failed => What::Failed,
                },
            ),
            Body::RunStarted(_) | Body::RunEnded(_) => self.lines.remove(&task).is_some(),
            _ => false,
        }
    }

    fn report(&mut self, task: TaskId, what: What) -> bool {
        self.news.truncate(MOST_NEWS - 1);
        self.news.push_front(News { task, what });
        true
    }

    /// Returns what the agents did, the newest first.
    pub fn news(&self) -> impl Iterator<Item = &News> {
        self.news.iter()
    }

    /// Takes in streamed text: its last line is what the agent is writing.
    pub fn on_live(&mut self, task: TaskId, live: &Live) {
        let (Live::TextDelta { text: new } | Live::ThinkingDelta { text: new }) = live else { return };
        let mut line = match self.lines.remove(&task) {
            Some(Line::Text(line)) => line,
            Some(Line::Call(_)) | None => String::new(),
        };
        let body = new.trim_end_matches('\n');
        // After a line break a new line begins; until then the finished one stays.
        if line.ends_with('\n') && !body.trim().is_empty() {
            line.clear();
        }
        match body.rsplit_once('\n') {
            Some((_, last)) => last.clone_into(&mut line),
            None => line.push_str(body),
        }
        if body.len() < new.len() {
            line.push('\n');
        }
        if line.len() > 2 * LINE_BYTES {
            text::suffix(&line, LINE_BYTES).to_owned().clone_into(&mut line);
        }
        self.lines.insert(task, Line::Text(line));
    }

    pub fn of(&self, task: TaskId) -> Option<String> {
        let (Line::Call(line) | Line::Text(line)) = self.lines.get(&task)?;
        let line = sanitize::line(line.trim()).into_owned();
        (!line.is_empty()).then_some(line)
    }

    pub fn forget(&mut self, task: TaskId) {
        self.lines.remove(&task);
        self.news.retain(|news| news.task != task);
    }
}

#[cfg(test)]
#[path = "live_lines_tests.rs"]
mod tests;
