//! A family's repository, the mock it talks to, and everything that is left when it is done.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use mxd::base::{EventId, MessageId, TaskId};
use mxd::config::paths::ProjectFolder;
use mxd::model::event::{Body, Event, Exit};
use mxd::model::message::{Message, MessageSource};
use mxd::model::usage::Tokens;
use mxd::model::{TaskNode, Tree};
use mxd::store::tree_file::TreeFile;
use mxd::store::{RealDisk, Sessions};

use super::models;
use super::talk::LOST;
use crate::cli_support::{Ran, World, json_lines};
use crate::support::mock::{Mock, Script};

pub struct FamilyFixture {
    pub world: World,
    pub mock: Mock,
    pub path: PathBuf,
    pub folder: ProjectFolder,
}

/// What must be the same however often the program was killed on the way.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Where it hangs, title, status, what came of each round. Tasks that are made at once come in any order.
    pub tasks: BTreeSet<String>,
    /// Files on the base branch with their text.
    pub files: BTreeMap<String, String>,
    /// What was committed, and by whom.
    pub commits: BTreeSet<(String, String)>,
    pub ledger: BTreeSet<String>,
}

/// One session: what was said to its task and what became of that.
#[derive(Debug, Default)]
pub struct Session {
    pub messages: Vec<Message>,
    pub consumed: Vec<MessageId>,
    pub withdrawn: Vec<MessageId>,
    /// The ends of runs with a verdict.
    pub ends: Vec<EventId>,
    pub tokens: Tokens,
    pub responses: u64,
    pub repairs: usize,
    pub compactions: usize,
}

impl FamilyFixture {
    /// A project whose models follow the script that is made for its ledger.
    pub fn new(script: impl FnOnce(&str) -> Script) -> Self {
        Self::within(World::on_disk(), script)
    }

    pub fn within(world: World, script: impl FnOnce(&str) -> Script) -> Self {
        let mock = Mock::start(script(&world.root().join("ledger").to_string_lossy()));
        let (path, folder) = {
            let project = world.project("kit");
            world.git(&project.path, ["add", "."]);
            world.git(&project.path, ["commit", "-q", "-m", "Set up"]);
            (project.path, project.folder)
        };
        Self { world, mock, path, folder }
    }

    /// The program, with the way to the mock.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = self.world.mxd_command(&self.path);
        command.args(args).env("ANTHROPIC_API_KEY", "sk-test").env("ANTHROPIC_BASE_URL", self.mock.url());
        command
    }

    pub fn mxd(&self, args: &[&str]) -> Ran {
        let output = self.command(args).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ran { code: output.status.code().unwrap(), out: text(&output.stdout), err: text(&output.stderr) }
    }

    /// Answers every open question. Returns how many there were.
    pub fn answer_all(&self) -> usize {
        let asks = json_lines(&self.mxd(&["asks", "--json"]).ok());
        for ask in &asks {
            let (id, question) = (ask["id"].as_str().unwrap(), ask["question"].as_str().unwrap());
            assert!(question.starts_with(models::QUESTION), "an unexpected question: {ask:#}\n{}", self.mock.story());
            self.mxd(&["answer", id, "blue"]).ok();
        }
        asks.len()
    }

    pub fn sessions(&self) -> Sessions {
        Sessions::new(Arc::new(RealDisk), self.folder.sessions())
    }

    pub fn tree(&self) -> Option<Tree> {
        TreeFile::new(Arc::new(RealDisk), self.folder.tree()).load().unwrap().map(|loaded| loaded.tree)
    }

    /// Returns every event of a session that is its own: what was copied into it belongs to another.
    fn events(&self, task: TaskId) -> Vec<Event> {
        let mut events = Vec::new();
        let read = self.sessions().stream(task, |event| {
            if matches!(event.body, Body::ForkMarker(_)) {
                events.clear();
            }
            events.push(event);
        });
        read.unwrap();
        events
    }

    pub fn session(&self, task: TaskId) -> Session {
        let mut session = Session::default();
        for event in self.events(task) {
            match event.body {
                Body::Message(message) => session.messages.push(message),
                Body::MessagesConsumed(consumed) => session.consumed.extend(consumed.ids),
                Body::MessagesWithdrawn(withdrawn) => session.withdrawn.extend(withdrawn.ids),
                Body::RunEnded(ended) if matches!(ended.exit, Exit::DonePassed | Exit::DoneFailed) => {
                    session.ends.push(event.id);
                }
                Body::Usage(usage) => {
                    session.tokens += usage.tokens;
                    session.responses += 1;
                }
                Body::Repaired(_) => session.repairs += 1,
                Body::CompactMarker(_) => session.compactions += 1,
                _ => {}
            }
        }
        session
    }

    /// Returns whether the goal is in the root's session.
    pub fn has_goal(&self, goal: &str) -> bool {
        let Some(tree) = self.tree() else { return false };
        if !self.sessions().path(tree.root_id()).exists() {
            return false;
        }
        let session = self.session(tree.root_id());
        session.messages.iter().any(|message| message.from == MessageSource::User && message.body == goal)
    }

    pub fn ledger(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.world.root().join("ledger")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    pub fn outcome(&self) -> Outcome {
        let tree = self.tree().unwrap();
        let git = |args: &[&str]| self.world.git(&self.path, args);
        let names: BTreeMap<String, String> =
            tree.all().map(|node| (node.id.to_string(), node.title.clone())).collect();
        let log = git(&["log", "--format=%s|%(trailers:key=Task-Id,valueonly,separator=)", "main"]);
        let commit = |line: &str| {
            let (subject, task) = line.split_once('|').unwrap();
            (subject.to_owned(), names.get(task.trim()).cloned().unwrap_or_else(|| task.trim().to_owned()))
        };
        let files = git(&["ls-tree", "-r", "--name-only", "main"]);
        let files = files.lines().filter(|name| !name.starts_with(".mxd/"));
        Outcome {
            tasks: tree.all().map(|node| line(&tree, node)).collect(),
            files: files.map(|name| (name.to_owned(), git(&["show", &format!("main:{name}")]))).collect(),
            commits: log.lines().map(commit).collect(),
            ledger: self.ledger().iter().map(|line| line.split(' ').next().unwrap().to_owned()).collect(),
        }
    }

    /// Fails if a model met something that it has no step for.
    pub fn assert_nobody_is_lost(&self) {
        for node in self.tree().unwrap().all().filter(|node| self.sessions().path(node.id).exists()) {
            for event in self.events(node.id) {
                let Body::AssistantText(said) = event.body else { continue };
                assert!(!said.text.starts_with(LOST), "{}: {}\n{}", node.title, said.text, self.mock.story());
            }
        }
    }

    /// Fails if anything was said and lost, or said twice by the program.
    pub fn assert_messages_once(&self, goal: &str, said: &[(&str, &str, &str)]) {
        let tree = self.tree().unwrap();
        let sessions: BTreeMap<TaskId, Session> = tree.all().map(|node| (node.id, self.session(node.id))).collect();
        for node in tree.all() {
            let session = &sessions[&node.id];
            let sent: Vec<MessageId> = session.messages.iter().map(|message| message.id).collect();
            assert_eq!(sent.iter().collect::<BTreeSet<_>>().len(), sent.len(), "sent twice to {}", node.title);
            let taken: BTreeSet<_> = session.consumed.iter().collect();
            assert_eq!(taken.len(), session.consumed.len(), "taken in twice by {}", node.title);
            let lost: Vec<&Message> = session.messages.iter().filter(|m| !is_settled(m, session)).collect();
            assert!(lost.is_empty(), "never taken in by {}: {lost:#?}", node.title);
            // Each end is told above exactly once, whatever happened in between.
            let Some(above) = node.parent else { continue };
            let is_from = |message: &&Message| matches!(message.from, MessageSource::TaskComplete { task, .. } if task == node.id);
            let mut told: Vec<_> =
                sessions[&above].messages.iter().filter(is_from).map(|message| message.id.ulid()).collect();
            let mut ends: Vec<_> = session.ends.iter().map(|event| event.ulid()).collect();
            told.sort_unstable();
            ends.sort_unstable();
            assert_eq!(told, ends, "what {} came to was not told exactly once", node.title);
        }
        for (from, to, words) in said {
            let to = tree.all().find(|node| node.title == *to).unwrap().id;
            let said = sessions[&to].messages.iter().filter(|m| is_from(m, from) && m.body == *words).count();
            let again = sessions[&to]
                .messages
                .iter()
                .filter(|m| is_from(m, from) && m.body == format!("{words} (again)"))
                .count();
            assert!(said <= 1 && said + again >= 1, "{from} said {words:?} {said} times, and {again} times again");
        }
        let goals = sessions[&tree.root_id()].messages.iter().filter(|message| message.body == goal).count();
        assert_eq!(goals, 1);
    }

    /// Fails if there is a worktree that the tree does not know, or the other way round.
    pub fn assert_no_stray_worktree(&self) {
        let tree = self.tree().unwrap();
        let real = |path: &PathBuf| std::fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        let mut known: BTreeSet<PathBuf> = tree.all().filter_map(|node| node.worktree.as_ref().map(real)).collect();
        known.insert(self.path.clone());
        let listed = self.world.git(&self.path, ["worktree", "list", "--porcelain"]);
        let listed: BTreeSet<PathBuf> =
            listed.lines().filter_map(|line| line.strip_prefix("worktree ")).map(PathBuf::from).collect();
        assert_eq!(listed, known);
        let folders = std::fs::read_dir(self.folder.worktrees()).unwrap().flatten();
        let folders: BTreeSet<PathBuf> =
            folders.map(|entry| entry.path()).filter(|path| path.is_dir()).map(|path| real(&path)).collect();
        let hidden = |path: &&PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        let stray: Vec<&PathBuf> = folders.iter().filter(|path| !hidden(path) && !known.contains(*path)).collect();
        assert!(stray.is_empty(), "{stray:?}");
    }

    pub fn task_ids(&self) -> Vec<String> {
        self.tree().map(|tree| tree.all().map(|node| node.id.to_string()).collect()).unwrap_or_default()
    }
}

fn is_from(message: &Message, from: &str) -> bool {
    matches!(&message.from, MessageSource::TaskMessage { title, .. } if title == from)
}

/// A message has been taken in, taken back, or belongs to what the user did to the tree and rides along.
fn is_settled(message: &Message, session: &Session) -> bool {
    session.consumed.contains(&message.id) || session.withdrawn.contains(&message.id)
}

/// A round that repeats the one before says nothing new: a model that was spoken to again had nothing to add.
fn line(tree: &Tree, node: &TaskNode) -> String {
    let mut rounds: Vec<String> =
        node.results.iter().map(|round| format!("{:?}: {}", round.verdict, round.result)).collect();
    rounds.dedup();
    let above = node.parent.and_then(|above| tree.get(above)).map_or("", |above| above.title.as_str());
    format!("{above} > {} [{}] {}", node.title, node.status, rounds.join(" / "))
}
