//! The wire names of tools.
//!
//! Built-in tools are `mcp__mxd__<name>`, those of external servers `mcp__<server>__<name>`. Old logs use earlier
//! names; [`canonical`] maps them to the current ones.

use std::borrow::Cow;

const PREFIX: &str = "mcp__";
const SEPARATOR: &str = "__";
/// The server name of the built-in tools.
pub const OWN: &str = "mxd";

pub const BACKGROUND: &str = "background";
pub const BASH: &str = "bash";
pub const CLARIFY: &str = "clarify";
pub const CLOSE_TASK: &str = "close_task";
pub const CREATE_TASK: &str = "create_task";
pub const DELETE_TASK: &str = "delete_task";
pub const DONE: &str = "done";
pub const EDIT_FILE: &str = "edit_file";
pub const FORK_TASK_CONTEXT: &str = "fork_task_context";
pub const GET_TASK: &str = "get_task";
pub const GET_TREE: &str = "get_tree";
pub const HAND_OVER: &str = "hand_over";
pub const LIST_FILES: &str = "list_files";
pub const LIST_PROJECTS: &str = "list_projects";
pub const READ_FILE: &str = "read_file";
pub const REORDER_TASKS: &str = "reorder_tasks";
pub const RESET_TASK: &str = "reset_task";
pub const REVIEW_PLAN: &str = "review_plan";
pub const SEARCH: &str = "search";
pub const SEARCH_TASKS: &str = "search_tasks";
pub const SEND_MESSAGE: &str = "send_message";
pub const SEND_MESSAGE_TO_PROJECT: &str = "send_message_to_project";
pub const STOP_TASK: &str = "stop_task";
pub const SUBMIT_PLAN: &str = "submit_plan";
pub const UPDATE_TASK: &str = "update_task";
pub const USE_SKILL: &str = "use_skill";
pub const WRITE_FILE: &str = "write_file";
pub const YIELD: &str = "yield";

/// Every built-in tool.
pub const ALL: [&str; 28] = [
    BACKGROUND,
    BASH,
    CLARIFY,
    CLOSE_TASK,
    CREATE_TASK,
    DELETE_TASK,
    DONE,
    EDIT_FILE,
    FORK_TASK_CONTEXT,
    GET_TASK,
    GET_TREE,
    HAND_OVER,
    LIST_FILES,
    LIST_PROJECTS,
    READ_FILE,
    REORDER_TASKS,
    RESET_TASK,
    REVIEW_PLAN,
    SEARCH,
    SEARCH_TASKS,
    SEND_MESSAGE,
    SEND_MESSAGE_TO_PROJECT,
    STOP_TASK,
    SUBMIT_PLAN,
    UPDATE_TASK,
    USE_SKILL,
    WRITE_FILE,
    YIELD,
];

/// The built-in tools without side effects. Running one again is harmless. (The claims of external servers are not
/// trusted.)
pub const READ_ONLY: [&str; 8] =
    [GET_TASK, GET_TREE, LIST_FILES, LIST_PROJECTS, READ_FILE, SEARCH, SEARCH_TASKS, USE_SKILL];

/// Earlier names of the built-in tools, and names that models expect, with the current ones.
const ALIASES: &[(&str, &str)] = &[
    ("exec", BASH),
    ("shell", BASH),
    ("edit", EDIT_FILE),
    ("glob", LIST_FILES),
    ("ls", LIST_FILES),
    ("read", READ_FILE),
    ("grep", SEARCH),
    ("search_files", SEARCH),
    ("write", WRITE_FILE),
];

/// Returns true if the tool is read-only.
pub fn is_read_only(name: &str) -> bool {
    matches!(split(&canonical(name)), Some((OWN, tool)) if READ_ONLY.contains(&tool))
}

/// Returns the wire name of a built-in tool.
pub fn wire(name: &str) -> String {
    external(OWN, name)
}

/// Returns the wire name of a server's tool.
pub fn external(server: &str, name: &str) -> String {
    format!("{PREFIX}{server}{SEPARATOR}{name}")
}

/// Returns the server and the tool of a wire name.
pub fn split(wire: &str) -> Option<(&str, &str)> {
    wire.strip_prefix(PREFIX)?.split_once(SEPARATOR).filter(|(server, name)| !server.is_empty() && !name.is_empty())
}

/// Returns the name for display: `bash`, or `server/tool` for an external one.
pub fn display_name(wire: &str) -> Cow<'_, str> {
    match split(wire) {
        Some((OWN, name)) => Cow::Borrowed(name),
        Some((server, name)) => Cow::Owned(format!("{server}/{name}")),
        None => Cow::Borrowed(wire),
    }
}

/// Returns the current wire name for any name of a tool: with or without prefix, old or new.
pub fn canonical(name: &str) -> Cow<'_, str> {
    let own = match split(name) {
        Some((OWN, own)) => own,
        Some(_) => return Cow::Borrowed(name),
        None => name,
    };
    let own = ALIASES.iter().find(|(old, _)| old.eq_ignore_ascii_case(own)).map_or(own, |(_, new)| new);
    Cow::Owned(wire(own))
}

#[cfg(test)]
#[path = "tool_names_tests.rs"]
mod tests;
