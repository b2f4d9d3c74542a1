use std::sync::Arc;

use super::*;
use crate::base::{AskId, Clock as _, IdSource, MessageId, SystemClock};
use crate::engine::command::{Outgoing, StopScope};
use crate::model::ask::AnsweredBy;
use crate::model::event::{AskAnswered, Event, VERSION};
use crate::model::message::Delivery;
use crate::model::{Message, MessageSource};
use crate::serve::testing::FakePort;

fn ids() -> IdSource {
    IdSource::new(Arc::new(SystemClock))
}

fn event(ids: &IdSource, body: impl Into<Body>) -> Event {
    let (id, ts) = (EventId::fresh(ids), SystemClock.now());
    Event { v: VERSION, id, parent: None, ts, run: None, batch: None, body: body.into() }
}

/// A message that a client has sent, as it is in the session.
fn message(ids: &IdSource, key: Option<String>) -> Message {
    let message = Message::new(MessageId::fresh(ids), SystemClock.now(), MessageSource::User, "Hello.");
    Message { key, ..message }
}

fn send(port: &FakePort) -> Command {
    let message = Outgoing { text: "Hello.".to_owned(), ..Outgoing::default() };
    Command::Send { task: port.snapshot.root, message, mode: Delivery::Steer }
}

#[tokio::test]
async fn a_message_that_is_in_the_session_is_not_sent_again() {
    let (port, ids, client) = (FakePort::default(), ids(), ClientId::fresh());
    let handle = Handle::new(port.clone());
    let arrived = message(&ids, Some(key(client, 7)));
    {
        let mut events = port.events.lock().unwrap();
        events.push(event(&ids, message(&ids, Some(key(client, 6)))));
        events.push(event(&ids, arrived.clone()));
        // Far more than a page has come since.
        events.extend((0..3 * PAGE).map(|_| event(&ids, message(&ids, None))));
    }
    let again = carry_out(&handle, client, with_key(send(&port), client, 7)).await;
    assert_eq!(again, Ok(Outcome::Sent { message: arrived.id, wakes: false }));
    assert_eq!(port.commands.lock().unwrap().len(), 0);
    // The next one never arrived.
    carry_out(&handle, client, with_key(send(&port), client, 8)).await.unwrap();
    assert_eq!(*port.commands.lock().unwrap(), [with_key(send(&port), client, 8)]);
}

#[tokio::test]
async fn an_answer_that_is_in_the_session_is_not_given_again() {
    let (port, ids, client) = (FakePort::default(), ids(), ClientId::fresh());
    let handle = Handle::new(port.clone());
    let [answered, open] = [(); 2].map(|()| AskId::fresh(&ids));
    let answer = Answer {
        text: "Yes".to_owned(),
        choice: None,
        by: AnsweredBy::User,
        rules: Vec::new(),
        cause: None,
        client: None,
    };
    port.events.lock().unwrap().push(event(&ids, AskAnswered { id: answered, answer }));
    let task = port.snapshot.root;
    let reply = |ask, text: &str| Command::Answer { task, ask, reply: AskReply::Text(text.to_owned()), by: None };
    assert_eq!(carry_out(&handle, client, reply(answered, "Yes")).await, Ok(Outcome::Done));
    assert_eq!(port.commands.lock().unwrap().len(), 0);
    // Another one was faster: the engine refuses it. Nobody has answered the other question.
    for command in [reply(answered, "No"), reply(open, "Yes")] {
        carry_out(&handle, client, command.clone()).await.unwrap();
        assert_eq!(port.commands.lock().unwrap().pop(), Some(command));
    }
}

#[tokio::test]
async fn what_could_do_more_a_second_time_is_left_to_the_user() {
    let (port, client) = (FakePort::default(), ClientId::fresh());
    let (handle, task) = (Handle::new(port.clone()), port.snapshot.root);
    for command in [Command::Delete { task }, Command::UndoMerge { task }, Command::Reset { task }] {
        let fault = carry_out(&handle, client, command).await.unwrap_err();
        assert!(!fault.hints.is_empty(), "{fault}");
    }
    assert_eq!(port.commands.lock().unwrap().len(), 0);
    carry_out(&handle, client, Command::Stop { scope: StopScope::All }).await.unwrap();
    assert_eq!(port.commands.lock().unwrap().len(), 1);
}
