//! The project as tools for an editor or another agent: it sees the tree, makes tasks, sends messages and answers.
//!
//! The client acts for the user who started it. Nothing waits: `read_events` returns what there is, with the place to go
//! on reading.

use std::sync::Mutex;

use futures::future::{BoxFuture, FutureExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::base::{EventId, Fault, Json, TaskId};
use crate::engine::Handle;
use crate::engine::command::{Command, Outcome, Outgoing, TaskDraft, TaskStart};
use crate::model::ToolSpec;
use crate::model::ask::AskReply;
use crate::model::message::Delivery;
use crate::model::search::SearchQuery;
use crate::tools::mcp_server::{ServedCall, ServedReply, ToolServer};
use crate::tools::names;

/// How many events and hits are returned at once.
const PAGE: usize = 50;
const HITS: usize = 20;

/// What a client may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolScope {
    Read,
    Write,
}

/// The tools, over a connection to the engine.
pub struct ProjectTools {
    handle: Handle,
    scope: ToolScope,
    client: Mutex<String>,
}

struct Entry {
    name: &'static str,
    scope: ToolScope,
    description: &'static str,
    schema: &'static str,
}

const TOOLS: [Entry; 8] = [
    Entry {
        name: "list_tasks",
        scope: ToolScope::Read,
        description: "Lists the tasks of the project in tree order, with number, status, what each does now, cost and open questions.",
        schema: r#"{"type":"object","properties":{}}"#,
    },
    Entry {
        name: "get_task",
        scope: ToolScope::Read,
        description: "Returns one task: brief, status, branch, worktree, results, cost.",
        schema: r##"{"type":"object","properties":{"task":{"type":"string","description":"Number (\"#12\"), id prefix, or part of the title."}},"required":["task"]}"##,
    },
    Entry {
        name: "read_events",
        scope: ToolScope::Read,
        description: "Returns the newest events of a task's session: messages, what its agent said and did. `after` returns only those after that event id, so that you can go on reading.",
        schema: r#"{"type":"object","properties":{"task":{"type":"string"},"after":{"type":"string"}},"required":["task"]}"#,
    },
    Entry {
        name: "list_questions",
        scope: ToolScope::Read,
        description: "Lists what waits for an answer of the user: questions, permissions, failures, reviews.",
        schema: r#"{"type":"object","properties":{}}"#,
    },
    Entry {
        name: "search",
        scope: ToolScope::Read,
        description: "Searches the titles, messages and transcripts of all tasks.",
        schema: r#"{"type":"object","properties":{"words":{"type":"string"}},"required":["words"]}"#,
    },
    Entry {
        name: "create_task",
        scope: ToolScope::Write,
        description: "Creates a task and starts it. Describe it so that a stranger could do it. Without `parent`, it is below the root.",
        schema: r#"{"type":"object","properties":{"title":{"type":"string"},"description":{"type":"string"},"parent":{"type":"string"},"profile":{"type":"string"},"start":{"type":"boolean","description":"Default true."}},"required":["title"]}"#,
    },
    Entry {
        name: "send_message",
        scope: ToolScope::Write,
        description: "Sends a message to a task's agent, in the name of the user. An idle task is woken.",
        schema: r#"{"type":"object","properties":{"task":{"type":"string"},"text":{"type":"string"}},"required":["task","text"]}"#,
    },
    Entry {
        name: "answer_question",
        scope: ToolScope::Write,
        description: "Answers an open question by the number of a choice, or in words. Ask your user first: the answer counts as theirs.",
        schema: r#"{"type":"object","properties":{"question":{"type":"string","description":"The id from list_questions."},"answer":{"type":"string"}},"required":["question","answer"]}"#,
    },
];

impl ProjectTools {
    pub fn new(handle: Handle, scope: ToolScope) -> Self {
        Self { handle, scope, client: Mutex::default() }
    }

    fn entries(&self) -> impl Iterator<Item = &'static Entry> {
        let can_write = self.scope == ToolScope::Write;
        TOOLS.iter().filter(move |entry| can_write || entry.scope == ToolScope::Read)
    }

    async fn run(&self, tool: &str, input: &Json) -> Result<String, Fault> {
        let input: Value = input.read().unwrap_or_default();
        let text =
            |name: &str| input.get(name).and_then(Value::as_str).map(str::to_owned).filter(|it| !it.trim().is_empty());
        let needed = |name: &str| text(name).ok_or_else(|| Fault::user(format!("\"{name}\" is missing")));
        match tool {
            "list_tasks" => to_text(&self.handle.tasks().await?.rows),
            "get_task" => {
                let task = self.find(&needed("task")?).await?;
                let rows = self.handle.tasks().await?.rows;
                to_text(&rows.iter().find(|row| row.node.id == task))
            }
            "read_events" => {
                let task = self.find(&needed("task")?).await?;
                let after: Option<EventId> = text("after").map(|id| parse(&id, "an event id")).transpose()?;
                let page = self.handle.page(task, None, PAGE).await?;
                let events: Vec<_> =
                    page.events.iter().filter(|event| after.is_none_or(|after| event.id > after)).collect();
                to_text(&json!({"events": events, "older": page.more}))
            }
            "list_questions" => to_text(&self.handle.asks().await?.rows),
            "search" => {
                let question = SearchQuery { words: needed("words")?, limit: HITS, ..SearchQuery::default() };
                to_text(&self.handle.search(question).await?)
            }
            "create_task" => {
                let parent = match text("parent") {
                    Some(parent) => self.find(&parent).await?,
                    None => self.handle.subscribe().await?.0.root,
                };
                let draft = TaskDraft {
                    title: needed("title")?,
                    description: text("description").unwrap_or_default(),
                    profile: text("profile"),
                    ..TaskDraft::default()
                };
                let is_started = input.get("start").and_then(Value::as_bool).unwrap_or(true);
                let start = if is_started { TaskStart::Now } else { TaskStart::Later };
                let command = Command::Create { parent, before: None, draft, start };
                match self.handle.command(command).await? {
                    Outcome::Created { task, title, .. } => Ok(format!("Created task {task}: {title}")),
                    other => to_text(&other),
                }
            }
            "send_message" => {
                let task = self.find(&needed("task")?).await?;
                let message = Outgoing { text: needed("text")?, ..Outgoing::default() };
                self.handle.command(Command::Send { task, message, mode: Delivery::Steer }).await?;
                Ok("Sent. read_events shows what comes of it.".to_owned())
            }
            "answer_question" => {
                let (wanted, answer) = (needed("question")?.to_ascii_uppercase(), needed("answer")?);
                let rows = self.handle.asks().await?.rows;
                let row = rows.iter().find(|row| row.ask.id.to_string() == wanted);
                let row =
                    row.ok_or_else(|| Fault::user("no open question has this id").hint("list_questions lists them"))?;
                let reply = match answer.trim().parse::<usize>() {
                    Ok(number) if number >= 1 && !row.ask.choices.is_empty() => row.ask.reply_with_number(number),
                    Ok(_) | Err(_) => AskReply::Text(answer),
                };
                self.handle
                    .command(Command::Answer { task: row.task, ask: row.ask.id, reply, by: self.client() })
                    .await?;
                Ok("Answered.".to_owned())
            }
            other => Err(Fault::internal(format!("a tool without code: {other}"))),
        }
    }

    /// Returns the name by which the client called itself.
    fn client(&self) -> Option<String> {
        let name = self.client.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        Some(name.clone()).filter(|name| !name.is_empty())
    }

    async fn find(&self, name: &str) -> Result<TaskId, Fault> {
        let found = self.handle.find(name.to_owned()).await;
        found.map_err(|fault| fault.hint("list_tasks lists the tasks"))
    }
}

fn to_text(value: &impl Serialize) -> Result<String, Fault> {
    serde_json::to_string(value).map_err(|error| Fault::internal(error.to_string()))
}

fn parse<T: DeserializeOwned>(text: &str, what: &str) -> Result<T, Fault> {
    serde_json::from_value(json!(text)).map_err(|_| Fault::user(format!("\"{text}\" is not {what}")))
}

impl ToolServer for ProjectTools {
    fn specs(&self) -> Vec<ToolSpec> {
        let spec = |entry: &Entry| ToolSpec {
            name: names::wire(entry.name),
            description: entry.description.to_owned(),
            schema: Json::parse(entry.schema).unwrap_or_default(),
        };
        self.entries().map(spec).collect()
    }

    fn instructions(&self) -> String {
        "Matrix runs a tree of coding agents on this repository. These tools see and drive it for its user.".to_owned()
    }

    fn call(&self, call: ServedCall) -> BoxFuture<'_, ServedReply> {
        async move {
            let tool = names::split(&call.name).map_or(call.name.as_str(), |(_, tool)| tool);
            match self.run(tool, &call.input).await {
                Ok(text) => ServedReply { text, is_error: false },
                Err(fault) => ServedReply::error(fault.to_string()),
            }
        }
        .boxed()
    }

    fn on_client(&self, name: &str) {
        name.clone_into(&mut self.client.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
        tracing::info!(client = name, "a client uses the project's tools");
    }
}
