//! What an agent is given before its first word, by section: from its session, or for a task that has not begun.

use std::path::{Path, PathBuf};

use crate::base::TaskId;
use crate::config::Profile;
use crate::config::profile::SystemPrompt as ProfileSystem;
use crate::engine::backend::prompts;
use crate::engine::include;
use crate::engine::skills::{self, Skill};
use crate::git::repo_file;
use crate::model::Event;
use crate::model::event::Body;
use crate::model::message::MessageSource;

const BYTES_PER_TOKEN: usize = 4;
const READ_BYTES: u64 = 1 << 20;
const FILES: [&str; 3] = [".mxd/memory.md", "AGENTS.md", "CLAUDE.md"];

/// A part of what an agent is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    pub name: String,
    pub text: String,
}

impl Section {
    fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into().trim().to_owned() }
    }

    /// Returns the estimated number of tokens.
    pub fn tokens(&self) -> usize {
        self.text.len().div_ceil(BYTES_PER_TOKEN)
    }
}

/// A task that has not begun.
#[derive(Clone, Debug)]
pub struct NewAgent {
    pub task: TaskId,
    pub title: String,
    pub description: String,
    pub is_root: bool,
    /// The top folder of the repository.
    pub top: Option<PathBuf>,
}

/// Returns the sections of the last segment of a session. Empty if no conversation has begun since the last hand-over.
pub fn of_session(events: &[Event]) -> Vec<Section> {
    let start = events.iter().rposition(|event| matches!(event.body, Body::HandedOver(_))).map_or(0, |at| at + 1);
    let mut sections = Vec::new();
    for event in &events[start..] {
        match &event.body {
            Body::SessionConfig(config) => {
                sections.clear();
                sections.push(Section::new("system prompt, shared", config.system.stable.as_str()));
                sections.push(Section::new("system prompt, own", config.system.variable.as_str()));
                let tools = config.tools.iter();
                let tools = tools.map(|tool| format!("{}\n{}\n{}", tool.name, tool.description, tool.schema.as_str()));
                let text = tools.collect::<Vec<_>>().join("\n\n");
                sections.push(Section::new(format!("tools ({})", config.tools.len()), text));
            }
            Body::Message(message) if message.from == MessageSource::WorkContext => {
                sections.retain(|section| !section.name.starts_with("opening"));
                sections.extend(parts(&message.body));
            }
            Body::Message(message) if matches!(message.from, MessageSource::Handover { .. }) => {
                sections.push(Section::new("hand-over note", message.body.as_str()));
            }
            _ => {}
        }
    }
    sections
}

/// Splits an opening message at its headings.
fn parts(body: &str) -> Vec<Section> {
    let mut sections = vec![Section::new("opening message: place", "")];
    for line in body.lines() {
        if let Some(heading) = line.strip_prefix("# ") {
            sections.push(Section::new(format!("opening message: {heading}"), ""));
        }
        if let Some(last) = sections.last_mut() {
            last.text.push_str(line);
            last.text.push('\n');
        }
    }
    sections
}

/// Returns the sections for a task that has not begun. Its tools and the notes about its worktree come with its start.
pub fn of_new_agent(agent: &NewAgent, profile: &Profile, skills: &[Skill]) -> Vec<Section> {
    let place = prompts::place(agent.is_root, true);
    let system = prompts::system(profile.system, place, &profile.prompt);
    let mut sections = vec![
        Section::new("system prompt, shared", system.stable),
        Section::new(
            if profile.system == ProfileSystem::Minimal {
                "system prompt, own"
            } else {
                "system prompt, place and own"
            },
            system.variable,
        ),
    ];
    let task = format!("Task: {} ({})\n\n{}", agent.title, agent.task, agent.description);
    sections.push(Section::new("opening message: task", task));
    let top = agent.top.as_deref();
    for name in FILES {
        let text = top.and_then(|top| repo_file::read_start(top, Path::new(name), READ_BYTES).ok().flatten());
        let text = text.map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned()).unwrap_or_default();
        if !text.is_empty() && !sections.iter().any(|section| section.text == text) {
            sections.push(Section::new(format!("opening message: {name}"), text));
        }
    }
    for (file, text) in profile.include.iter().zip(include::read(top, &profile.include)) {
        sections.push(Section::new(format!("opening message: {}", file.name), text));
    }
    for note in skills::opening(skills, profile) {
        let name = note.lines().next().unwrap_or_default().trim_start_matches("# ").to_owned();
        let name = if name.starts_with("Skills") { "skills".to_owned() } else { name };
        sections.push(Section::new(format!("opening message: {name}"), note));
    }
    sections.retain(|section| !section.text.is_empty());
    sections
}

#[cfg(test)]
#[path = "context_tests.rs"]
mod tests;
