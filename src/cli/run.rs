//! `mxd run`: the whole job without a screen. Returns when nothing happens any more before somebody says something.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _};
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};

use crate::base::{Fault, MicroUsd, TaskId, text};
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::log::entry;
use crate::cli::place::Here;
use crate::cli::work::{Agents, Wishes, find, with_engine};
use crate::cli::{asks, exit};
use crate::engine::Handle;
use crate::engine::command::{Command, Outgoing, SendMode};
use crate::engine::models::Choice;
use crate::engine::snapshot::{Snapshot, TaskView};
use crate::engine::update::Update;
use crate::model::event::{Body, Event};
use crate::model::task::Status;

/// The exit code of a program that was ended with Ctrl-C.
const INTERRUPTED: u8 = 130;

#[derive(clap::Args)]
pub struct Args {
    /// What is to be done. Nothing: what is in progress goes on.
    goal: Vec<String>,
    /// One update per line, as JSON.
    #[arg(long)]
    json: bool,
    /// Say it to this task instead of the root.
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// Use this model.
    #[arg(long)]
    model: Option<String>,
    /// Use this auth group.
    #[arg(long, value_name = "GROUP")]
    auth: Option<String>,
    /// Stop and ask when this much is spent, in dollars.
    #[arg(long, value_name = "USD")]
    budget: Option<f64>,
    /// Stop after so many seconds.
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
}

pub fn run(console: &mut Console, here: &Here, args: Args) -> Outcome {
    let budget = args.budget.map(|amount| {
        MicroUsd::from_dollars(amount).ok_or_else(|| Fault::user(format!("--budget {amount} is not an amount of dollars")))
    });
    let choice = Choice { auth: args.auth.clone(), model: args.model.clone() };
    let wishes = Wishes { choice, budget: budget.transpose()? };
    let mut front = Front { json: args.json, chatty: io::stdout().is_terminal(), views: BTreeMap::new(), told: BTreeMap::new() };
    let mut out = Console::new();
    let (front, out, args) = (&mut front, &mut out, &args);
    let code = with_engine(console, here, Agents::Start, wishes, |handle| async move {
        front.work(out, &handle, args).await
    })?;
    console.finish()?;
    Ok(code)
}

/// What the person sees of a run.
struct Front {
    json: bool,
    chatty: bool,
    views: BTreeMap<TaskId, TaskView>,
    /// What was last said of each task's status.
    told: BTreeMap<TaskId, Status>,
}

impl Front {
    async fn work(&mut self, out: &mut Console, handle: &Handle, args: &Args) -> Result<u8, Failure> {
        let (snapshot, _) = handle.look().await?;
        let target = args.task.as_ref().map_or(Ok(snapshot.root), |task| find(&snapshot, task))?;
        let goal = args.goal.join(" ");
        let mut signals = signal(SignalKind::interrupt()).map_err(|error| Fault::environment(error.to_string()))?;
        let mut terminated = signal(SignalKind::terminate()).map_err(|error| Fault::environment(error.to_string()))?;
        if !goal.trim().is_empty() {
            let message = Outgoing { text: goal, images: Vec::new() };
            handle.command(Command::Send { task: target, message, mode: SendMode::Steer }).await?;
        }
        let (snapshot, mut watcher) = handle.look().await?;
        let mut quiet = snapshot.quiet;
        self.begin(out, snapshot)?;
        let deadline = async {
            match args.timeout {
                Some(seconds) => tokio::time::sleep(Duration::from_secs(seconds)).await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(deadline);
        let mut interrupts = 0;
        while !quiet {
            tokio::select! {
                biased;
                _ = signals.recv() => {
                    interrupts += 1;
                    if interrupts > 1 {
                        out.note("stopping");
                        return Ok(INTERRUPTED);
                    }
                    out.note("interrupting; once more stops everything");
                    self.interrupt(handle).await;
                }
                _ = terminated.recv() => return Ok(INTERRUPTED),
                () = &mut deadline => {
                    // What ends with the process goes on with the next one; only what the person stops stays stopped.
                    out.note(&format!("stopped after {} s, as asked", args.timeout.unwrap_or_default()));
                    return Ok(exit::FAILED);
                }
                update = watcher.next() => {
                    quiet = matches!(update, Update::Quiet | Update::Ended);
                    if update == Update::Resync {
                        let (snapshot, fresh) = handle.look().await?;
                        watcher = fresh;
                        quiet = snapshot.quiet;
                        self.begin(out, snapshot)?;
                    } else {
                        self.show(out, &update)?;
                    }
                }
            }
        }
        self.end(out, target)
    }

    async fn interrupt(&self, handle: &Handle) {
        let alive: Vec<TaskId> = self.views.values().filter(|view| view.alive).map(|view| view.node.id).collect();
        for task in alive {
            // One that has just ended needs no interrupting.
            let _ = handle.command(Command::Interrupt { task }).await;
        }
    }

    fn begin(&mut self, out: &mut Console, snapshot: Snapshot) -> Result<(), Failure> {
        if self.json {
            out.json(&serde_json::json!({ "update": "snapshot", "snapshot": &snapshot }))?;
            out.finish()?;
        }
        for view in snapshot.tasks {
            self.told.insert(view.node.id, view.node.status);
            self.views.insert(view.node.id, view);
        }
        Ok(())
    }

    fn show(&mut self, out: &mut Console, update: &Update) -> Result<(), Failure> {
        if self.json {
            out.json(update)?;
        }
        match update {
            Update::Task { task } => {
                let id = task.node.id;
                let status = task.node.status;
                self.views.insert(id, (**task).clone());
                if self.told.insert(id, status) != Some(status) && !self.json {
                    out.line(&format!("{}  {status}", self.title(id)))?;
                }
            }
            Update::Removed { task } => {
                self.views.remove(task);
            }
            Update::Event { task, event } if !self.json => self.show_event(out, *task, event)?,
            Update::Notice { notice } if !self.json => out.note(&notice.text),
            Update::Event { .. }
            | Update::Notice { .. }
            | Update::Live { .. }
            | Update::Project { .. }
            | Update::Quiet
            | Update::Resync
            | Update::Ended => {}
        }
        // Somebody watches: nothing may wait in a buffer.
        out.finish()
    }

    fn title(&self, task: TaskId) -> String {
        self.views.get(&task).map_or_else(|| task.short(), |view| text::headline(&view.node.title, 40))
    }

    fn show_event(&self, out: &mut Console, task: TaskId, event: &Event) -> Result<(), Failure> {
        if !is_news(&event.body) {
            return Ok(());
        }
        let mut lines = entry::lines(event).into_iter();
        let head = lines.next().unwrap_or_default();
        // The time of day is for logs; here everything is now.
        let head = head.split_once("  ").map_or(head.as_str(), |(_, rest)| rest);
        out.line(&format!("{}  {head}", self.title(task)))?;
        let most = if self.chatty { 6 } else { usize::MAX };
        lines.take(most).try_for_each(|line| out.line(&line))
    }

    /// Says how it stands, and what waits for the person.
    fn end(&self, out: &mut Console, target: TaskId) -> Result<u8, Failure> {
        let waiting: Vec<&TaskView> = self.views.values().filter(|view| !view.asks.is_empty()).collect();
        for view in &waiting {
            for ask in &view.asks {
                if self.json {
                    out.json(&serde_json::json!({ "update": "ask", "task": view.node.id, "ask": ask }))?;
                } else {
                    asks::show(out, &view.node.title, ask)?;
                }
            }
        }
        out.finish()?;
        if !waiting.is_empty() {
            return Ok(exit::WAITING);
        }
        let failed = self.views.get(&target).is_some_and(|view| view.node.status == Status::Failed);
        Ok(if failed { exit::FAILED } else { 0 })
    }
}

/// Tells whether a person who watches wants to read of it.
fn is_news(body: &Body) -> bool {
    match body {
        Body::Message(message) => {
            use crate::model::message::Source;
            !matches!(message.from, Source::WorkContext | Source::TreeChange { .. } | Source::UserMessageForwarded { .. })
        }
        Body::AssistantText(_)
        | Body::ToolCall(_)
        | Body::AskRaised(_)
        | Body::AskAnswered(_)
        | Body::BudgetWarning(_)
        | Body::BudgetExceeded(_)
        | Body::Error(_)
        | Body::Repaired(_)
        | Body::CompactMarker(_)
        | Body::ForkMarker(_)
        | Body::DoneNotified(_) => true,
        Body::ToolResult(result) => result.is_error,
        Body::MessagesConsumed(_)
        | Body::MessagesWithdrawn(_)
        | Body::SessionConfig(_)
        | Body::Thinking(_)
        | Body::Usage(_)
        | Body::TurnEnded(_)
        | Body::CompactStarted(_)
        | Body::RunStarted(_)
        | Body::RunEnded(_)
        | Body::AskWithdrawn(_)
        | Body::HeadMoved(_)
        | Body::Snapshot(_)
        | Body::TaskChanged(_)
        | Body::Unknown(_) => false,
    }
}
