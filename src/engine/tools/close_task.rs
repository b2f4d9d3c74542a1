//! `close_task`: closes a sub task.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::TaskId;
use crate::engine::agent_port::AgentPort;
use crate::engine::command::{ArchivedWork, Command, Outcome};
use crate::engine::tools::{answer, reset_task, unexpected};
use crate::tools::{Call, Handler, Reply, ToolEffect, names};

pub(super) struct CloseTask(pub(super) AgentPort);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// The task: its number (#12), its id or the start of it.
    task: String,
}

impl Handler for CloseTask {
    const NAME: &'static str = names::CLOSE_TASK;
    const DESCRIPTION: &'static str = concat!(
        "Puts a sub task away that needs nothing more, yours or one below it: its worktree goes, its branch, \
         conversation and result stay, and what was not committed is archived. Merge first what you want of it. A \
         message wakes it again. Refused while it or something below it is in progress: stop_task first. ",
        mildest_first!()
    );
    const EFFECT: ToolEffect = ToolEffect::Opaque;
    const EXAMPLE: &'static str = r#"{"task": "01JZ8Q4W3M5N"}"#;

    type Input = Input;

    async fn run(self: Arc<Self>, input: Input, call: Call) -> Reply {
        let closing = async {
            let task = self.0.find(&input.task).await?;
            match self.0.command(Command::Close { task: task.id }).await? {
                Outcome::Closed { task: id, recurs, set_aside } => {
                    let again = if recurs { "It is pending and will run again. " } else { "" };
                    Ok(format!("Closed \"{}\". {again}{}", task.title, kept_work(id, &set_aside)).trim_end().to_owned())
                }
                // A recurring task that starts with an empty conversation each time.
                Outcome::Reset { recurs } => Ok(reset_task::reply_text(&task.title, recurs)),
                other => Err(unexpected(&other)),
            }
        };
        answer(closing, &call).await
    }
}

/// Describes where unmerged work is kept.
fn kept_work(task: TaskId, set_aside: &ArchivedWork) -> String {
    let mut parts = Vec::new();
    if set_aside.archived {
        parts.push(format!("Work that was not merged is kept in refs/mxd/archive/{task}."));
    }
    if let Some(files) = &set_aside.files {
        parts.push(format!("What could not be archived is in {}.", files.display()));
    }
    if let Some(drafts) = &set_aside.drafts {
        parts.push(format!("Conflicts that were being solved by hand are kept in {}.", drafts.display()));
    }
    parts.join(" ")
}

#[cfg(test)]
#[path = "close_task_tests.rs"]
mod tests;
