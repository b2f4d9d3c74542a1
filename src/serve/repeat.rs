//! What to do with a command that its client sent to an engine that has died since: the disk decides.
//!
//! The client does not know whether the command was carried out, and the outcomes that the dead process remembered are
//! gone. `docs/dev/adr/0037-a-command-is-carried-out-once.md` explains the cases.

use super::protocol::{ClientId, RequestId};
use crate::base::{EventId, Fault, TaskId};
use crate::engine::Handle;
use crate::engine::command::{Command, FileCommand, Outcome};
use crate::model::ask::{AskReply, Chosen};
use crate::model::{Answer, Body};

/// How many events are read at a time.
const PAGE: usize = 200;
/// How far the clocks of a client and of its engine may differ.
const CLOCK_SLACK_MS: u64 = 60 * 60 * 1000;

/// How a command may be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// A second time changes nothing more.
    Harmless,
    /// The session says whether the message arrived.
    LookForMessage,
    /// The session says whether the question was answered.
    LookForAnswer,
    /// A second time could do more than the user asked for.
    AskUser,
}

/// Returns how a command may be repeated.
pub fn repeat(command: &Command) -> Repeat {
    match command {
        Command::Send { .. } => Repeat::LookForMessage,
        Command::Answer { .. } => Repeat::LookForAnswer,
        Command::Update { .. }
        | Command::ReviewPlan { .. }
        | Command::Move { .. }
        | Command::Reorder { .. }
        | Command::Withdraw { .. }
        | Command::Stop { .. }
        | Command::Interrupt { .. }
        | Command::Background { .. }
        | Command::Kill { .. }
        | Command::CancelMerge { .. }
        | Command::Verify { .. }
        | Command::HandOver { .. }
        | Command::Quit
        | Command::Files(
            FileCommand::MarkSeen { .. }
            | FileCommand::DraftConflicts { .. }
            | FileCommand::AttachPicture { .. }
            | FileCommand::SetSetting { .. },
        ) => Repeat::Harmless,
        Command::Message { .. }
        | Command::Ask { .. }
        | Command::Create { .. }
        | Command::HandOverTask { .. }
        | Command::Close { .. }
        | Command::Delete { .. }
        | Command::Reset { .. }
        | Command::Restore { .. }
        | Command::Resume { .. }
        | Command::Compact { .. }
        | Command::Merge { .. }
        | Command::UndoMerge { .. }
        | Command::CatchUp { .. }
        | Command::Review { .. }
        | Command::Rewind { .. }
        | Command::Redo { .. }
        | Command::Fork { .. }
        | Command::ForkContext { .. }
        | Command::Resend { .. } => Repeat::AskUser,
    }
}

/// Puts the number of a command into what it stores, so that a later engine recognises it.
pub(super) fn with_key(mut command: Command, client: ClientId, number: RequestId) -> Command {
    if let Command::Send { message, .. } = &mut command {
        message.key = Some(key(client, number));
    }
    command
}

fn key(client: ClientId, number: RequestId) -> String {
    format!("{}.{number}", client.0)
}

/// Carries out a command that was sent to an engine that has died since, unless it was carried out before.
pub(super) async fn carry_out(handle: &Handle, client: ClientId, command: Command) -> Result<Outcome, Fault> {
    match (repeat(&command), &command) {
        (Repeat::LookForMessage, Command::Send { task, message, .. }) => {
            let wanted = message.key.as_deref();
            let found = find(handle, *task, client, |body| match body {
                Body::Message(message) if message.key.as_deref() == wanted => Some(message.id),
                _ => None,
            });
            match found.await? {
                Some(message) => Ok(Outcome::Sent { message, wakes: false }),
                None => handle.command(command).await,
            }
        }
        (Repeat::LookForAnswer, Command::Answer { task, ask, reply, .. }) => {
            let found = find(handle, *task, client, |body| match body {
                Body::AskAnswered(answered) if answered.id == *ask => Some(answered.answer.clone()),
                _ => None,
            });
            // Another answer may have been first. Then the command is refused as usual.
            match found.await? {
                Some(answer) if is_reply(reply, &answer) => Ok(Outcome::Done),
                Some(_) | None => handle.command(command).await,
            }
        }
        (Repeat::Harmless | Repeat::LookForMessage | Repeat::LookForAnswer, _) => handle.command(command).await,
        (Repeat::AskUser, _) => Err(Fault::environment(
            "the mxd process that had this project open died while it carried this out; it may be done or not",
        )
        .hint("look at the task, then repeat the command if it is still needed")),
    }
}

/// Returns true if `answer` is what `reply` asked for.
fn is_reply(reply: &AskReply, answer: &Answer) -> bool {
    match reply {
        AskReply::Choice(choice) => answer.choice == Some(Chosen::Id(choice.clone())),
        AskReply::Text(text) => answer.text == *text,
        AskReply::Rules(rules) => answer.rules == *rules,
        AskReply::Plan(plan) => answer.text == *plan,
    }
}

/// Searches a session backwards, as far as the client existed.
async fn find<T>(
    handle: &Handle,
    task: TaskId,
    client: ClientId,
    wanted: impl Fn(&Body) -> Option<T>,
) -> Result<Option<T>, Fault> {
    let mut before = None;
    loop {
        let page = handle.page(task, before, PAGE).await?;
        if let Some(found) = page.events.iter().rev().find_map(|event| wanted(&event.body)) {
            return Ok(Some(found));
        }
        let first = page.events.first().map(|event| event.id);
        let is_older = |event: EventId| event.ulid().timestamp_ms() + CLOCK_SLACK_MS < client.0.timestamp_ms();
        match first.filter(|_| page.more) {
            Some(first) if !is_older(first) => before = Some(first),
            Some(_) | None => return Ok(None),
        }
    }
}

#[cfg(test)]
#[path = "repeat_tests.rs"]
mod tests;
