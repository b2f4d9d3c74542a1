//! `mxd demo`: the whole job offline, in a temporary folder, with a scripted model.

use std::io::{self, IsTerminal as _};
use std::sync::Arc;

use crate::app::demo::{GOAL, Pace, Stage, WELCOME};
use crate::app::{self, End};
use crate::base::Fault;
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::plain::{Typed, typed};
use crate::cli::run::{Front, INTERRUPTED};
use crate::cli::signals::{Heard, Signals};
use crate::cli::work::runtime;
use crate::engine::command::{Command, Outgoing};
use crate::engine::update::{Level, Notice, Update};
use crate::engine::{self, Handle};
use crate::git::health;
use crate::model::ask::Given;
use crate::model::message::Delivery;
use crate::model::{Ask, AskKind};
use crate::process;

#[derive(clap::Args)]
pub struct Args {
    /// Do not wait where a real model would take its time.
    #[arg(long)]
    fast: bool,
    /// Without a full screen.
    #[arg(long)]
    plain: bool,
    /// One update per line, as JSON, without a screen.
    #[arg(long)]
    json: bool,
}

pub fn run(console: &mut Console, args: &Args) -> Outcome {
    let lines = args.plain || args.json;
    if !lines {
        let lines = "watch the demo as lines: `mxd demo --plain`".to_owned();
        app::check_terminal().map_err(|fault| Fault { hints: vec![lines], ..fault })?;
    }
    let runtime = runtime()?;
    runtime.block_on(look_for_git())?;
    // Heard from before there is anything to clean up; the screen has ears of its own.
    let mut signals = if lines { Some(runtime.block_on(async { Signals::listen() })?) } else { None };
    let stage = Stage::build()?;
    process::hide_own_memory();
    let pace = if args.fast { Pace::Fast } else { Pace::Natural };
    let options = stage.options(pace)?;
    let (clock, ids) = (Arc::clone(&options.clock), options.ids.clone());
    let done = runtime.block_on(async {
        let handle = engine::open(options).await?;
        let (snapshot, _) = handle.look().await?;
        let message = Outgoing { text: GOAL.to_owned(), images: Vec::new() };
        handle.command(Command::Send { task: snapshot.root, message, mode: Delivery::Steer }).await?;
        let done = if let Some(signals) = &mut signals {
            play(console, &handle, args, signals).await
        } else {
            let screen = app::Options {
                home: stage.home.clone(),
                project: stage.project.clone(),
                keys: std::collections::BTreeMap::new(),
                key_places: std::collections::BTreeMap::new(),
                settings: app::Settings::default(),
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
                End::Quit | End::Switch(_) | End::SetUp => 0,
                End::Stopped(stop) => stop,
            })
        };
        handle.quit().await;
        done
    });
    runtime.shutdown_timeout(std::time::Duration::from_millis(200));
    drop(stage);
    let code = done?;
    // Of a demo that was cut short nothing is claimed.
    if !args.json && code == 0 {
        console.line("That was the demo. Now with your own repository: cd REPOSITORY, then mxd")?;
    }
    console.finish()?;
    Ok(code)
}

/// Agents and merges need git: without it the demo would come to a halt in the middle.
async fn look_for_git() -> Result<(), Fault> {
    match health::version().await? {
        Some(version) if version < health::NEEDED => {
            let fault = Fault::environment(format!("git {version} is too old to make worktrees for tasks"));
            Err(fault.hint(format!("install git {} or newer", health::WANTED)))
        }
        Some(_) | None => Ok(()),
    }
}

/// Plays the demo as lines, asking where it asks.
async fn play(console: &mut Console, handle: &Handle, args: &Args, signals: &mut Signals) -> Result<u8, Failure> {
    if args.json {
        let notice = Notice { level: Level::Info, text: WELCOME.to_owned(), task: None };
        console.json(&Update::Notice { notice })?;
    } else {
        console.line(WELCOME)?;
    }
    let (snapshot, mut watcher) = handle.look().await?;
    let mut front = Front::new(args.json);
    front.begin(console, snapshot)?;
    let mut lines = None;
    loop {
        if let Some(code) = front.until_quiet(console, handle, &mut watcher, None, signals).await? {
            return Ok(code);
        }
        // Anything but an agent's question is a failure, and no default helps.
        let Some((task, ask)) = front.first_ask().filter(|(_, ask)| ask.kind() == AskKind::Clarify) else { break };
        let usual = ask.default.clone().unwrap_or_else(|| ask.numbered(1));
        let reply = if args.json {
            usual
        } else {
            match ask_person(console, &ask, &mut lines, signals).await? {
                Answer::Left(code) => return Ok(code),
                Answer::Default => usual,
                Answer::Given(reply) => reply,
            }
        };
        handle.command(Command::Answer { task, ask: ask.id, reply }).await?;
    }
    Ok(front.code())
}

/// What a person said to a question.
enum Answer {
    Given(Given),
    /// They leave it to us.
    Default,
    /// They would rather end, with this code.
    Left(u8),
}

/// Asks on the terminal. The others have gone on since the question came up, so it is said again.
async fn ask_person(
    console: &mut Console,
    ask: &Ask,
    lines: &mut Option<Typed>,
    signals: &mut Signals,
) -> Result<Answer, Failure> {
    console.line(&format!("? {}", ask.question))?;
    console.line(&format!("  {}", ask.detail))?;
    for (choice, number) in ask.choices.iter().zip(1..) {
        console.line(&format!("  {number}. {choice}"))?;
    }
    if !io::stdin().is_terminal() {
        console.line("  (nobody is here to answer: the default is taken)")?;
        return Ok(Answer::Default);
    }
    console.bytes(b"  your answer: ")?;
    console.finish()?;
    let line = tokio::select! {
        line = lines.get_or_insert_with(typed).recv() => line,
        heard = signals.next() => return Ok(Answer::Left(match heard {
            Heard::Interrupt => INTERRUPTED,
            Heard::End(code) => code,
        })),
    };
    let line = line.transpose().map_err(|error| Fault::environment(format!("cannot read: {error}")))?;
    let line = line.as_deref().map(str::trim).unwrap_or_default();
    Ok(match line.parse::<usize>() {
        _ if line.is_empty() => Answer::Default,
        Ok(number) if (1..=ask.choices.len()).contains(&number) => Answer::Given(ask.numbered(number)),
        Ok(_) | Err(_) => Answer::Given(Given::Text(line.to_owned())),
    })
}
