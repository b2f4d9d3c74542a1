//! The tools with which an agent works on the tree: one file each, every one a typed input that becomes a command or a query,
//! and the words in which the model reads what came of it.
//!
//! Nothing is decided here: who may do what is decided by the engine behind the [`AgentPort`]. What is decided is who has
//! which tool, and in which order: what all agents have comes first, so that they share a cache.

/// The order in which a sub task is to be corrected, said by every tool that destroys something.
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
mod list_projects;
mod projects;
mod reorder_tasks;
mod reset_task;
mod search_tasks;
mod send_message;
mod send_message_to_project;
mod stop_task;
#[cfg(test)]
mod testing;
mod tree_text;
mod update_task;

use std::sync::Arc;
use std::time::Duration;

pub use finish::{Clean, FailedCheck, Finish};
pub use projects::{ProjectEntry, Projects};

use crate::base::Fault;
use crate::engine::agent_port::AgentPort;
use crate::engine::command::Outcome;
use crate::engine::tools::control::{Done, DoneCheck, Yield};
use crate::tools::{Call, DuplicateTool, Handler, Registry, Reply, Tokens, Tool, Typed};

/// How long an interrupted call still waits for its answer. The engine answers most requests at once, and to know what
/// came of one is worth a moment; the end of a run is not to wait longer.
const GRACE: Duration = Duration::from_millis(250);

/// What an agent may do to the tree, and through what.
pub struct Access {
    pub port: AgentPort,
    pub is_root: bool,
    /// Whether it may have sub tasks. At the depth limit it may not, and the tools for them are not there.
    pub may_delegate: bool,
    pub finish: Arc<dyn DoneCheck>,
    /// The other projects of this machine. Only the root gets to them.
    pub projects: Option<Arc<dyn Projects>>,
}

/// Adds everything that `access` allows, or nothing if a name is taken.
pub fn add(registry: &mut Registry, access: Access) -> Result<(), DuplicateTool> {
    let Access { port, is_root, may_delegate, finish, projects } = access;
    let mut tools = vec![
        tool(Yield),
        tool(Done { check: Some(finish) }),
        tool(send_message::SendMessage(port.clone())),
        tool(clarify::Clarify(port.clone())),
        tool(get_tree::GetTree(port.clone())),
        tool(get_task::GetTask(port.clone())),
        tool(search_tasks::SearchTasks(port.clone())),
    ];
    if may_delegate {
        tools.extend([
            tool(create_task::CreateTask(port.clone())),
            tool(update_task::UpdateTask(port.clone())),
            tool(reorder_tasks::ReorderTasks(port.clone())),
            tool(fork_task_context::ForkTaskContext(port.clone())),
            tool(stop_task::StopTask(port.clone())),
            tool(close_task::CloseTask(port.clone())),
            tool(reset_task::ResetTask(port.clone())),
            tool(delete_task::DeleteTask(port)),
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
    Arc::new(Typed::new(handler))
}

/// Waits for what the model reads, but not past an interruption.
async fn answer(asked: impl Future<Output = Result<String, Fault>>, call: &Call) -> Reply {
    answer_until(asked, &call.context.tokens).await
}

async fn answer_until(asked: impl Future<Output = Result<String, Fault>>, tokens: &Tokens) -> Reply {
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

/// Returns the fault for an outcome that is not one of the command's.
fn unexpected(outcome: &Outcome) -> Fault {
    Fault::internal(format!("an outcome that fits no call: {outcome:?}"))
}

async fn overdue(tokens: &Tokens) {
    tokens.cancelled().await;
    tokio::time::sleep(GRACE).await;
}

#[cfg(test)]
#[path = "tools_tests.rs"]
mod tests;
