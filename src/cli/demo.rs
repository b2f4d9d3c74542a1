//! `mxd demo`: a complete run offline, in a temporary folder, with a scripted model.

use std::io::{self, IsTerminal as _};
use std::sync::Arc;

use crate::app::demo::{DemoProject, GOAL, Pace, WELCOME};
use crate::app::{self, End};
use crate::base::Fault;
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::open_engine::runtime;
use crate::cli::plain::{InputLines, read_lines};
use crate::cli::run::{INTERRUPTED, RunDisplay};
use crate::cli::signals::{SignalRequest, Signals};
use crate::engine::command::{Command, Outgoing};
use crate::engine::update::{Level, Notice, Update};
use crate::engine::{self, Handle};
use crate::git::health;
use crate::model::ask::{AskReply, ChoiceId};
use crate::model::message::Delivery;
use crate::model::{Ask, AskKind};
use crate::process;

#[derive(clap::Args)]
pub struct Args {
    /// Skip the delays of a real model.
    #[arg(long)]
    fast: bool,
    /// Print lines instead of opening the screen.
    #[arg(long)]
    plain: bool,
    /// Print one JSON update per line.
    #[arg(long)]
    json: bool,
}

pub fn run(console: &mut Console, args: &Args) -> Outcome {
    let lines = args.plain || args.json;
    if !lines {
        let lines = "watch the demo as text: `mxd demo --plain`".to_owned();
        app::check_terminal().map_err(|fault| Fault { hints: vec![lines], ..fault })?;
    }
    let runtime = runtime()?;
    runtime.block_on(check_git())?;
    // Listen before creating anything that needs cleanup. The UI handles signals itself.
    let mut signals = if lines { Some(runtime.block_on(async { Signals::listen() })?) } else { None };
    let demo = DemoProject::build()?;
    process::hide_own_memory();
    let pace = if args.fast { Pace::Fast } else { Pace::Natural };
    let options = demo.options(pace)?;
    let (clock, ids) = (Arc::clone(&options.clock), options.ids.clone());
    let done = runtime.block_on(async {
        let handle = engine::open(options).await?;
        let (snapshot, _) = handle.subscribe().await?;
        let message = Outgoing { text: GOAL.to_owned(), ..Outgoing::default() };
        handle.command(Command::Send { task: snapshot.root, message, mode: Delivery::Steer }).await?;
        let done = if let Some(signals) = &mut signals {
            play(console, &handle, args, signals).await
        } else {
            let screen = app::Options {
                home: demo.home.clone(),
                project: demo.project.clone(),
                keys: std::collections::BTreeMap::new(),
                key_places: std::collections::BTreeMap::new(),
                settings: app::Settings::default(),
                client_name: String::new(),
                hosts: Vec::new(),
                host: None,
                notify: crate::config::settings::Notify { desktop: false, bell: false, command: None },
                clock,
                zone: jiff::tz::TimeZone::system(),
                ids,
                greeting: vec![(Level::Info, WELCOME.to_owned())],
                suggestion: None,
            };
            let end = match app::open(screen) {
                Ok(opened) => opened.run(handle.clone()).await,
                Err(fault) => Err(fault),
            };
            end.map_err(Failure::from).map(|end| match end {
                End::Quit | End::Moved | End::Switch(_) | End::SwitchHost { .. } | End::SetUp { .. } => 0,
                End::Stopped(stop) | End::HungUp(stop) => stop,
            })
        };
        handle.quit().await;
        done
    });
    runtime.shutdown_timeout(std::time::Duration::from_millis(200));
    drop(demo);
    let code = done?;
    if !args.json && code == 0 {
        console.line("That was the demo. To work on your own repository: cd REPOSITORY, then mxd")?;
    }
    console.finish()?;
    Ok(code)
}

/// Checks that git is usable. Without it the demo would fail halfway.
async fn check_git() -> Result<(), Fault> {
    match health::version().await? {
        Some(version) if version < health::MINIMUM_VERSION => {
            let fault = Fault::environment(format!("git {version} is too old to create worktrees for tasks"));
            Err(fault.hint(format!("install git {} or newer", health::RECOMMENDED_VERSION)))
        }
        Some(_) | None => Ok(()),
    }
}

/// Plays the demo as text, and passes its questions to the user.
async fn play(console: &mut Console, handle: &Handle, args: &Args, signals: &mut Signals) -> Result<u8, Failure> {
    if args.json {
        let notice = Notice { level: Level::Info, text: WELCOME.to_owned(), task: None };
        console.json(&Update::Notice { notice })?;
    } else {
        console.line(WELCOME)?;
    }
    let (snapshot, mut watcher) = handle.subscribe().await?;
    let mut display = RunDisplay::new(args.json);
    display.reset(console, snapshot)?;
    let mut lines = None;
    loop {
        if let Some(code) = display.until_quiet(console, handle, &mut watcher, None, signals).await? {
            return Ok(code);
        }
        let Some((task, ask)) = display.first_ask() else { break };
        // Any other kind of ask is a failure, which no default answer fixes.
        let Some(usual) = usual_reply(&ask) else { break };
        let reply = if args.json {
            usual
        } else {
            match ask_user(console, &ask, &mut lines, signals).await? {
                Answer::Quit(code) => return Ok(code),
                Answer::Default => usual,
                Answer::Given(reply) => reply,
            }
        };
        handle.command(Command::Answer { task, ask: ask.id, reply, by: None }).await?;
    }
    Ok(display.code())
}

/// Returns the answer of a user who goes along with the demo.
fn usual_reply(ask: &Ask) -> Option<AskReply> {
    match ask.kind() {
        AskKind::Clarify => Some(ask.default.clone().unwrap_or_else(|| ask.reply_with_number(1))),
        AskKind::Review => Some(AskReply::Choice(ChoiceId::Merge)),
        _ => None,
    }
}

/// The user's answer to a question.
enum Answer {
    Given(AskReply),
    /// An empty line.
    Default,
    /// A signal ended the demo, with this exit code.
    Quit(u8),
}

/// Asks on the terminal. Repeats the question, because other agents have printed lines since it was raised.
async fn ask_user(
    console: &mut Console,
    ask: &Ask,
    lines: &mut Option<InputLines>,
    signals: &mut Signals,
) -> Result<Answer, Failure> {
    console.line(&format!("? {}", ask.question))?;
    for line in ask.detail.lines().filter(|line| !line.is_empty()) {
        console.line(&format!("  {line}"))?;
    }
    for (choice, number) in ask.choices.iter().zip(1..) {
        console.line(&format!("  {number}. {choice}"))?;
    }
    if !io::stdin().is_terminal() {
        console.line("  (stdin is not a terminal: using the default)")?;
        return Ok(Answer::Default);
    }
    console.bytes(b"  your answer: ")?;
    console.finish()?;
    let line = tokio::select! {
        line = lines.get_or_insert_with(read_lines).recv() => line,
        request = signals.next() => return Ok(Answer::Quit(match request {
            SignalRequest::Interrupt => INTERRUPTED,
            SignalRequest::Exit(code) => code,
        })),
    };
    let line = line.transpose().map_err(|error| Fault::environment(format!("cannot read the answer: {error}")))?;
    let line = line.as_deref().map(str::trim).unwrap_or_default();
    Ok(match line.parse::<usize>() {
        _ if line.is_empty() => Answer::Default,
        Ok(number) if (1..=ask.choices.len()).contains(&number) => Answer::Given(ask.reply_with_number(number)),
        Ok(_) | Err(_) => Answer::Given(AskReply::Text(line.to_owned())),
    })
}
