//! Builds the system prompt and the work context of an agent.
//!
//! Pure text. The system prompt is strategy (when and why); each tool's description says how to use it. The part that
//! all agents share comes first, so that they share a cache entry. The agent's own part comes last.

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::base::{MicroUsd, TaskId, text};
use crate::config::profile::SystemPrompt as ProfileSystem;
use crate::model::event::SystemPrompt;
use crate::model::render;
use crate::model::stated_cwd::WORKING_DIRECTORY;

/// Maximum size of the memory file in the context. A longer file is cut, with a note.
pub const MEMORY_BYTES: usize = 24_000;
/// Maximum size of each guide of the repository, likewise.
pub const GUIDE_BYTES: usize = 16_000;

/// The task as described to its agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskBrief {
    pub task: TaskId,
    pub title: String,
    pub description: String,
    /// Id and title of the parent task. `None` for the root.
    pub parent: Option<(TaskId, String)>,
    pub branch: Option<String>,
    pub folder: PathBuf,
    pub budget: Option<MicroUsd>,
}

/// A file of the repository that its agents should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guide {
    /// The path relative to the worktree.
    pub name: String,
    pub text: String,
}

/// How agents work, and the rules for calling tools: what every agent is told, and the least that one is told.
const METHODOLOGY: &str = include_str!("../../assets/prompts/system.md");
const CONTRACT: &str = include_str!("../../assets/prompts/contract.md");

/// Returns the system prompt. `place` says where the agent is in the tree, `own` is the prompt of its profile.
pub fn system(kind: ProfileSystem, place: &str, own: &str) -> SystemPrompt {
    let (stable, variable) = match kind {
        ProfileSystem::Add => (METHODOLOGY, format!("{}\n\n{own}", place.trim())),
        ProfileSystem::Replace => (CONTRACT, format!("{}\n\n{own}", place.trim())),
        ProfileSystem::Minimal => (CONTRACT, own.to_owned()),
    };
    SystemPrompt { stable: stable.to_owned(), variable: variable.trim().to_owned() }
}

/// Returns the body of the message that opens a segment: the task, the memory and the guides.
pub fn work_context(brief: &TaskBrief, memory: Option<&Guide>, guides: &[Guide]) -> String {
    let mut out = format!("{WORKING_DIRECTORY}{}\n", brief.folder.display());
    let mut line = |key: &str, value: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{key}: {value}");
    };
    line("Branch", brief.branch.as_deref().unwrap_or("the project's base branch"));
    line("Task", &format!("{} ({})", one_line(&brief.title), brief.task));
    match &brief.parent {
        Some((id, title)) => line("Task above", &format!("{} ({id})", one_line(title))),
        None => line("Task above", "none: you are the root"),
    }
    if let Some(budget) = brief.budget {
        line("Budget", &budget.to_string());
    }
    if !brief.description.trim().is_empty() {
        let _ = write!(out, "\n# Your task\n\n{}\n", render::escape_tags(brief.description.trim()));
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
        let _ = writeln!(out, "{}", render::escape_tags(whole));
        return;
    }
    let shown = text::prefix(whole, bytes);
    // A line cut in the middle would look complete.
    let shown = shown.rfind('\n').map_or(shown, |end| &shown[..end]);
    let missing = text::size((whole.len() - shown.len()) as u64);
    let _ = writeln!(
        out,
        "{}\n[cut here: {missing} more in {}; read the file if you need it]",
        render::escape_tags(shown),
        guide.name
    );
}

fn one_line(title: &str) -> String {
    render::escape_tags(&title.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned()
}

#[cfg(test)]
#[path = "prompt_tests.rs"]
mod tests;
