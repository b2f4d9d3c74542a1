//! `mxd tree`: the tasks of a project, with what their sessions say of them.

use serde::Serialize;

use crate::base::{Fault, MicroUsd, TaskId, text};
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::place::{Here, Located, home, the_disk};
use crate::config::RepoFiles;
use crate::config::recurring::Plan;
use crate::git::repo_file;
use crate::model::fold::SessionState;
use crate::model::task::Recurring;
use crate::model::tree::LookupError;
use crate::model::work::QueuedMerge;
use crate::model::{Status, TaskNode, Tree};
use crate::store::tree_file::TreeFile;
use crate::store::{Digests, Sessions};

#[derive(clap::Args)]
pub struct Args {
    /// One task per line, as JSON.
    #[arg(long)]
    json: bool,
}

/// A task as programs read it.
#[derive(Serialize)]
struct Row<'a> {
    #[serde(flatten)]
    node: &'a TaskNode,
    depth: usize,
    cost: MicroUsd,
    tokens: u64,
    turns: u64,
    pending_messages: usize,
    asks: usize,
    /// The merge that waits for a pause of another task's agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    queued_merge: Option<&'a QueuedMerge>,
}

pub fn run(console: &mut Console, here: &Here, args: &Args) -> Outcome {
    let located = here.located(&home()?)?;
    let Some(tree) = load(console, &located)? else {
        if !args.json {
            console.line("no tasks yet")?;
        }
        console.finish()?;
        return Ok(0);
    };
    let sessions = located.sessions();
    // What was appended since the digests were written is read, and nothing else: a session can be hundreds of megabytes.
    let mut digests = Digests::load(the_disk(), located.folder.digests());
    for node in tree.all() {
        // One session that cannot be read says nothing about the others.
        let state = digests.summary(&sessions, node.id).map_or_else(
            |error| {
                console.note(&format!("warning: {error}; what it cost and what waits in it is not counted"));
                SessionState::default()
            },
            |summary| summary.state,
        );
        if args.json {
            console.json(&row(&tree, node, &state))?;
        } else {
            console.line(&line(&tree, node, &state, rounds(&located, node)))?;
        }
    }
    console.finish()?;
    Ok(0)
}

/// Returns the saved tree, with a note for everything that did not fit together.
pub fn load(console: &mut Console, located: &Located) -> Result<Option<Tree>, Failure> {
    let mut file = TreeFile::new(the_disk(), located.folder.tree());
    let Some(loaded) = file.load_beside(&located.sessions())? else { return Ok(None) };
    loaded.notes.iter().for_each(|note| console.note(&format!("warning: {note}")));
    Ok(Some(loaded.tree))
}

/// Returns the task that `name` means: in the tree, or at least in the sessions.
pub fn find(console: &mut Console, located: &Located, sessions: &Sessions, name: &str) -> Result<TaskId, Failure> {
    let failure = match load(console, located) {
        Ok(Some(tree)) => match tree.find(name) {
            Ok(node) => return Ok(node.id),
            Err(error) => unknown(&error),
        },
        Ok(None) => unknown(&LookupError::Unknown(name.to_owned())),
        Err(failure) => failure,
    };
    let known = name.trim().to_ascii_uppercase().parse().ok().filter(|id| sessions.path(*id).exists());
    match (known, failure) {
        (Some(id), Failure::Fault(_)) => Ok(id),
        (_, failure) => Err(failure),
    }
}

fn unknown(error: &LookupError) -> Failure {
    Fault::user(error.to_string()).hint("`mxd tree` lists the tasks").into()
}

fn row<'a>(tree: &Tree, node: &'a TaskNode, state: &'a SessionState) -> Row<'a> {
    Row {
        node,
        depth: tree.depth(node.id),
        cost: state.usage.cost(),
        tokens: state.usage.tokens().total(),
        turns: state.turns.ended,
        pending_messages: state.messages.len(),
        asks: state.asks.len(),
        queued_merge: state.work.queued.as_ref(),
    }
}

/// Says how a task comes round, if it does.
fn rounds(located: &Located, node: &TaskNode) -> Option<String> {
    let mode = match node.recurring {
        Recurring::None => return None,
        Recurring::Reset => "reset",
        Recurring::Continue => "continue",
    };
    let path = RepoFiles::new(&located.project.path).task(node.id);
    // What is wrong with a file is said by `mxd run`; the tree shows the task all the same.
    let text = repo_file::read_text(&located.project.path, &path, repo_file::SMALL).ok().flatten();
    let plan = text.and_then(|text| Plan::read(node.id, &path, &text).ok());
    let times = plan.map(|plan| plan.schedule.words()).filter(|words| !words.is_empty());
    Some(times.map_or_else(|| format!("recurring, {mode}"), |times| format!("recurring {times}, {mode}")))
}

fn line(tree: &Tree, node: &TaskNode, state: &SessionState, rounds: Option<String>) -> String {
    let title = text::headline(&node.title, 60);
    let mut parts = vec![format!("{}{} {title}", branches(tree, node), glyph(node, state)), node.status.to_string()];
    if let Some(profile) = node.unusual_profile() {
        parts.push(profile.to_owned());
    }
    if state.usage.cost() > MicroUsd::ZERO {
        let bound = if state.usage.is_lower_bound() { "at least " } else { "" };
        parts.push(format!("{bound}{}", state.usage.cost()));
    }
    if !state.asks.is_empty() {
        parts.push(text::count(state.asks.len(), "question", "questions"));
    }
    if !state.messages.is_empty() {
        parts.push(format!("{} waiting", text::count(state.messages.len(), "message", "messages")));
    }
    if let Some(queued) = &state.work.queued {
        let host = tree.get(queued.host).map_or(queued.target.as_str(), |host| host.title.as_str());
        parts.push(format!("merge waits for {}", text::headline(host, 40)));
    }
    if let Some(rounds) = rounds {
        parts.push(rounds);
    }
    parts.push(node.id.short());
    parts.join("  ")
}

fn glyph(node: &TaskNode, state: &SessionState) -> char {
    match node.status {
        _ if !state.asks.is_empty() => '?',
        _ if node.parent.is_none() => '◆',
        Status::Draft => '·',
        Status::Pending => '○',
        Status::InProgress => '●',
        Status::Passed => '✓',
        Status::Failed => '✗',
        Status::Closed => '−',
    }
}

/// Returns the lines that lead from the root to a task: `│ ├ `.
fn branches(tree: &Tree, node: &TaskNode) -> String {
    let is_last = |node: &TaskNode| {
        let parent = node.parent.and_then(|parent| tree.get(parent));
        parent.is_none_or(|parent| parent.children.last() == Some(&node.id))
    };
    if node.parent.is_none() {
        return String::new();
    }
    let mut above: Vec<_> = tree.ancestors(node.id).filter(|above| above.parent.is_some()).collect();
    above.reverse();
    let mut out: String = above.iter().map(|above| if is_last(above) { "  " } else { "│ " }).collect();
    out.push_str(if is_last(node) { "└ " } else { "├ " });
    out
}
