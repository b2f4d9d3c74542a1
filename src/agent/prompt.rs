//! What an agent is told before anything is said to it: the system prompt, and where it is.
//!
//! Pure text. The system prompt is strategy (when and why); how a tool is used is said by the tool. The part that all
//! agents share comes first, so that they share a cache; what is this agent's own comes last.

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::base::{MicroUsd, TaskId, text};
use crate::model::event::SystemPrompt;
use crate::model::render;
use crate::model::told_folder::WORKING_DIRECTORY;

/// What the memory file may take of the context. What is over is cut, and said to be.
pub const MEMORY_BYTES: usize = 24_000;
/// The same for each of the repository's own guides.
pub const GUIDE_BYTES: usize = 16_000;

/// A task as its agent learns of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    pub task: TaskId,
    pub title: String,
    pub description: String,
    /// The task above. Nothing: this is the root.
    pub above: Option<(TaskId, String)>,
    pub branch: Option<String>,
    pub folder: PathBuf,
    pub budget: Option<MicroUsd>,
}

/// A text of the repository that its agents should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guide {
    /// Its path from the top of the worktree.
    pub name: String,
    pub text: String,
}

/// Returns the system prompt. `own` is what only this agent is told: its profile's words.
pub fn system(own: &str) -> SystemPrompt {
    SystemPrompt { stable: include_str!("../../assets/prompts/system.md").to_owned(), variable: own.trim().to_owned() }
}

/// Returns the body of the message that opens a segment: the task's card, memory, guides.
pub fn work_context(card: &Card, memory: Option<&Guide>, guides: &[Guide]) -> String {
    let mut out = format!("{WORKING_DIRECTORY}{}\n", card.folder.display());
    let mut line = |key: &str, value: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{key}: {value}");
    };
    line("Branch", card.branch.as_deref().unwrap_or("the project's base branch"));
    line("Task", &format!("{} ({})", one_line(&card.title), card.task));
    match &card.above {
        Some((id, title)) => line("Task above", &format!("{} ({id})", one_line(title))),
        None => line("Task above", "none: you are the root"),
    }
    if let Some(budget) = card.budget {
        line("Budget", &budget.to_string());
    }
    if !card.description.trim().is_empty() {
        let _ = write!(out, "\n# Your task\n\n{}\n", render::neutral(card.description.trim()));
    }
    for (guide, bytes) in
        memory.map(|memory| (memory, MEMORY_BYTES)).into_iter().chain(guides.iter().map(|guide| (guide, GUIDE_BYTES)))
    {
        add_guide(&mut out, guide, bytes);
    }
    out.truncate(out.trim_end().len());
    out
}

fn add_guide(out: &mut String, guide: &Guide, bytes: usize) {
    let whole = guide.text.trim();
    if whole.is_empty() {
        return;
    }
    let _ = write!(out, "\n# {} (already read for you)\n\n", guide.name);
    if whole.len() <= bytes {
        let _ = writeln!(out, "{}", render::neutral(whole));
        return;
    }
    let shown = text::prefix(whole, bytes);
    // A cut in the middle of a line reads as if the line ended there.
    let shown = shown.rfind('\n').map_or(shown, |end| &shown[..end]);
    let missing = text::size((whole.len() - shown.len()) as u64);
    let _ = writeln!(
        out,
        "{}\n[cut here: {missing} more in {}; read the file if you need it]",
        render::neutral(shown),
        guide.name
    );
}

fn one_line(title: &str) -> String {
    render::neutral(&title.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned()
}

#[cfg(test)]
#[path = "prompt_tests.rs"]
mod tests;
