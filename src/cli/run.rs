//! `mxd run`: the whole job without a screen. Returns when nothing happens any more before somebody says something.

mod news;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IsTerminal as _};
use std::time::Duration;

use crate::base::{Clock as _, Fault, MicroUsd, SystemClock, TaskId, Timestamp, text};
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::log::entry;
use crate::cli::place::Here;
use crate::cli::signals::{Heard, Signals};
use crate::cli::work::{Agents, Wishes, find, with_engine};
use crate::cli::{asks, exit, words};
use crate::engine::Handle;
use crate::engine::command::{Command, Outgoing};
use crate::engine::feed::Watcher;
use crate::engine::models::Choice;
use crate::engine::snapshot::{Snapshot, TaskView, Wait};
use crate::engine::update::{Level, Update};
use crate::model::Ask;
use crate::model::event::{Body, Event};
use crate::model::live::Activity;
use crate::model::message::{Delivery, Source};
use crate::model::task::Status;

/// How many events of the root are searched for questions of this start.
const EARLY_EVENTS: usize = 50;

/// What is said where nobody had anything to do.
const NOTHING_TO_DO: &str = "nothing to do: no task is in progress, and every message was answered. Say what you want: \
                             `mxd run \"what you want\"`, or to one task: `mxd send TASK TEXT`; `mxd tree` lists them";

/// How long a run waits for a process that an agent left running when it ended its turn.
const LINGER: Duration = Duration::from_secs(30);

/// The exit code of a program that was ended with Ctrl-C.
pub const INTERRUPTED: u8 = 130;

#[derive(clap::Args)]
pub struct Args {
    /// What is to be done; `-` reads it from standard input. Nothing: what is in progress goes on.
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
    #[arg(long, value_name = "USD", allow_negative_numbers = true)]
    budget: Option<f64>,
    /// Stop after so many seconds.
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    /// Wait this long for processes that agents left running.
    #[arg(long, value_name = "SECONDS", default_value_t = LINGER.as_secs())]
    linger: u64,
}

pub fn run(console: &mut Console, here: &Here, args: &Args) -> Outcome {
    let budget = args.budget.map(|amount| {
        MicroUsd::from_dollars(amount)
            .ok_or_else(|| Fault::user(format!("--budget {amount} is not an amount of dollars")))
    });
    let started = SystemClock.now();
    let choice = Choice { auth: args.auth.clone(), model: args.model.clone() };
    let wishes = Wishes { choice, budget: budget.transpose()? };
    let mut out = Console::new();
    let out = &mut out;
    let goal = words::said(&args.goal)?;
    if goal.trim().is_empty() && !args.goal.is_empty() {
        return Err(Fault::user("the goal is empty")
            .hint("say what you want: `mxd run \"what you want\"`; without a goal, it resumes work in progress")
            .into());
    }
    let code = with_engine(console, here, Agents::Start, wishes, |handle| async move {
        work(out, &handle, args, goal, started).await
    })?;
    console.finish()?;
    Ok(code)
}

async fn work(
    out: &mut Console,
    handle: &Handle,
    args: &Args,
    goal: String,
    started: Timestamp,
) -> Result<u8, Failure> {
    let mut signals = Signals::listen()?;
    // From the first moment: what goes on from the last time may say something before the goal is sent.
    let (snapshot, mut watcher) = handle.look().await?;
    let target = args.task.as_ref().map_or(Ok(snapshot.root), |task| find(&snapshot, task))?;
    let mut front = Front::new(args.json);
    front.target = Some(target);
    front.linger = Duration::from_secs(args.linger);
    let root = snapshot.root;
    front.begin(out, snapshot)?;
    front.show_early_asks(out, handle, root, started).await?;
    if !goal.trim().is_empty() {
        let message = Outgoing { text: goal, images: Vec::new() };
        handle.command(Command::Send { task: target, message, mode: Delivery::Steer }).await?;
    }
    match front.until_quiet(out, handle, &mut watcher, args.timeout, &mut signals).await? {
        Some(code) => Ok(code),
        None => front.end(out),
    }
}

/// What the person sees of agents at work, without a screen.
pub struct Front {
    json: bool,
    chatty: bool,
    /// The task whose end decides how it went. Nothing: the root.
    target: Option<TaskId>,
    views: BTreeMap<TaskId, TaskView>,
    /// What was last said of each task's status.
    told: BTreeMap<TaskId, Status>,
    /// How long to wait for processes that agents left running.
    linger: Duration,
    /// The processes that were named as being waited for.
    named: BTreeSet<(TaskId, String)>,
    outputs: Outputs,
    /// Whether anything was said at all.
    spoke: Spoke,
}

/// What is shown of what tools gave. That one failed always is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outputs {
    Hidden,
    Beginning,
}

/// Whether there was anything to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spoke {
    NotYet,
    Already,
}

impl Front {
    pub fn new(json: bool) -> Self {
        let chatty = io::stdout().is_terminal();
        let (views, told) = (BTreeMap::new(), BTreeMap::new());
        Self {
            json,
            chatty,
            target: None,
            views,
            told,
            linger: LINGER,
            named: BTreeSet::new(),
            outputs: Outputs::Hidden,
            spoke: Spoke::NotYet,
        }
    }

    /// As it is, with so much of what tools gave.
    pub fn with(self, outputs: Outputs) -> Self {
        Self { outputs, ..self }
    }

    /// Shows what happens, as `watcher` tells it, until nothing does any more. Returns an exit code if it was cut short.
    pub async fn until_quiet(
        &mut self,
        out: &mut Console,
        handle: &Handle,
        watcher: &mut Watcher,
        timeout: Option<u64>,
        signals: &mut Signals,
    ) -> Result<Option<u8>, Failure> {
        let mut quiet = is_quiet(handle).await?;
        let deadline = async {
            match timeout {
                Some(seconds) => tokio::time::sleep(Duration::from_secs(seconds)).await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(deadline);
        let mut lingers_until = None;
        while !quiet {
            self.name_processes(out)?;
            if self.is_lingering() {
                lingers_until.get_or_insert_with(|| tokio::time::Instant::now() + self.linger);
            } else {
                lingers_until = None;
            }
            let lingered = async {
                match lingers_until {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                heard = signals.next() => match heard {
                    Heard::End(code) => return Ok(Some(code)),
                    // Runs end and are saved; the next `mxd run` resumes them.
                    Heard::Interrupt => {
                        out.note("stopping");
                        return Ok(Some(INTERRUPTED));
                    }
                },
                () = lingered => break,
                () = &mut deadline => {
                    // What ends with the process goes on with the next one; only what the person stops stays stopped.
                    out.note(&format!("stopped after {} s, as asked", timeout.unwrap_or_default()));
                    return Ok(Some(exit::FAILED));
                }
                update = watcher.next() => {
                    if update == Update::Resync {
                        let (snapshot, fresh) = handle.look().await?;
                        *watcher = fresh;
                        quiet = snapshot.quiet;
                        self.begin(out, snapshot)?;
                        continue;
                    }
                    self.show(out, &update)?;
                    quiet = match update {
                        // It may have been so for a moment only, before something was said.
                        Update::Quiet => is_quiet(handle).await?,
                        update => update == Update::Ended,
                    };
                }
            }
        }
        while let Some(update) = watcher.try_next() {
            self.show(out, &update)?;
        }
        Ok(None)
    }

    /// Returns the tasks that wait for a process of their own, with its command and whether they called yield to wait.
    fn waiting_for_processes(&self) -> impl Iterator<Item = (&TaskView, &str, bool)> {
        self.views.values().filter_map(|view| match &view.waits {
            Some(Wait::Process { command, yielded }) if view.alive => Some((view, command.as_str(), *yielded)),
            _ => None,
        })
    }

    /// Tells whether everything that is left are processes of agents that ended their turns.
    fn is_lingering(&self) -> bool {
        let left = self.waiting_for_processes().filter(|(.., yielded)| !yielded).count();
        let asks = |view: &TaskView| !view.asks.is_empty() && !view.is_working();
        let busy = |view: &&TaskView| (view.alive && !asks(view)) || matches!(view.waits, Some(Wait::Slot { .. }));
        left > 0 && left == self.views.values().filter(busy).count()
    }

    /// Says for which processes the run waits, each once.
    fn name_processes(&mut self, out: &mut Console) -> Result<(), Failure> {
        if self.json || self.is_working() {
            return Ok(());
        }
        let waits = self.waiting_for_processes().map(|(view, command, yielded)| {
            let how = if yielded {
                "waits for its process".to_owned()
            } else {
                format!("ended its turn and left a process running, waiting up to {} s for it", self.linger.as_secs())
            };
            let command = text::headline(command, 80);
            (view.node.id, command.clone(), format!("{}  {how}: {command}", self.title(view.node.id)))
        });
        for (task, command, line) in waits.collect::<Vec<_>>() {
            if self.named.insert((task, command)) {
                self.spoke = Spoke::Already;
                out.line(&line)?;
            }
        }
        out.finish()
    }

    /// Returns the tasks as the tree has them, parents first.
    pub fn in_order(&self) -> Vec<&TaskView> {
        let mut order = Vec::new();
        let mut stack: Vec<TaskId> =
            self.views.values().filter(|view| view.node.parent.is_none()).map(|view| view.node.id).collect();
        while let Some(task) = stack.pop() {
            let Some(view) = self.views.get(&task) else { continue };
            order.push(view);
            stack.extend(view.node.children.iter().rev());
        }
        order
    }

    /// Returns what waits for the person, with the titles of those who ask.
    pub fn asks(&self) -> impl Iterator<Item = (TaskId, &str, &Ask)> {
        let each = |view| {
            let view: &TaskView = view;
            view.asks.iter().map(move |ask| (view.node.id, view.node.title.as_str(), ask))
        };
        self.views.values().flat_map(each)
    }

    /// Returns the question that an answer without a name is for.
    pub fn first_ask(&self) -> Option<(TaskId, Ask)> {
        self.asks().next().map(|(task, _, ask)| (task, ask.clone()))
    }

    /// Returns how it went, as a number for scripts.
    pub fn code(&self) -> u8 {
        let of = |view: &&TaskView| self.target.map_or(view.node.parent.is_none(), |target| view.node.id == target);
        let decides = self.views.values().find(of);
        let failed = decides.is_some_and(|view| view.node.status == Status::Failed);
        let waits_for = |chain: &[TaskId]| decides.is_some_and(|view| chain.contains(&view.node.id));
        let is_open = decides.is_some_and(|view| view.node.status == Status::InProgress);
        let left_below = self.waiting_for_processes().any(|(view, ..)| !of(&view));
        if self.asks().any(|(_, _, ask)| news::holds_work_up(ask)) || (is_open && left_below) {
            exit::WAITING
        } else if failed {
            exit::FAILED
        } else if self.stalls().any(|(_, (chain, _))| waits_for(chain)) {
            exit::WAITING
        } else {
            0
        }
    }

    pub fn is_working(&self) -> bool {
        self.views.values().any(TaskView::is_working)
    }

    pub async fn interrupt(&self, handle: &Handle) {
        let alive: Vec<TaskId> = self.views.values().filter(|view| view.alive).map(|view| view.node.id).collect();
        for task in alive {
            // One that has just ended needs no interrupting.
            let _ = handle.command(Command::Interrupt { task }).await;
        }
    }

    /// Takes in how things stand.
    pub fn begin(&mut self, out: &mut Console, snapshot: Snapshot) -> Result<(), Failure> {
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

    /// Shows what the engine asked while it started, before anybody could watch.
    async fn show_early_asks(
        &mut self,
        out: &mut Console,
        handle: &Handle,
        root: TaskId,
        started: Timestamp,
    ) -> Result<(), Failure> {
        let is_open =
            |ask: &Ask| self.views.get(&root).is_some_and(|view| view.asks.iter().any(|open| open.id == ask.id));
        if self.json || self.views.get(&root).is_none_or(|view| view.asks.is_empty()) {
            return Ok(());
        }
        let page = handle.page(root, None, EARLY_EVENTS).await?;
        let early = page.events.into_iter().filter(|event| event.ts >= started);
        let asked: Vec<Event> =
            early.filter(|event| matches!(&event.body, Body::AskRaised(ask) if is_open(ask))).collect();
        asked.iter().try_for_each(|event| self.show_event(out, root, event))
    }

    /// Shows what changed.
    pub fn show(&mut self, out: &mut Console, update: &Update) -> Result<(), Failure> {
        if self.json {
            out.json(update)?;
        }
        match update {
            Update::Task { task } => {
                let id = task.node.id;
                let status = task.node.status;
                self.views.insert(id, (**task).clone());
                if self.told.insert(id, status) != Some(status) && !self.json {
                    self.spoke = Spoke::Already;
                    out.line(&format!("{}  {status}", self.title(id)))?;
                }
            }
            Update::Removed { task } => {
                self.views.remove(task);
            }
            Update::Event { task, event } if !self.json => self.show_event(out, *task, event)?,
            Update::Notice { notice } if !self.json => {
                self.spoke = Spoke::Already;
                match notice.level {
                    Level::Info => out.line(&notice.text)?,
                    Level::Warning | Level::Error => out.note(&notice.text),
                }
            }
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

    fn show_event(&mut self, out: &mut Console, task: TaskId, event: &Event) -> Result<(), Failure> {
        if let Body::ToolResult(result) = &event.body
            && self.outputs == Outputs::Beginning
            && !result.is_error
        {
            let (head, body) = entry::describe(&event.body);
            out.line(&format!("{}  {head}", self.title(task)))?;
            return news::beginning(&body).iter().try_for_each(|line| out.line(&format!("    {line}")));
        }
        if !news::is_news(&event.body) {
            return Ok(());
        }
        self.spoke = Spoke::Already;
        let mut lines = entry::lines(event).into_iter();
        let head = lines.next().unwrap_or_default();
        // The time of day is for logs; here everything is now.
        let head = head.split_once("  ").map_or(head.as_str(), |(_, rest)| rest);
        out.line(&format!("{}  {head}", self.title(task)))?;
        let most = if self.chatty { 6 } else { usize::MAX };
        lines.take(most).try_for_each(|line| out.line(&line))
    }

    /// Returns who will not go on by themselves: the last of each chain, with those who wait for it and why.
    fn stalls(&self) -> impl Iterator<Item = (TaskId, (&[TaskId], &str))> {
        let mut stalls: BTreeMap<TaskId, (&[TaskId], &str)> = BTreeMap::new();
        for view in self.views.values() {
            let Some(Wait::Stalled { chain, reason }) = &view.waits else { continue };
            let Some(last) = chain.last() else { continue };
            let longest = stalls.entry(*last).or_insert((chain, reason));
            if chain.len() > longest.0.len() {
                *longest = (chain, reason);
            }
        }
        // Whoever stopped a task knows why nothing comes of it.
        let is_known = |task: &TaskId| self.views.get(task).is_some_and(|view| view.activity == Activity::Stopped);
        stalls.into_iter().filter(move |(last, _)| !is_known(last))
    }

    pub fn show_stalls(&mut self, out: &mut Console) -> Result<(), Failure> {
        let mut lines = Vec::new();
        for (last, (chain, reason)) in self.stalls() {
            let titles: Vec<String> = chain.iter().map(|task| self.title(*task)).collect();
            lines.push(format!("stuck: {}: {reason}", titles.join(" → ")));
            lines.push(format!("    mxd send {} TEXT", last.short()));
        }
        self.spoke = if lines.is_empty() { self.spoke } else { Spoke::Already };
        lines.iter().try_for_each(|line| out.line(line))
    }

    /// Returns a line for each stopped task that has messages of the user it has not read.
    fn unread_while_stopped(&self) -> Vec<String> {
        let is_stopped = |view: &&&TaskView| view.activity == Activity::Stopped;
        let line = |view: &&TaskView| {
            let unread = view.unread.iter().filter(|message| message.from == Source::User).count();
            (unread > 0).then(|| {
                let (title, count) = (&view.node.title, text::count(unread, "unread message", "unread messages"));
                format!("{title} is stopped and has {count}; wake it with `mxd send {} TEXT`", view.node.id.short())
            })
        };
        self.in_order().iter().filter(is_stopped).filter_map(line).collect()
    }

    /// Says what waits for the person, or that there was nothing to do.
    fn end(&mut self, out: &mut Console) -> Result<u8, Failure> {
        if !self.json {
            self.show_stalls(out)?;
        }
        for (task, title, ask) in self.asks() {
            if self.json {
                out.json(&serde_json::json!({ "update": "ask", "task": task, "ask": ask }))?;
            } else if news::holds_work_up(ask) {
                asks::show(out, title, ask)?;
            } else {
                out.line(&format!("note: {} Nothing waits for that: {}", ask.question, asks::how(ask)))?;
            }
        }
        if !self.json && self.spoke == Spoke::NotYet && self.asks().next().is_none() {
            let unread = self.unread_while_stopped();
            if unread.is_empty() {
                out.line(NOTHING_TO_DO)?;
            }
            unread.iter().try_for_each(|line| out.line(line))?;
        }
        out.finish()?;
        Ok(self.code())
    }
}

/// Tells whether nothing happens any more before somebody says something.
async fn is_quiet(handle: &Handle) -> Result<bool, Failure> {
    Ok(handle.look().await?.0.quiet)
}
