//! The tools with which an agent works on the tree, one file per tool. Each turns a typed input into a command or
//! query and describes the outcome for the model.
//!
//! The engine behind the [`AgentPort`] decides what an agent may do. This module only decides which tools an agent has
//! and in which order: tools that all agents have come first, so that agents share a prompt cache prefix.

/// The order of corrective steps, for the description of every tool that destroys something.
macro_rules! mildest_first {
    () => {
        "Take the mildest step that does the job: send_message, then close_task, then reset_task, then delete_task."
    };
}

mod clarify;
mod close_task;
pub mod control;
mod create_task;
mod delete_task;
mod fields;
mod finish;
mod fork_task_context;
mod get_task;
mod get_tree;
mod hand_over;
mod list_projects;
mod projects;
mod reorder_tasks;
mod reset_task;
mod review_plan;
mod search_tasks;
mod send_message;
mod send_message_to_project;
mod stop_task;
mod submit_plan;
#[cfg(test)]
mod testing;
mod tree_text;
mod update_task;
mod use_skill;

use std::sync::Arc;
use std::time::Duration;

pub use finish::{DoneGate, EngineDoneCheck, FailedCheck, OpenGate, WorktreeInspector};
pub use projects::{OtherProject, Projects};

use crate::base::Fault;
use crate::engine::agent_port::AgentPort;
use crate::engine::command::Outcome;
use crate::engine::skills::Skill;
use crate::engine::tools::control::{Done, DoneCheck, Yield};
use crate::tools::{Call, CancelTokens, DuplicateTool, Handler, Registry, Reply, Tool, TypedTool};

/// How long an interrupted call waits for its answer. The engine answers most requests at once, and the outcome is
/// worth a short wait.
const GRACE: Duration = Duration::from_millis(250);

/// The permissions of an agent on the tree.
pub struct Access {
    pub port: AgentPort,
    pub is_root: bool,
    /// Whether it may create sub tasks. At the depth limit it may not, and lacks the tools for them.
    pub may_delegate: bool,
    pub finish: Arc<dyn DoneCheck>,
    /// The skills that it may read. Without any, it lacks the tool for them.
    pub skills: Arc<[Skill]>,
    /// The other projects of this machine. Only the root can reach them.
    pub projects: Option<Arc<dyn Projects>>,
}

/// Adds every tool that `access` allows, or none if a name is taken.
pub fn add(registry: &mut Registry, access: Access) -> Result<(), DuplicateTool> {
    let Access { port, is_root, may_delegate, finish, skills, projects } = access;
    let mut tools = vec![
        tool(Yield),
        tool(Done { check: Some(finish) }),
        tool(send_message::SendMessage(port.clone())),
        tool(clarify::Clarify(port.clone())),
        tool(get_tree::GetTree(port.clone())),
        tool(get_task::GetTask(port.clone())),
        tool(search_tasks::SearchTasks(port.clone())),
        tool(submit_plan::SubmitPlan),
    ];
    if !skills.is_empty() {
        tools.push(tool(use_skill::UseSkill(skills)));
    }
    if may_delegate {
        tools.extend([
            tool(create_task::CreateTask(port.clone())),
            tool(update_task::UpdateTask(port.clone())),
            tool(reorder_tasks::ReorderTasks(port.clone())),
            tool(fork_task_context::ForkTaskContext(port.clone())),
            tool(stop_task::StopTask(port.clone())),
            tool(hand_over::HandOver(port.clone())),
            tool(close_task::CloseTask(port.clone())),
            tool(reset_task::ResetTask(port.clone())),
            tool(delete_task::DeleteTask(port.clone())),
            tool(review_plan::ReviewPlan(port)),
        ]);
    }
    if let (true, Some(projects)) = (is_root, projects) {
        tools.extend([
            tool(list_projects::ListProjects(Arc::clone(&projects))),
            tool(send_message_to_project::SendMessageToProject(projects)),
        ]);
    }
    let mut extended = registry.clone();
    tools.into_iter().try_for_each(|tool| extended.add(tool))?;
    *registry = extended;
    Ok(())
}

fn tool(handler: impl Handler) -> Arc<dyn Tool> {
    Arc::new(TypedTool::new(handler))
}

/// Waits for the reply, but not much longer than an interruption.
async fn answer(asked: impl Future<Output = Result<String, Fault>>, call: &Call) -> Reply {
    answer_until(asked, &call.context.tokens).await
}

async fn answer_until(asked: impl Future<Output = Result<String, Fault>>, tokens: &CancelTokens) -> Reply {
    tokio::select! {
        biased;
        answer = asked => match answer {
            Ok(text) => Reply::text(text),
            Err(fault) => Reply::error(fault.to_string()),
        },
        () = overdue(tokens) => Reply::error(
            "Interrupted while it was under way: it may have been done all the same. Look with get_tree before you \
             repeat it.",
        ),
    }
}

/// Returns the error for an outcome that does not belong to the command.
fn unexpected(outcome: &Outcome) -> Fault {
    Fault::internal(format!("an outcome that fits no call: {outcome:?}"))
}

async fn overdue(tokens: &CancelTokens) {
    tokens.cancelled().await;
    tokio::time::sleep(GRACE).await;
}

#[cfg(test)]
#[path = "tools_tests.rs"]
mod tests;
