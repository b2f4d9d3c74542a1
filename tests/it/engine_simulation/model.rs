//! The model of the simulated agents: it says whatever the dice say, and at the end what is sensible.

use mxd::agent::machine::Prepared;
use mxd::base::{Json, MessageId, MicroUsd, TaskId, TurnId};
use mxd::engine::command::{Command, StopScope, TaskChanges, TaskDraft, TaskStart};
use mxd::engine::query::TreeQuery;
use mxd::model::ask::AskMode;
use mxd::model::conversation::{ToolUse, Wire};
use mxd::model::event::{CachePolicy, SessionConfig, StopReason, SystemPrompt, Verdict};
use mxd::model::message::{Message, MessageSource};
use mxd::model::task::{Recurring, Status};
use mxd::model::usage::{Tokens, Usage};
use mxd::provider::{Response, ResponseBlock};
use mxd::tools::names;

use super::world::World;

/// What a response costs.
const COST: MicroUsd = MicroUsd(7);
/// Enough tasks for any trouble there can be between them.
const MANY: usize = 10;

/// What an agent asks of the engine.
pub enum Request {
    Command(Command),
    Query(TreeQuery),
}

impl World {
    pub fn prepared(&mut self, config: bool, context: bool) -> Prepared {
        let config = config.then(|| SessionConfig {
            model: "test".to_owned(),
            wire: Wire::Anthropic,
            tools: Vec::new(),
            system: SystemPrompt::default(),
            cache: CachePolicy::default(),
            max_output: 1_000,
            effort: None,
        });
        let work_context = context.then(|| {
            Message::new(MessageId::fresh(&self.ids), self.now(), MessageSource::WorkContext, "where you are")
        });
        Prepared { config, work_context }
    }

    /// Returns what the agent of `own` asks for with a tool of this name.
    pub fn request(&mut self, name: &str, own: TaskId) -> Option<Request> {
        let tasks: Vec<TaskId> = self.machine.tree().all().map(|node| node.id).collect();
        let task = self.dice.pick(&tasks)?;
        let coin = self.dice.chance(50);
        let command = match names::split(name)?.1 {
            "create_task" => Command::Create {
                parent: if self.dice.draw(6) == 0 { task } else { own },
                before: None,
                draft: TaskDraft {
                    title: if self.dice.draw(20) == 0 { " ".to_owned() } else { format!("Task {}", tasks.len()) },
                    description: "what to do".to_owned(),
                    budget: coin.then_some(MicroUsd(70)),
                    recurring: if self.dice.draw(20) == 0 { Recurring::Reset } else { Recurring::None },
                    ..TaskDraft::default()
                },
                start: match (self.dice.chance(85), self.dice.draw(12)) {
                    (_, 0) => TaskStart::Draft,
                    (true, _) => TaskStart::Now,
                    (false, _) => TaskStart::Later,
                },
            },
            "send_message" => {
                Command::Message { to: task, body: "a word".to_owned(), request_reply: self.dice.chance(40) }
            }
            "clarify" => Command::Ask {
                question: "Which?".to_owned(),
                detail: String::new(),
                choices: vec!["this".to_owned(), "that".to_owned()],
                default: coin.then(|| "this".to_owned()),
                mode: if self.dice.chance(50) { AskMode::Blocks } else { AskMode::Continues },
            },
            "stop_task" => Command::Stop { scope: StopScope::Subtree(task) },
            "close_task" => Command::Close { task },
            "delete_task" => Command::Delete { task },
            "reset_task" => Command::Reset { task },
            "update_task" => {
                let title = coin.then(|| "Another title".to_owned());
                let draft = (self.dice.draw(4) == 0).then_some(coin);
                Command::Update { task, changes: TaskChanges { title, draft, ..TaskChanges::default() } }
            }
            "reorder_tasks" => {
                let children = &self.machine.tree().get(task)?.children;
                Command::Reorder { parent: task, order: children.iter().rev().copied().collect() }
            }
            names::FORK_TASK_CONTEXT => Command::ForkContext { source: own, target: task },
            "get_tree" if coin => return Some(Request::Query(TreeQuery::Rows { below: None })),
            "get_tree" => return Some(Request::Query(TreeQuery::Task { task })),
            names::DONE => {
                return Some(Request::Query(TreeQuery::MayFinish { task: own, verdict: Verdict::Passed }));
            }
            _ => return Some(Request::Query(TreeQuery::Search { words: "title".to_owned(), limit: 5 })),
        };
        Some(Request::Command(command))
    }

    /// Returns what the model says.
    pub fn turn(&mut self, task: TaskId) -> Response {
        let tool = if self.calm { self.sensible(task) } else { self.whatever(task) };
        let (block, stop) = match tool {
            Some(name) => {
                let call = format!("call_{}", TurnId::fresh(&self.ids));
                let input = Json::parse("{}").unwrap();
                let call = ToolUse { call, name: names::wire(name), input, malformed: None };
                (ResponseBlock::ToolUse(call), StopReason::ToolUse)
            }
            None => (ResponseBlock::Text("So it is.".to_owned()), StopReason::EndTurn),
        };
        let tokens = Tokens::default();
        Response { blocks: vec![block], tokens, usage_reported: true, stop, cut_call: None, model: "test".to_owned() }
    }

    fn whatever(&mut self, task: TaskId) -> Option<&'static str> {
        let is_root = task == self.machine.tree().root_id();
        let crowded = self.machine.tree().len() >= MANY;
        Some(match self.dice.draw(28) {
            0..=4 => "look",
            5..=9 if !crowded => "create_task",
            5..=9 => names::YIELD,
            10 | 11 => "send_message",
            12 | 13 => "clarify",
            14 => ["close_task", "delete_task", "reset_task", "stop_task"][self.dice.draw(4)],
            15 => ["update_task", "reorder_tasks", "get_tree", "search_tasks"][self.dice.draw(4)],
            16 => names::FORK_TASK_CONTEXT,
            17 => names::BASH,
            18..=20 => names::YIELD,
            21..=25 if !is_root || self.dice.draw(4) == 0 => names::DONE,
            _ => return None,
        })
    }

    /// Finishes what can be finished.
    fn sensible(&mut self, task: TaskId) -> Option<&'static str> {
        let tree = self.machine.tree();
        let waits = tree.walk(task).skip(1).any(|node| node.status == Status::InProgress);
        if waits || self.runs.get(&task).is_some_and(|run| run.refused) {
            return Some(names::YIELD);
        }
        (task != tree.root_id()).then_some(names::DONE)
    }
}

pub fn usage() -> Usage {
    Usage {
        tokens: Tokens { input: 100, output: 10, ..Tokens::default() },
        model: "test".to_owned(),
        cost: Some(COST),
        context_window: 20_000,
        estimated: false,
    }
}
