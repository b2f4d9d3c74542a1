//! `mxd --plain`: the line-by-line display end for screen readers and plain terminals. Only ever appends lines. Input
//! goes to the current task; a number answers the question shown.
//!
//! It also opens without a provider: the project can be read, and messages typed at a terminal are queued. Input from a
//! script is refused instead, because the script could not tell that no agent runs.

use std::io::IsTerminal as _;

use tokio::sync::mpsc;

use crate::base::{Fault, TaskId, text};
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::locate::{ProjectLocator, home};
use crate::cli::onboarding::{self, NextStep, SetupReason};
use crate::cli::open_engine::{AgentStart, Overrides, check_model_access, runtime, with_engine};
use crate::cli::outcome::sentence;
use crate::cli::run::{INTERRUPTED, Outputs, RunDisplay};
use crate::cli::signals::{SignalRequest, Signals};
use crate::engine::Handle;
use crate::engine::command::{Command, Outgoing, StopScope};
use crate::engine::models::CommandLineChoice;
use crate::engine::update::Update;
use crate::model::ask::AskReply;
use crate::model::message::Delivery;

const HELP: &str = "Text goes to the current task. A number answers the question shown.
/tasks        list the tasks, numbered
/go N         switch to task N of that list
/asks         list open questions
/answer TEXT  answer the question shown
/new TITLE    create a subtask of the current task
/stop         stop the current task and its subtasks
/interrupt    interrupt the agent's turn
/diff         show how much each task has changed
/login        set up a model provider
/quit         stop all agents and quit; work resumes next time
Ctrl-C        interrupt the agents; twice: quit";

pub fn run(console: &mut Console, here: &ProjectLocator) -> Outcome {
    let mut lines = read_lines();
    let mut reason = SetupReason::Missing;
    let code = loop {
        if let NextStep::Exit(code) = greet(console, here, &mut lines, reason)? {
            break code;
        }
        let missing = model_access_fault(here)?;
        // An agent without a provider would only raise a failure.
        let agents = if missing.is_some() { AgentStart::Hold } else { AgentStart::Start };
        let (mut out, lines) = (Console::new(), &mut lines);
        let (out, missing) = (&mut out, missing.as_ref());
        let end = with_engine(console, here, agents, Overrides::default(), |handle| async move {
            run_session(out, &handle, lines, missing).await
        })?;
        match end {
            End::Code(code) => break code,
            End::SetUp => reason = SetupReason::Requested,
        }
    };
    console.finish()?;
    Ok(code)
}

/// How a session ended.
enum End {
    Code(u8),
    /// The user wants to set up a provider.
    SetUp,
}

/// Runs the set-up if stdin is a terminal. Otherwise prints the findings, on the first start in a repository and as
/// long as no provider is configured.
fn greet(
    console: &mut Console,
    here: &ProjectLocator,
    lines: &mut InputLines,
    reason: SetupReason,
) -> Result<NextStep, Failure> {
    let home = home()?;
    let settings = here.settings(&home)?.settings;
    if std::io::stdin().is_terminal() {
        return runtime()?.block_on(onboarding::guide_in_lines(console, here, &home, &settings, reason, lines));
    }
    here.repository()?;
    if here.peek(&home)?.is_some() && onboarding::is_set_up(&settings) {
        return Ok(NextStep::Open { decided: false });
    }
    let findings = runtime()?.block_on(onboarding::Findings::gather(&settings, &home));
    findings.lines().iter().for_each(|line| console.note(line));
    console.note(findings.next());
    Ok(NextStep::Open { decided: false })
}

/// Returns the reason why no agent can start, or `None` if a provider is configured.
fn model_access_fault(here: &ProjectLocator) -> Result<Option<Fault>, Failure> {
    let settings = here.settings(&home()?)?.settings;
    Ok(check_model_access(&settings, &CommandLineChoice::default()).err())
}

async fn run_session(
    out: &mut Console,
    handle: &Handle,
    lines: &mut InputLines,
    missing: Option<&Fault>,
) -> Result<End, Failure> {
    let mut signals = Signals::listen()?;
    let mut warned = false;
    let (snapshot, mut watcher) = handle.subscribe().await?;
    let mut at = snapshot.root;
    let mut display = RunDisplay::new(false).with_outputs(Outputs::Beginning);
    out.line(&format!(
        "Matrix on {}, branch {}. /help lists the commands.",
        snapshot.project.name, snapshot.project.base_branch
    ))?;
    if missing.is_some() && std::io::stdin().is_terminal() {
        out.line("No model provider is configured. /login configures one; until then messages are queued.")?;
    }
    display.reset(out, snapshot)?;
    list_asks(out, &display)?;
    out.finish()?;
    loop {
        tokio::select! {
            biased;
            line = lines.recv() => match line {
                Some(Ok(line)) => {
                    warned = false;
                    let next = run_line(out, handle, &display, &mut at, line.trim(), missing).await?;
                    out.finish()?;
                    if let Some(end) = next {
                        return Ok(end);
                    }
                }
                // End of input. A script waits until the agents are done.
                None if std::io::stdin().is_terminal() => return Ok(End::Code(0)),
                None => {
                    let cut_short = display.until_quiet(out, handle, &mut watcher, None, &mut signals).await?;
                    display.show_stalls(out)?;
                    return Ok(End::Code(cut_short.unwrap_or_else(|| display.code())));
                }
                Some(Err(error)) => return Err(Fault::environment(format!("cannot read stdin: {error}")).into()),
            },
            request = signals.next() => match request {
                SignalRequest::Exit(code) => return Ok(End::Code(code)),
                SignalRequest::Interrupt => {
                    if warned || !display.is_working() {
                        return Ok(End::Code(INTERRUPTED));
                    }
                    warned = true;
                    out.note("interrupting; press Ctrl-C again to quit");
                    display.interrupt(handle).await;
                }
            },
            update = watcher.next() => match update {
                Update::Moved | Update::Ended => return Ok(End::Code(0)),
                Update::Resync => {
                    let (snapshot, fresh) = handle.subscribe().await?;
                    watcher = fresh;
                    display.reset(out, snapshot)?;
                }
                update => {
                    display.show(out, &update)?;
                    if update == Update::Quiet {
                        list_asks(out, &display)?;
                    }
                    out.finish()?;
                }
            },
        }
    }
}

/// Lines from stdin.
pub type InputLines = mpsc::UnboundedReceiver<std::io::Result<String>>;

/// Reads stdin on a thread of its own, which ends with the program.
pub fn read_lines() -> InputLines {
    let (sender, lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lines() {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    lines
}

/// Executes a line of input. Returns the end of the session if it was the last one. `missing` is the reason why no
/// agent can start.
async fn run_line(
    out: &mut Console,
    handle: &Handle,
    display: &RunDisplay,
    at: &mut TaskId,
    line: &str,
    missing: Option<&Fault>,
) -> Result<Option<End>, Failure> {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    let command = match word {
        "" => return Ok(None),
        "/quit" | "/q" => return Ok(Some(End::Code(0))),
        "/login" | "/set_up" if std::io::stdin().is_terminal() => return Ok(Some(End::SetUp)),
        "/help" | "/?" => {
            out.line(HELP)?;
            return Ok(None);
        }
        "/tasks" => {
            list_tasks(out, display, *at)?;
            return Ok(None);
        }
        "/asks" if display.first_ask().is_none() => {
            out.line("no open questions")?;
            return Ok(None);
        }
        "/asks" => {
            list_asks(out, display)?;
            return Ok(None);
        }
        "/diff" => {
            for view in display.in_order() {
                if let Some(diff) = view.diff {
                    out.line(&format!(
                        "{}: {} files, +{} -{}",
                        text::headline(&view.node.title, 60),
                        diff.files,
                        diff.added,
                        diff.removed
                    ))?;
                }
            }
            return Ok(None);
        }
        "/go" => {
            let tasks = display.in_order();
            match rest.parse::<usize>().ok().and_then(|number| tasks.get(number.checked_sub(1)?)) {
                Some(view) => {
                    *at = view.node.id;
                    out.line(&format!("at \"{}\", {}", view.node.title, view.node.status))?;
                }
                None => out.line(&format!("there is no task {rest}; /tasks lists them"))?,
            }
            return Ok(None);
        }
        "/new" => {
            let draft = crate::engine::command::TaskDraft { title: rest.to_owned(), ..Default::default() };
            Command::Create { parent: *at, before: None, draft, start: crate::engine::command::TaskStart::Now }
        }
        "/stop" => Command::Stop { scope: StopScope::Subtree(*at) },
        "/interrupt" => Command::Interrupt { task: *at },
        "/answer" => match display.first_ask() {
            Some((task, ask)) => {
                Command::Answer { task, ask: ask.id, reply: AskReply::Text(rest.to_owned()), by: None }
            }
            None => {
                out.line("no open questions")?;
                return Ok(None);
            }
        },
        _ if word.starts_with('/') => {
            out.line(&format!("unknown command {word}; /help lists the commands"))?;
            return Ok(None);
        }
        _ => match (line.parse::<usize>(), display.first_ask()) {
            (Ok(number @ 1..), Some((task, ask))) if !ask.choices.is_empty() => {
                Command::Answer { task, ask: ask.id, reply: ask.reply_with_number(number), by: None }
            }
            _ => Command::Send {
                task: *at,
                message: Outgoing { text: line.to_owned(), ..Outgoing::default() },
                mode: Delivery::Steer,
            },
        },
    };
    let needs_model = matches!(command, Command::Send { .. } | Command::Create { .. } | Command::Answer { .. });
    let missing = missing.filter(|_| needs_model);
    if let Some(fault) = missing.filter(|_| !std::io::stdin().is_terminal()) {
        return Err(fault.clone().into());
    }
    match handle.command(command).await {
        Ok(outcome) => {
            if let Some(words) = sentence(&outcome) {
                out.line(&words)?;
            }
        }
        Err(fault) => {
            out.fault(&fault);
            return Ok(None);
        }
    }
    if missing.is_some() {
        out.line("queued until a model provider is configured")?;
    }
    Ok(None)
}

fn list_tasks(out: &mut Console, display: &RunDisplay, at: TaskId) -> Result<(), Failure> {
    for (view, number) in display.in_order().iter().zip(1..) {
        let here = if view.node.id == at { ", current" } else { "" };
        let asks = if view.asks.is_empty() { "" } else { ", has a question" };
        let waits = if view.queued_merge.is_some() { ", merge queued" } else { "" };
        let works = if view.is_working() { ", working" } else { "" };
        out.line(&format!(
            "{number}. {}, {}{works}{waits}{asks}{here}",
            text::headline(&view.node.title, 60),
            view.node.status
        ))?;
    }
    Ok(())
}

fn list_asks(out: &mut Console, display: &RunDisplay) -> Result<(), Failure> {
    let Some((_, title, ask)) = display.asks().next() else { return Ok(()) };
    out.line(&format!("? {}: {}", text::headline(title, 60), ask.question))?;
    for line in ask.detail.trim().lines() {
        out.line(&format!("    {line}"))?;
    }
    for (choice, number) in ask.choices.iter().zip(1..) {
        out.line(&format!("  {number}. {choice}"))?;
    }
    out.line(if ask.choices.is_empty() {
        "  answer with /answer TEXT"
    } else {
        "  answer with a number, or /answer TEXT"
    })?;
    for (_, title, ask) in display.asks().skip(1) {
        let (title, question) = (text::headline(title, 40), text::headline(&ask.question, 80));
        out.line(&format!("next: {title}: {question}"))?;
    }
    Ok(())
}
