//! `mxd --plain`: the same engine for screen readers and plain terminals. Lines are only ever added; what is typed goes to
//! the task that was gone to last; a number answers the question that is shown.
//!
//! Without a model it opens all the same: what there is can be looked at, and what is written at a terminal is kept for when
//! there is one. A script that asks for work is refused instead: it could not tell that nobody took it up.

use std::io::IsTerminal as _;

use tokio::sync::mpsc;

use crate::base::{Fault, TaskId, text};
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::first::{self, Then};
use crate::cli::outcome::sentence;
use crate::cli::place::{Here, home};
use crate::cli::run::{Front, INTERRUPTED, Outputs};
use crate::cli::signals::{Heard, Signals};
use crate::cli::work::{Agents, Wishes, can_reach_a_model, runtime, with_engine};
use crate::engine::Handle;
use crate::engine::command::{Command, Outgoing, StopScope};
use crate::engine::models::Choice;
use crate::engine::update::Update;
use crate::model::ask::Given;
use crate::model::message::Delivery;

const HELP: &str = "What you type goes to the task you are at. A number answers the question that is shown.
/tasks        list the tasks, numbered
/go N         go to task N of that list
/asks         list what waits for you
/answer WORDS answer the question that is shown in your own words
/new TITLE    make a task below the one you are at
/stop         stop the agent of this task and what is below it
/interrupt    cut its turn short
/diff         how much each task has changed
/set_up       set up how a model is reached
/quit         stop everything, keep everything, end
Ctrl-C        interrupt the agents at work; twice: end";

pub fn run(console: &mut Console, here: &Here) -> Outcome {
    let mut lines = typed();
    let mut asks = Asks::WhatIsMissing;
    let code = loop {
        if let Then::Leave(code) = greet(console, here, &mut lines, asks)? {
            break code;
        }
        let missing = unreachable(here)?;
        // Nobody is started who could not say a word: that would only make a question of it.
        let agents = if missing.is_some() { Agents::Leave } else { Agents::Start };
        let (mut out, lines) = (Console::new(), &mut lines);
        let (out, missing) = (&mut out, missing.as_ref());
        let end = with_engine(console, here, agents, Wishes::default(), |handle| async move {
            talk(out, &handle, lines, missing).await
        })?;
        match end {
            End::Code(code) => break code,
            End::SetUp => asks = Asks::Everything,
        }
    };
    console.finish()?;
    Ok(code)
}

/// What the set-up asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asks {
    WhatIsMissing,
    Everything,
}

/// How the talk ended.
enum End {
    Code(u8),
    /// The person wants to set up how a model is reached.
    SetUp,
}

/// Asks for what is missing where somebody can answer. Else says what was found, at the first start in a repository and
/// as long as no model can be reached.
fn greet(console: &mut Console, here: &Here, lines: &mut Typed, asks: Asks) -> Result<Then, Failure> {
    let home = home()?;
    let settings = here.settings(&home)?.settings;
    if std::io::stdin().is_terminal() {
        return runtime()?.block_on(first::guide_in_lines(
            console,
            here,
            &home,
            &settings,
            asks == Asks::Everything,
            lines,
        ));
    }
    here.repository()?;
    if here.peek(&home)?.is_some() && first::is_set_up(&settings) {
        return Ok(Then::Open { decided: false });
    }
    let findings = runtime()?.block_on(first::Findings::gather(&settings, &home));
    findings.lines().iter().for_each(|line| console.note(line));
    console.note(findings.next());
    Ok(Then::Open { decided: false })
}

/// Returns why no agent could be started, if that is so.
fn unreachable(here: &Here) -> Result<Option<Fault>, Failure> {
    let settings = here.settings(&home()?)?.settings;
    Ok(can_reach_a_model(&settings, &Choice::default()).err())
}

async fn talk(out: &mut Console, handle: &Handle, lines: &mut Typed, missing: Option<&Fault>) -> Result<End, Failure> {
    let mut signals = Signals::listen()?;
    let mut warned = false;
    let (snapshot, mut watcher) = handle.look().await?;
    let mut at = snapshot.root;
    let mut front = Front::new(false).with(Outputs::Beginning);
    out.line(&format!(
        "Matrix on {}, branch {}. /help says what you can type.",
        snapshot.project.name, snapshot.project.base_branch
    ))?;
    if missing.is_some() && std::io::stdin().is_terminal() {
        out.line("No model is set up, so nobody can answer yet. /set_up asks for what is missing; until then what you write is kept.")?;
    }
    front.begin(out, snapshot)?;
    list_asks(out, &front)?;
    out.finish()?;
    loop {
        tokio::select! {
            biased;
            line = lines.recv() => match line {
                Some(Ok(line)) => {
                    warned = false;
                    let next = obey(out, handle, &front, &mut at, line.trim(), missing).await?;
                    out.finish()?;
                    if let Some(end) = next {
                        return Ok(end);
                    }
                }
                // Nobody types any more. What runs goes on to its end when nobody is at a terminal.
                None if std::io::stdin().is_terminal() => return Ok(End::Code(0)),
                None => {
                    let cut_short = front.until_quiet(out, handle, &mut watcher, None, &mut signals).await?;
                    front.show_stalls(out)?;
                    return Ok(End::Code(cut_short.unwrap_or_else(|| front.code())));
                }
                Some(Err(error)) => return Err(Fault::environment(format!("cannot read what is typed: {error}")).into()),
            },
            heard = signals.next() => match heard {
                Heard::End(code) => return Ok(End::Code(code)),
                Heard::Interrupt => {
                    if warned || !front.is_working() {
                        return Ok(End::Code(INTERRUPTED));
                    }
                    warned = true;
                    out.note("interrupting; once more ends");
                    front.interrupt(handle).await;
                }
            },
            update = watcher.next() => match update {
                Update::Ended => return Ok(End::Code(0)),
                Update::Resync => {
                    let (snapshot, fresh) = handle.look().await?;
                    watcher = fresh;
                    front.begin(out, snapshot)?;
                }
                update => {
                    front.show(out, &update)?;
                    if update == Update::Quiet {
                        list_asks(out, &front)?;
                    }
                    out.finish()?;
                }
            },
        }
    }
}

/// What is typed, line by line.
pub type Typed = mpsc::UnboundedReceiver<std::io::Result<String>>;

/// Returns what is typed. A thread of its own waits for it: it ends with the program.
pub fn typed() -> Typed {
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

/// Does what a line says. Returns how the talk ends, if it was the last. `missing` says why nobody can be started.
async fn obey(
    out: &mut Console,
    handle: &Handle,
    front: &Front,
    at: &mut TaskId,
    line: &str,
    missing: Option<&Fault>,
) -> Result<Option<End>, Failure> {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    let command = match word {
        "" => return Ok(None),
        "/quit" | "/q" => return Ok(Some(End::Code(0))),
        "/set_up" | "/setup" if std::io::stdin().is_terminal() => return Ok(Some(End::SetUp)),
        "/help" | "/?" => {
            out.line(HELP)?;
            return Ok(None);
        }
        "/tasks" => {
            list_tasks(out, front, *at)?;
            return Ok(None);
        }
        "/asks" if front.first_ask().is_none() => {
            out.line("nothing waits for you")?;
            return Ok(None);
        }
        "/asks" => {
            list_asks(out, front)?;
            return Ok(None);
        }
        "/diff" => {
            for view in front.in_order() {
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
            let tasks = front.in_order();
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
            let draft = crate::engine::command::Draft { title: rest.to_owned(), ..Default::default() };
            Command::Create { parent: *at, before: None, draft, start: crate::engine::command::Start::Now }
        }
        "/stop" => Command::Stop { scope: StopScope::Subtree(*at) },
        "/interrupt" => Command::Interrupt { task: *at },
        "/answer" => match front.first_ask() {
            Some((task, ask)) => Command::Answer { task, ask: ask.id, reply: Given::Text(rest.to_owned()) },
            None => {
                out.line("nothing waits for you")?;
                return Ok(None);
            }
        },
        _ if word.starts_with('/') => {
            out.line(&format!("{word} is not known; /help says what you can type"))?;
            return Ok(None);
        }
        _ => match (line.parse::<usize>(), front.first_ask()) {
            (Ok(number @ 1..), Some((task, ask))) if !ask.choices.is_empty() => {
                Command::Answer { task, ask: ask.id, reply: ask.numbered(number) }
            }
            _ => Command::Send {
                task: *at,
                message: Outgoing { text: line.to_owned(), images: Vec::new() },
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
        out.line("kept; it is taken up when a model is set up")?;
    }
    Ok(None)
}

fn list_tasks(out: &mut Console, front: &Front, at: TaskId) -> Result<(), Failure> {
    for (view, number) in front.in_order().iter().zip(1..) {
        let here = if view.node.id == at { ", you are here" } else { "" };
        let asks = if view.asks.is_empty() { "" } else { ", asks you" };
        let waits = if view.queued_merge.is_some() { ", merge waits" } else { "" };
        let works = if view.is_working() { ", at work" } else { "" };
        out.line(&format!(
            "{number}. {}, {}{works}{waits}{asks}{here}",
            text::headline(&view.node.title, 60),
            view.node.status
        ))?;
    }
    Ok(())
}

fn list_asks(out: &mut Console, front: &Front) -> Result<(), Failure> {
    let Some((_, title, ask)) = front.asks().next() else { return Ok(()) };
    out.line(&format!("? {}: {}", text::headline(title, 60), ask.question))?;
    for line in ask.detail.trim().lines() {
        out.line(&format!("    {line}"))?;
    }
    for (choice, number) in ask.choices.iter().zip(1..) {
        out.line(&format!("  {number}. {choice}"))?;
    }
    out.line(if ask.choices.is_empty() {
        "  /answer and your words"
    } else {
        "  a number, or /answer and your words"
    })?;
    for (_, title, ask) in front.asks().skip(1) {
        let (title, question) = (text::headline(title, 40), text::headline(&ask.question, 80));
        out.line(&format!("after that, {title}: {question}"))?;
    }
    Ok(())
}
