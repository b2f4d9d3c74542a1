//! `mxd demo`: the whole job offline, in a temporary folder, with a scripted model.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::sync::Arc;

use crate::app::demo::{GOAL, Pace, Stage, WELCOME};
use crate::app::{self, End};
use crate::base::Fault;
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::run::Front;
use crate::cli::work::runtime;
use crate::engine::command::{Command, Outgoing, Reply, SendMode};
use crate::engine::update::{Level, Notice, Update};
use crate::engine::{self, Handle};
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
    if !(args.plain || args.json) {
        app::check_terminal().map_err(|fault| fault.hint("or watch the demo as lines: `mxd demo --plain`"))?;
    }
    let stage = Stage::build()?;
    process::hide_own_memory();
    let pace = if args.fast { Pace::Fast } else { Pace::Natural };
    let options = stage.options(pace)?;
    let (clock, ids) = (Arc::clone(&options.clock), options.ids.clone());
    let runtime = runtime()?;
    let done = runtime.block_on(async {
        let handle = engine::open(options).await?;
        let (snapshot, _) = handle.look().await?;
        let message = Outgoing { text: GOAL.to_owned(), images: Vec::new() };
        handle.command(Command::Send { task: snapshot.root, message, mode: SendMode::Steer }).await?;
        let done = if args.plain || args.json {
            play(console, &handle, args).await
        } else {
            let screen = app::Options {
                handle: handle.clone(),
                home: stage.home.clone(),
                project: stage.project.clone(),
                keys: std::collections::BTreeMap::new(),
                key_places: std::collections::BTreeMap::new(),
                settings: app::Settings::default(),
                notify: crate::config::settings::Notify { desktop: false, bell: false, command: None },
                save_setting: Arc::new(|_| Ok(())),
                projects: Arc::new(Vec::new),
                models: Arc::new(|| Box::pin(async { Vec::new() })),
                clock,
                ids,
                greeting: vec![(Level::Info, WELCOME.to_owned())],
                suggestion: None,
            };
            app::run(screen).await.map_err(Failure::from).map(|end| match end {
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
    if !args.json {
        console.line("That was the demo. Now with your own repository: cd REPOSITORY, then mxd")?;
    }
    console.finish()?;
    Ok(code)
}

/// Plays the demo as lines, asking where it asks.
async fn play(console: &mut Console, handle: &Handle, args: &Args) -> Result<u8, Failure> {
    if args.json {
        let notice = Notice { level: Level::Info, text: WELCOME.to_owned(), task: None };
        console.json(&Update::Notice { notice })?;
    } else {
        console.line(WELCOME)?;
    }
    let mut front = Front::new(args.json);
    loop {
        if let Some(code) = front.until_quiet(console, handle, None).await? {
            return Ok(code);
        }
        // Anything but an agent's question is a failure, and no default helps.
        let Some((task, ask)) = front.first_ask().filter(|(_, ask)| ask.kind == AskKind::Clarify) else { break };
        let reply = if args.json { None } else { ask_person(console, &ask)? };
        let reply = reply.unwrap_or_else(|| {
            let usual =
                ask.default.as_ref().and_then(|default| ask.choices.iter().position(|choice| choice == default));
            Reply::Choice(usual.unwrap_or(0))
        });
        handle.command(Command::Answer { task, ask: ask.id, reply }).await?;
    }
    Ok(front.code())
}

/// Asks on the terminal. Nothing: there is nobody to ask, or they leave it to us.
fn ask_person(console: &mut Console, ask: &Ask) -> Result<Option<Reply>, Failure> {
    console.line(&format!("? {}", ask.question))?;
    console.line(&format!("  {}", ask.detail))?;
    for (choice, number) in ask.choices.iter().zip(1..) {
        console.line(&format!("  {number}. {choice}"))?;
    }
    if !io::stdin().is_terminal() {
        console.line("  (nobody is here to answer: the default is taken)")?;
        return Ok(None);
    }
    console.bytes(b"  your answer: ")?;
    console.finish()?;
    let _ = io::stdout().flush();
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).map_err(|error| Fault::environment(format!("cannot read: {error}")))?;
    let line = line.trim();
    Ok(match line.parse::<usize>() {
        _ if line.is_empty() => None,
        Ok(number) if (1..=ask.choices.len()).contains(&number) => Some(Reply::Choice(number - 1)),
        Ok(_) | Err(_) => Some(Reply::Text(line.to_owned())),
    })
}
