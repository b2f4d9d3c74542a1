//! `mxd run`: runs the agents without the UI. Returns when no agent can continue without new input.

mod progress;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IsTerminal as _};
use std::time::Duration;

use crate::base::{Clock as _, Fault, MicroUsd, SystemClock, TaskId, Timestamp, text};
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::locate::ProjectLocator;
use crate::cli::log::entry;
use crate::cli::open_engine::{AgentStart, Overrides, find, with_engine};
use crate::cli::paint::{Span, Style};
use crate::cli::signals::{SignalRequest, Signals};
use crate::cli::{asks, exit, stdin};
use crate::engine::Handle;
use crate::engine::command::{Command, Outgoing};
use crate::engine::feed::Watcher;
use crate::engine::models::CommandLineChoice;
use crate::engine::snapshot::{Snapshot, TaskView, Wait};
use crate::engine::update::{Level, Update};
use crate::model::Ask;
use crate::model::event::{Body, Event};
use crate::model::live::Activity;
use crate::model::message::{Delivery, MessageSource};
use crate::model::task::Status;
use crate::permit::Mode;

/// Number of recent events of the root that are searched for questions raised during startup.
const EARLY_EVENTS: usize = 50;

const NOTHING_TO_DO: &str = "nothing to do: no task is in progress and there are no unread messages. Start a goal with \
                             `mxd run \"what you want\"`, or message a task with `mxd send TASK TEXT`; `mxd tree` \
                             lists them";

/// Default time to wait for processes that agents left running when they ended their turn.
const LINGER: Duration = Duration::from_secs(30);

/// Exit code after Ctrl-C.
pub const INTERRUPTED: u8 = 130;

#[derive(clap::Args)]
pub struct Args {
    /// The goal. `-` reads it from stdin; omit it to resume.
    goal: Vec<String>,
    /// Print one JSON update per line.
    #[arg(long)]
    json: bool,
    /// Send the goal to this task instead of the root.
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// Use this model.
    #[arg(long)]
    model: Option<String>,
    /// Use this auth group.
    #[arg(long, value_name = "GROUP")]
    auth: Option<String>,
    /// Budget in USD. Pauses and asks when reached.
    #[arg(long, value_name = "USD", allow_negative_numbers = true)]
    budget: Option<f64>,
    /// Permission mode of tasks without their own, such as refuse.
    #[arg(long, value_name = "MODE")]
    mode: Option<Mode>,
    /// Stop after this many seconds.
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    /// Wait this long for processes that agents left running.
    #[arg(long, value_name = "SECONDS", default_value_t = LINGER.as_secs())]
    linger: u64,
}

pub fn run(console: &mut Console, here: &ProjectLocator, args: &Args) -> Outcome {
    let budget = args.budget.map(|amount| {
        MicroUsd::from_dollars(amount)
            .ok_or_else(|| Fault::user(format!("--budget {amount} is not an amount of dollars")))
    });
    let started = SystemClock.now();
    let choice = CommandLineChoice { auth: args.auth.clone(), model: args.model.clone() };
    let overrides = Overrides { choice, budget: budget.transpose()?, mode: args.mode };
    let mut out = Console::new();
    let out = &mut out;
    let goal = stdin::read_args(&args.goal)?;
    if goal.trim().is_empty() && !args.goal.is_empty() {
        return Err(Fault::user("the goal is empty")
            .hint("pass a goal: `mxd run \"what you want\"`; omit it to resume work in progress")
            .into());
    }
    let code = with_engine(console, here, AgentStart::Start, overrides, |handle| async move {
        run_agents(out, &handle, args, goal, started).await
    })?;
    console.finish()?;
    Ok(code)
}

async fn run_agents(
    out: &mut Console,
    handle: &Handle,
    args: &Args,
    goal: String,
    started: Timestamp,
) -> Result<u8, Failure> {
    let mut signals = Signals::listen()?;
    // Watch from the start: resumed tasks may print something before the goal is sent.
    let (snapshot, mut watcher) = handle.subscribe().await?;
    let target = args.task.as_ref().map_or(Ok(snapshot.root), |task| find(&snapshot, task))?;
    let mut display = RunDisplay::new(args.json);
    display.target = Some(target);
    display.linger = Duration::from_secs(args.linger);
    let root = snapshot.root;
    display.reset(out, snapshot)?;
    display.show_early_asks(out, handle, root, started).await?;
    if !goal.trim().is_empty() {
        let message = Outgoing { text: goal, ..Outgoing::default() };
        handle.command(Command::Send { task: target, message, mode: Delivery::Steer }).await?;
    }
    match display.until_quiet(out, handle, &mut watcher, args.timeout, &mut signals).await? {
        Some(code) => Ok(code),
        None => display.end(out),
    }
}

/// Prints the updates of the engine as text or JSON, and tracks the state of all tasks.
pub struct RunDisplay {
    json: bool,
    is_terminal: bool,
    /// The task that decides the exit code. `None` for the root.
    target: Option<TaskId>,
    views: BTreeMap<TaskId, TaskView>,
    /// The status of each task that was printed last.
    printed_status: BTreeMap<TaskId, Status>,
    /// How long to wait for processes that agents left running.
    linger: Duration,
    /// Processes whose wait was printed.
    printed_processes: BTreeSet<(TaskId, String)>,
    outputs: Outputs,
    output_state: OutputState,
}

/// How much of the tools' results is printed. Failed results are always printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outputs {
    Hidden,
    Beginning,
}

/// Whether anything was printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OutputState {
    Empty,
    Printed,
}

impl RunDisplay {
    pub fn new(json: bool) -> Self {
        let is_terminal = io::stdout().is_terminal();
        let (views, printed_status) = (BTreeMap::new(), BTreeMap::new());
        Self {
            json,
            is_terminal,
            target: None,
            views,
            printed_status,
            linger: LINGER,
            printed_processes: BTreeSet::new(),
            outputs: Outputs::Hidden,
            output_state: OutputState::Empty,
        }
    }

    /// Sets how much of the tools' results is printed.
    pub fn with_outputs(self, outputs: Outputs) -> Self {
        Self { outputs, ..self }
    }

    /// Prints updates until the project is quiet. Returns an exit code if a signal or the timeout ended it.
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
            self.print_processes(out)?;
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
                request = signals.next() => match request {
                    SignalRequest::Exit(code) => return Ok(Some(code)),
                    // Runs end and are saved; the next `mxd run` resumes them.
                    SignalRequest::Interrupt => {
                        out.note("stopping");
                        return Ok(Some(INTERRUPTED));
                    }
                },
                () = lingered => break,
                () = &mut deadline => {
                    // The next process resumes these runs. Only tasks that the user stopped stay stopped.
                    out.note(&format!("stopped: timeout of {} s reached", timeout.unwrap_or_default()));
                    return Ok(Some(exit::FAILED));
                }
                update = watcher.next() => {
                    if update == Update::Resync {
                        let (snapshot, fresh) = handle.subscribe().await?;
                        *watcher = fresh;
                        quiet = snapshot.quiet;
                        self.reset(out, snapshot)?;
                        continue;
                    }
                    self.show(out, &update)?;
                    quiet = match update {
                        // The project may have become busy again since the update was sent.
                        Update::Quiet => is_quiet(handle).await?,
                        update => matches!(update, Update::Moved | Update::Ended),
                    };
                }
            }
        }
        while let Some(update) = watcher.try_next() {
            self.show(out, &update)?;
        }
        Ok(None)
    }

    /// Returns the tasks that wait for one of their processes, its command, and whether they called `yield` to wait.
    fn waiting_for_processes(&self) -> impl Iterator<Item = (&TaskView, &str, bool)> {
        self.views.values().filter_map(|view| match &view.waits {
            Some(Wait::Process { command, yielded }) if view.alive => Some((view, command.as_str(), *yielded)),
            _ => None,
        })
    }

    /// Returns true if only processes of agents that ended their turns are left.
    fn is_lingering(&self) -> bool {
        let left = self.waiting_for_processes().filter(|(.., yielded)| !yielded).count();
        let asks = |view: &TaskView| !view.asks.is_empty() && !view.is_working();
        let busy = |view: &&TaskView| (view.alive && !asks(view)) || matches!(view.waits, Some(Wait::Slot { .. }));
        left > 0 && left == self.views.values().filter(busy).count()
    }

    /// Prints the processes that the run waits for, each once.
    fn print_processes(&mut self, out: &mut Console) -> Result<(), Failure> {
        if self.json || self.is_working() {
            return Ok(());
        }
        let waits = self.waiting_for_processes().map(|(view, command, yielded)| {
            let how = if yielded {
                "waiting for its process".to_owned()
            } else {
                format!("ended its turn and left a process running, waiting up to {} s for it", self.linger.as_secs())
            };
            let command = text::headline(command, 80);
            (view.node.id, command.clone(), format!("{}  {how}: {command}", self.title(view.node.id)))
        });
        for (task, command, line) in waits.collect::<Vec<_>>() {
            if self.printed_processes.insert((task, command)) {
                self.output_state = OutputState::Printed;
                out.line(&line)?;
            }
        }
        out.finish()
    }

    /// Returns the tasks in tree order, parents first.
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

    /// Returns the open questions, with the tasks that ask and their titles.
    pub fn asks(&self) -> impl Iterator<Item = (TaskId, &str, &Ask)> {
        let each = |view| {
            let view: &TaskView = view;
            view.asks.iter().map(move |ask| (view.node.id, view.node.title.as_str(), ask))
        };
        self.views.values().flat_map(each)
    }

    /// Returns the question that an answer without an id belongs to.
    pub fn first_ask(&self) -> Option<(TaskId, Ask)> {
        self.asks().next().map(|(task, _, ask)| (task, ask.clone()))
    }

    /// Returns the exit code.
    pub fn code(&self) -> u8 {
        let of = |view: &&TaskView| self.target.map_or(view.node.parent.is_none(), |target| view.node.id == target);
        let decides = self.views.values().find(of);
        let failed = decides.is_some_and(|view| view.node.status == Status::Failed);
        let waits_for = |chain: &[TaskId]| {
            decides.is_some_and(|view| chain.iter().any(|task| self.is_in_subtree(*task, view.node.id)))
        };
        let is_open = decides.is_some_and(|view| view.node.status == Status::InProgress);
        let left_below = self.waiting_for_processes().any(|(view, ..)| !of(&view));
        if self.asks().any(|(_, _, ask)| progress::is_blocking(ask)) || (is_open && left_below) {
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
            // Fails if the run has just ended.
            let _ = handle.command(Command::Interrupt { task }).await;
        }
    }

    /// Replaces the known state with `snapshot`.
    pub fn reset(&mut self, out: &mut Console, snapshot: Snapshot) -> Result<(), Failure> {
        if self.json {
            out.json(&serde_json::json!({ "update": "snapshot", "snapshot": &snapshot }))?;
            out.finish()?;
        }
        for view in snapshot.tasks {
            self.printed_status.insert(view.node.id, view.node.status);
            self.views.insert(view.node.id, view);
        }
        Ok(())
    }

    /// Prints questions that the engine raised during startup, before the watcher existed.
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

    /// Prints an update.
    pub fn show(&mut self, out: &mut Console, update: &Update) -> Result<(), Failure> {
        if self.json {
            out.json(update)?;
        }
        match update {
            Update::Task { task } => {
                let id = task.node.id;
                let status = task.node.status;
                self.views.insert(id, (**task).clone());
                if self.printed_status.insert(id, status) != Some(status) && !self.json {
                    self.output_state = OutputState::Printed;
                    out.line(&format!("{}  {status}", self.title(id)))?;
                }
            }
            Update::Removed { task } => {
                self.views.remove(task);
            }
            Update::Event { task, event } if !self.json => self.show_event(out, *task, event)?,
            Update::Notice { notice } if !self.json => {
                self.output_state = OutputState::Printed;
                match notice.level {
                    Level::Info => out.line(&notice.text)?,
                    Level::Warning | Level::Error => out.note(&notice.text),
                }
            }
            Update::Event { .. }
            | Update::Notice { .. }
            | Update::Live { .. }
            | Update::Project { .. }
            | Update::Clients { .. }
            | Update::Quiet
            | Update::Resync
            | Update::Moved
            | Update::Ended => {}
        }
        // Flush, because a user may be watching.
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
            return progress::beginning(&body).iter().try_for_each(|line| out.line(&format!("    {line}")));
        }
        if !progress::is_shown(&event.body) {
            return Ok(());
        }
        self.output_state = OutputState::Printed;
        let mut lines = entry::lines(event).into_iter();
        let head = lines.next().unwrap_or_default();
        // Remove the time, which is always now.
        let head = head.split_once("  ").map_or(head.as_str(), |(_, rest)| rest);
        let style = match &event.body {
            Body::ToolResult(_) | Body::Error(_) | Body::BudgetExceeded(_) => Style::Bad,
            Body::AskRaised(_) | Body::BudgetWarning(_) => Style::Warning,
            Body::DoneNotified(_) => Style::Good,
            Body::ToolCall(_) => Style::Dim,
            _ => Style::Accent,
        };
        out.spans(&[Span::new(self.title(task), Style::Strong), Span::plain("  "), Span::new(head, style)])?;
        let most = if self.is_terminal { 6 } else { usize::MAX };
        if matches!(event.body, Body::ToolCall(_)) {
            // Its sentence says enough.
            return Ok(());
        }
        lines.take(most).try_for_each(|line| out.line(&line))
    }

    /// Returns true if `task` is `top` or below it.
    fn is_in_subtree(&self, task: TaskId, top: TaskId) -> bool {
        let parent = |task: &TaskId| self.views.get(task).and_then(|view| view.node.parent);
        std::iter::successors(Some(task), parent).any(|task| task == top)
    }

    /// Returns the tasks that cannot continue by themselves: the last of each chain, with the chain and the reason.
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
        // The user stopped these tasks, so they are not reported.
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
        self.output_state = if lines.is_empty() { self.output_state } else { OutputState::Printed };
        lines.iter().try_for_each(|line| out.line(line))
    }

    /// Returns a line for each stopped task with unread messages of the user.
    fn unread_while_stopped(&self) -> Vec<String> {
        let is_stopped = |view: &&&TaskView| view.activity == Activity::Stopped;
        let line = |view: &&TaskView| {
            let unread = view.unread.iter().filter(|message| message.from == MessageSource::User).count();
            (unread > 0).then(|| {
                let (title, count) = (&view.node.title, text::count(unread, "unread message", "unread messages"));
                format!("{title} is stopped and has {count}; wake it with `mxd send {} TEXT`", view.node.id.short())
            })
        };
        self.in_order().iter().filter(is_stopped).filter_map(line).collect()
    }

    /// Prints the open questions, or that there was nothing to do. Returns the exit code.
    fn end(&mut self, out: &mut Console) -> Result<u8, Failure> {
        if !self.json {
            self.show_stalls(out)?;
        }
        for (task, title, ask) in self.asks() {
            if self.json {
                out.json(&serde_json::json!({ "update": "ask", "task": task, "ask": ask }))?;
            } else if progress::is_blocking(ask) {
                asks::show(out, title, ask)?;
            } else {
                out.line(&format!(
                    "note: {} This does not block work. Answer with: {}",
                    ask.question,
                    asks::answer_command(ask)
                ))?;
            }
        }
        if !self.json && self.output_state == OutputState::Empty && self.asks().next().is_none() {
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

/// Returns true if no agent can continue without new input.
async fn is_quiet(handle: &Handle) -> Result<bool, Failure> {
    Ok(handle.subscribe().await?.0.quiet)
}
