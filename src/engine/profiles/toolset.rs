//! Which tools a profile's agent has. A list narrows; it never gives what would not be there without it.
//!
//! What an agent needs to take part in the tree (to end, to wait, to ask, to be asked) is not work and needs no
//! mention; it goes only where it is taken away by name, and `yield` and `done` never go.

use crate::config::profile::{Flaw, Named, Profile, Trouble};
use crate::tools::names;

/// Never taken away.
const NEEDED: [&str; 2] = [names::YIELD, names::DONE];
/// There without being named.
const TALK: [&str; 5] = [names::SEND_MESSAGE, names::CLARIFY, names::GET_TREE, names::GET_TASK, names::SEARCH_TASKS];
/// What hands work down.
const DELEGATE: [&str; 8] = [
    names::CREATE_TASK,
    names::UPDATE_TASK,
    names::REORDER_TASKS,
    names::FORK_TASK_CONTEXT,
    names::STOP_TASK,
    names::CLOSE_TASK,
    names::RESET_TASK,
    names::DELETE_TASK,
];

/// Tools of other programs and what does the same here.
const COUNTERPARTS: [(&str, &[&str]); 9] = [
    ("agent", &DELEGATE),
    ("askuserquestion", &[names::CLARIFY]),
    ("bashoutput", &[names::BACKGROUND]),
    ("delegate", &DELEGATE),
    ("killbash", &[names::BACKGROUND]),
    ("killshell", &[names::BACKGROUND]),
    ("multiedit", &[names::EDIT_FILE]),
    ("task", &DELEGATE),
    ("taskoutput", &[names::BACKGROUND]),
];

/// Tools of other programs that have no counterpart here.
const FOREIGN: [&str; 14] = [
    "enterplanmode",
    "exitplanmode",
    "listmcpresourcestool",
    "lsp",
    "notebookedit",
    "notebookread",
    "readmcpresourcetool",
    "skill",
    "slashcommand",
    "todoread",
    "todowrite",
    "toolsearch",
    "webfetch",
    "websearch",
];

/// How near a name must be to one of ours to be offered instead.
const NEAR: f64 = 0.75;

/// What stands for one tool or several.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Pattern {
    /// A name on the wire.
    Tool(String),
    /// Every tool of a server: the beginning of their names on the wire.
    Server(String),
}

impl Pattern {
    fn fits(&self, wire: &str) -> bool {
        match self {
            Self::Tool(name) => name == wire,
            Self::Server(start) => wire.starts_with(start),
        }
    }
}

/// The tools that an agent has, of those there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Toolset {
    /// Nothing: all.
    only: Option<Vec<Pattern>>,
    not: Vec<Pattern>,
}

impl Toolset {
    /// Reads the lists of a profile, and says what is wrong with them.
    pub fn read(profile: &Profile) -> (Self, Vec<Flaw>) {
        let mut flaws = Vec::new();
        let mut read = |named: &[Named]| {
            let mut patterns = Vec::new();
            for Named { name, line } in named {
                match understood(name) {
                    Ok(found) => patterns.extend(found),
                    Err(trouble) => flaws.push(Flaw::new(profile.file(), Some(*line), trouble)),
                }
            }
            patterns
        };
        let only = profile.tools.as_deref().map(&mut read);
        let not = read(&profile.disallowed_tools);
        for named in &profile.disallowed_tools {
            let taken = understood(&named.name).unwrap_or_default();
            let needed = NEEDED.iter().find(|needed| taken.iter().any(|it| it.fits(&names::wire(needed))));
            if let Some(needed) = needed {
                flaws.push(Flaw::new(profile.file(), Some(named.line), Trouble::Needed((*needed).to_owned())));
            }
        }
        (Self { only, not }, flaws)
    }

    /// Tells whether the agent has the tool of this name on the wire.
    pub fn allows(&self, wire: &str) -> bool {
        let own = |names: &[&str]| names.iter().any(|name| names::wire(name) == wire);
        if own(&NEEDED) {
            return true;
        }
        if self.not.iter().any(|it| it.fits(wire)) {
            return false;
        }
        own(&TALK) || self.only.as_ref().is_none_or(|only| only.iter().any(|it| it.fits(wire)))
    }

    /// Tells whether any tool of a server could be among them.
    pub fn allows_external(&self) -> bool {
        let external = |pattern: &Pattern| match pattern {
            Pattern::Tool(wire) => names::split(wire).is_some_and(|(server, _)| server != names::OWN),
            Pattern::Server(_) => true,
        };
        self.only.as_ref().is_none_or(|only| only.iter().any(external))
    }

    /// Tells whether the agent can hand work down.
    pub fn allows_delegation(&self) -> bool {
        self.allows(&names::wire(names::CREATE_TASK))
    }
}

fn understood(name: &str) -> Result<Vec<Pattern>, Trouble> {
    let name = name.trim();
    if name.contains(['(', ')']) {
        return Err(Trouble::PartOfATool(name.to_owned()));
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

fn own_tool(name: &str) -> Result<Vec<Pattern>, Trouble> {
    let lower = name.to_ascii_lowercase();
    let tools = |names: &[&str]| names.iter().map(|name| Pattern::Tool(names::wire(name))).collect::<Vec<_>>();
    if let Some((_, same)) = COUNTERPARTS.iter().find(|(other, _)| *other == lower) {
        return Ok(tools(same));
    }
    let wire = names::canonical(&lower);
    if let Some((_, own)) = names::split(&wire).filter(|(_, own)| names::ALL.contains(own)) {
        return Ok(tools(&[own]));
    }
    if FOREIGN.contains(&lower.as_str()) {
        return Err(Trouble::ForeignTool(name.to_owned()));
    }
    let near = names::ALL.iter().map(|own| (strsim::jaro_winkler(own, &lower), *own));
    let nearest = near.max_by(|(a, _), (b, _)| a.total_cmp(b)).filter(|(score, _)| *score >= NEAR);
    Err(Trouble::NoTool { name: name.to_owned(), nearest: nearest.map(|(_, own)| own.to_owned()) })
}

#[cfg(test)]
#[path = "toolset_tests.rs"]
mod tests;
