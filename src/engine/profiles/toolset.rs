//! The tools that a profile gives its agent. A list can only take tools away.
//!
//! Tools for taking part in the tree (to wait, to finish, to ask) need not be listed. They are removed only if a
//! profile disallows them by name; `yield` and `done` cannot be removed.

use crate::config::profile::{ListedName, Profile, ProfileProblem, ProfileProblemKind};
use crate::tools::names;

/// Cannot be disallowed.
const REQUIRED: [&str; 3] = [names::YIELD, names::DONE, names::SUBMIT_PLAN];
/// Available without being listed.
const IMPLICIT: [&str; 6] =
    [names::SEND_MESSAGE, names::CLARIFY, names::GET_TREE, names::GET_TASK, names::SEARCH_TASKS, names::USE_SKILL];
/// The tools for delegating work.
const DELEGATE: [&str; 9] = [
    names::CREATE_TASK,
    names::UPDATE_TASK,
    names::REORDER_TASKS,
    names::FORK_TASK_CONTEXT,
    names::STOP_TASK,
    names::HAND_OVER,
    names::CLOSE_TASK,
    names::RESET_TASK,
    names::DELETE_TASK,
];

/// Tools of other programs, with the tools that do the same here.
const EQUIVALENTS: [(&str, &[&str]); 10] = [
    ("agent", &DELEGATE),
    ("askuserquestion", &[names::CLARIFY]),
    ("bashoutput", &[names::BACKGROUND]),
    ("delegate", &DELEGATE),
    ("killbash", &[names::BACKGROUND]),
    ("killshell", &[names::BACKGROUND]),
    ("multiedit", &[names::EDIT_FILE]),
    ("skill", &[names::USE_SKILL]),
    ("task", &DELEGATE),
    ("taskoutput", &[names::BACKGROUND]),
];

/// Tools of other programs that have no equivalent here.
const FOREIGN: [&str; 13] = [
    "enterplanmode",
    "exitplanmode",
    "listmcpresourcestool",
    "lsp",
    "notebookedit",
    "notebookread",
    "readmcpresourcetool",
    "slashcommand",
    "todoread",
    "todowrite",
    "toolsearch",
    "webfetch",
    "websearch",
];

/// The minimum similarity for suggesting a tool name.
const MIN_SIMILARITY: f64 = 0.75;

/// A name in a tool list. It matches one tool or several.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Pattern {
    /// The wire name of a tool.
    Tool(String),
    /// All tools of a server, by the prefix of their wire names.
    Server(String),
}

impl Pattern {
    fn matches(&self, wire: &str) -> bool {
        match self {
            Self::Tool(name) => name == wire,
            Self::Server(start) => wire.starts_with(start),
        }
    }
}

/// The tools that an agent may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Toolset {
    /// `None` allows all.
    allowed: Option<Vec<Pattern>>,
    denied: Vec<Pattern>,
}

impl Toolset {
    /// Parses the tool lists of a profile. Returns their problems too.
    pub fn read(profile: &Profile) -> (Self, Vec<ProfileProblem>) {
        let mut problems = Vec::new();
        let mut read = |named: &[ListedName]| {
            let mut patterns = Vec::new();
            for ListedName { name, line } in named {
                match parse_name(name) {
                    Ok(found) => patterns.extend(found),
                    Err(trouble) => problems.push(ProfileProblem::new(profile.file(), Some(*line), trouble)),
                }
            }
            patterns
        };
        let allowed = profile.tools.as_deref().map(&mut read);
        let denied = read(&profile.disallowed_tools);
        for named in &profile.disallowed_tools {
            let denied = parse_name(&named.name).unwrap_or_default();
            let required =
                REQUIRED.iter().find(|required| denied.iter().any(|pattern| pattern.matches(&names::wire(required))));
            if let Some(required) = required {
                problems.push(ProfileProblem::new(
                    profile.file(),
                    Some(named.line),
                    ProfileProblemKind::Needed((*required).to_owned()),
                ));
            }
        }
        (Self { allowed, denied }, problems)
    }

    /// Returns true if the agent may use the tool with this wire name.
    pub fn allows(&self, wire: &str) -> bool {
        let own = |names: &[&str]| names.iter().any(|name| names::wire(name) == wire);
        if own(&REQUIRED) {
            return true;
        }
        if self.denied.iter().any(|pattern| pattern.matches(wire)) {
            return false;
        }
        own(&IMPLICIT)
            || self.allowed.as_ref().is_none_or(|allowed| allowed.iter().any(|pattern| pattern.matches(wire)))
    }

    /// Returns true if the agent may use any tool of an MCP server.
    pub fn allows_external(&self) -> bool {
        let external = |pattern: &Pattern| match pattern {
            Pattern::Tool(wire) => names::split(wire).is_some_and(|(server, _)| server != names::OWN),
            Pattern::Server(_) => true,
        };
        self.allowed.as_ref().is_none_or(|allowed| allowed.iter().any(external))
    }

    /// Returns true if the agent may create sub tasks.
    pub fn allows_delegation(&self) -> bool {
        self.allows(&names::wire(names::CREATE_TASK))
    }
}

fn parse_name(name: &str) -> Result<Vec<Pattern>, ProfileProblemKind> {
    let name = name.trim();
    if name.contains(['(', ')']) {
        return Err(ProfileProblemKind::PartOfATool(name.to_owned()));
    }
    if let Some(rest) = name.strip_prefix("mcp__") {
        let server = rest.split("__").next().unwrap_or_default();
        return Ok(match names::split(name) {
            Some((names::OWN, own)) => return own_tool(own),
            Some((_, "*")) | None => vec![Pattern::Server(names::external(server, ""))],
            Some(_) => vec![Pattern::Tool(name.to_owned())],
        });
    }
    if let Some((server, tool)) = name.split_once('/').filter(|(server, tool)| !server.is_empty() && !tool.is_empty()) {
        let external = names::external(server, tool);
        return Ok(vec![if tool == "*" {
            Pattern::Server(names::external(server, ""))
        } else {
            Pattern::Tool(external)
        }]);
    }
    own_tool(name)
}

fn own_tool(name: &str) -> Result<Vec<Pattern>, ProfileProblemKind> {
    let lower = name.to_ascii_lowercase();
    let tools = |names: &[&str]| names.iter().map(|name| Pattern::Tool(names::wire(name))).collect::<Vec<_>>();
    if let Some((_, same)) = EQUIVALENTS.iter().find(|(other, _)| *other == lower) {
        return Ok(tools(same));
    }
    let wire = names::canonical(&lower);
    if let Some((_, own)) = names::split(&wire).filter(|(_, own)| names::ALL.contains(own)) {
        return Ok(tools(&[own]));
    }
    if FOREIGN.contains(&lower.as_str()) {
        return Err(ProfileProblemKind::ForeignTool(name.to_owned()));
    }
    let near = names::ALL.iter().map(|own| (strsim::jaro_winkler(own, &lower), *own));
    let nearest = near.max_by(|(a, _), (b, _)| a.total_cmp(b)).filter(|(score, _)| *score >= MIN_SIMILARITY);
    Err(ProfileProblemKind::NoTool { name: name.to_owned(), nearest: nearest.map(|(_, own)| own.to_owned()) })
}

#[cfg(test)]
#[path = "toolset_tests.rs"]
mod tests;
