//! `mxd send TASK TEXT --wait`: sends a message through the engine that has the project open, starts one if there is none, and
//! prints the reply.

use std::time::Duration;

use crate::base::{EventId, Fault, MessageId, TaskId};
use crate::cli::config::settings;
use crate::cli::console::{Console, Failure, Outcome as Exit};
use crate::cli::exit;
use crate::cli::locate::{ProjectLocator, home};
use crate::cli::open_engine::{Overrides, check_model_access, find, runtime};
use crate::cli::shared_engine::join_or_start;
use crate::engine::Handle;
use crate::engine::command::{Command, Outcome, Outgoing};
use crate::engine::feed::Watcher;
use crate::engine::update::Update;
use crate::model::Ask;
use crate::model::ask::AskMode;
use crate::serve::protocol::ClientKind;
use crate::serve::wait::{End, Reply, Stop, TurnWatch};
use crate::store::EngineLock;

use super::SendArgs;

/// How many events are read to find a reply that was missed.
const PAGE: usize = 200;

pub fn send(console: &mut Console, here: &ProjectLocator, args: &SendArgs, text: String) -> Exit {
    let home = home()?;
    let located = here.locate_or_register(&home)?;
    // An engine that is open already has its own access.
    if EngineLock::holder(&located.folder.lock())?.is_none() {
        here.repository()?.branch()?;
        check_model_access(&settings(console, here, &home)?.settings, &Overrides::default().choice)?;
    }
    let runtime = runtime()?;
    let end = runtime.block_on(async {
        let engine = join_or_start(&located.folder, &located.project, ClientKind::Command).await?;
        let handle = engine.handle().clone();
        // Watched before the message is sent, so that no update about it is missed.
        let (snapshot, watcher) = handle.subscribe().await?;
        let task = find(&snapshot, &args.task)?;
        let message = Outgoing { text, ..Outgoing::default() };
        let sent = handle.command(Command::Send { task, message, mode: args.mode.into() }).await?;
        let Outcome::Sent { message, .. } = sent else {
            return Err(Failure::from(Fault::internal(format!("a message led to {sent:?}"))));
        };
        let limit = args.timeout.map_or(Duration::MAX, Duration::from_secs);
        let end = match open_ask(&handle, task).await? {
            Some(ask) => Some(End::Asks(Box::new(ask))),
            None => match tokio::time::timeout(limit, reply(&handle, task, message, watcher)).await {
                Ok(end) => Some(end?),
                Err(_) => None,
            },
        };
        engine.leave().await;
        Ok(end)
    });
    runtime.shutdown_timeout(Duration::from_millis(200));
    print(console, args, end?)
}

fn print(console: &mut Console, args: &SendArgs, end: Option<End>) -> Exit {
    let code = match end {
        Some(End::Reply(reply)) => {
            if args.json {
                console.json(&reply)?;
            } else if !reply.text.is_empty() {
                console.line(reply.text.trim_end())?;
            }
            code(&reply)
        }
        Some(End::Asks(ask)) => {
            if args.json {
                console.json(&*ask)?;
            } else {
                console.line(&ask.question)?;
                for (choice, number) in ask.choices.iter().zip(1..) {
                    console.line(&format!("  {number}. {choice}"))?;
                }
            }
            console.note("sent; the task waits for an answer to this question: `mxd answer`");
            exit::WAITING
        }
        Some(End::Withdrawn) => return Err(Fault::user("the message was withdrawn before the agent read it").into()),
        Some(End::Gone | End::Lost) => {
            return Err(Fault::environment("the task or its engine ended before it replied")
                .hint("the message was sent; `mxd log` shows what came of it")
                .into());
        }
        None => {
            console.note(&format!("sent; no reply within {} s", args.timeout.unwrap_or_default()));
            exit::FAILED
        }
    };
    console.finish()?;
    Ok(code)
}

fn code(reply: &Reply) -> u8 {
    match reply.stop {
        Stop::EndTurn | Stop::Passed => 0,
        Stop::Failed | Stop::Interrupted | Stop::MaxTokens | Stop::Refusal | Stop::ContextOverflow | Stop::Other => {
            exit::FAILED
        }
    }
}

/// Waits for the reply to a message, whatever becomes of the connection.
async fn reply(handle: &Handle, task: TaskId, message: MessageId, mut watcher: Watcher) -> Result<End, Fault> {
    let mut watch = TurnWatch::new(task, message);
    // The last event that was read from the session.
    let mut last: Option<EventId> = None;
    loop {
        let update = watcher.next().await;
        if let Update::Event { event, .. } = &update
            && last.is_some_and(|last| event.id <= last)
        {
            continue;
        }
        match watch.on_update(&update) {
            Some(End::Lost) => {
                watcher = handle.subscribe().await?.1;
                watch = TurnWatch::new(task, message);
                let page = handle.page(task, None, PAGE).await?;
                last = page.events.last().map(|event| event.id);
                let events = page.events.iter().skip_while(|event| event.id.ulid() < message.ulid());
                if let Some(end) = events.into_iter().find_map(|event| watch.on_event(event)) {
                    return Ok(end);
                }
            }
            Some(end) => return Ok(end),
            None => {}
        }
    }
}

/// Returns the question that keeps the task from reading the message.
async fn open_ask(handle: &Handle, task: TaskId) -> Result<Option<Ask>, Fault> {
    let open = handle.asks().await?.rows;
    let mut asks = open.into_iter().filter(|row| row.task == task && row.ask.mode == AskMode::Blocks);
    Ok(asks.next().map(|row| row.ask))
}
