//! How tools are called on the wire, in one place.
//!
//! Ours are `mcp__mxd__<name>`, those of external servers `mcp__<server>__<name>`. Old logs name tools as they were
//! called then; [`canonical`] knows what they are called now.

use std::borrow::Cow;

const PREFIX: &str = "mcp__";
const SEPARATOR: &str = "__";
/// The server name of our own tools.
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
pub const LIST_FILES: &str = "list_files";
pub const LIST_PROJECTS: &str = "list_projects";
pub const READ_FILE: &str = "read_file";
pub const REORDER_TASKS: &str = "reorder_tasks";
pub const RESET_TASK: &str = "reset_task";
pub const SEARCH: &str = "search";
pub const SEARCH_TASKS: &str = "search_tasks";
pub const SEND_MESSAGE: &str = "send_message";
pub const SEND_MESSAGE_TO_PROJECT: &str = "send_message_to_project";
pub const STOP_TASK: &str = "stop_task";
pub const UPDATE_TASK: &str = "update_task";
pub const WRITE_FILE: &str = "write_file";
pub const YIELD: &str = "yield";

/// Every tool of our own.
pub const ALL: [&str; 24] = [
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
    LIST_FILES,
    LIST_PROJECTS,
    READ_FILE,
    REORDER_TASKS,
    RESET_TASK,
    SEARCH,
    SEARCH_TASKS,
    SEND_MESSAGE,
    SEND_MESSAGE_TO_PROJECT,
    STOP_TASK,
    UPDATE_TASK,
    WRITE_FILE,
    YIELD,
];

/// Those of our own that look and change nothing. Running one again, or having run one that nobody remembers, harms
/// nobody. (What servers say of their tools is not relied on.)
pub const READING: [&str; 7] = [GET_TASK, GET_TREE, LIST_FILES, LIST_PROJECTS, READ_FILE, SEARCH, SEARCH_TASKS];

/// Names that our tools had once, or that models are used to, and what they are now.
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

/// Tells whether a call by this name only reads.
pub fn only_reads(name: &str) -> bool {
    matches!(split(&canonical(name)), Some((OWN, tool)) if READING.contains(&tool))
}

/// Returns the name of one of our tools on the wire.
pub fn wire(name: &str) -> String {
    external(OWN, name)
}

/// Returns the name of a server's tool on the wire.
pub fn external(server: &str, name: &str) -> String {
    format!("{PREFIX}{server}{SEPARATOR}{name}")
}

/// Returns server and tool of a name on the wire.
pub fn split(wire: &str) -> Option<(&str, &str)> {
    wire.strip_prefix(PREFIX)?.split_once(SEPARATOR).filter(|(server, name)| !server.is_empty() && !name.is_empty())
}

/// Returns the part of a name that a person reads: `bash`, or `server/tool` for an external one.
pub fn shown(wire: &str) -> Cow<'_, str> {
    match split(wire) {
        Some((OWN, name)) => Cow::Borrowed(name),
        Some((server, name)) => Cow::Owned(format!("{server}/{name}")),
        None => Cow::Borrowed(wire),
    }
}

/// Returns the current wire name for whatever a log or a model calls a tool: with or without prefix, old or new.
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
