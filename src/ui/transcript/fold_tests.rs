use super::*;
use crate::base::{AskId, EventId, Timestamp};
use crate::model::Content;
use crate::model::ask::{Answer, AnsweredBy, ChoiceId, Chosen};
use crate::model::event::{
    AskAnswered, AssistantText, HeadMoved, MessagesWithdrawn, MoveReason, ResumeShape, RunStarted, StopReason,
    TurnEnded,
};
use crate::model::fold::SessionState;
use crate::ui::testing::{Ids, event, events, snapshot};

fn login() -> Fold {
    Fold::of(&events(Ids::default().login))
}

#[test]
fn a_call_and_its_result_are_one_entry() {
    let fold = login();
    let tools: Vec<_> = fold
        .entries
        .iter()
        .filter_map(|entry| match &entry.kind {
            EntryKind::Tool(tool) => Some((tool.call.as_str(), tool.asked.is_some(), tool.result.is_some())),
            _ => None,
        })
        .collect();
    assert_eq!(tools, [("1", true, true), ("2", true, true), ("3", true, true), ("4", true, false)]);
}

#[test]
fn message_shows_its_delivery_state() {
    let events = events(Ids::default().login);
    let delivery = |count: usize| {
        let fold = Fold::of(&events[..count]);
        fold.entries.iter().find_map(|entry| match entry.kind {
            EntryKind::UserMessage { delivery, .. } => Some(delivery),
            _ => None,
        })
    };
    assert_eq!(delivery(2), Some(DeliveryState::Sent));
    assert_eq!(delivery(3), Some(DeliveryState::Read));
    let mut fold = Fold::of(&events[..2]);
    let Body::Message(message) = &events[1].body else { panic!("the second event is a message") };
    fold.apply(&event(500, 0, Body::MessagesWithdrawn(MessagesWithdrawn { ids: vec![message.id] })));
    assert!(matches!(fold.entries[1].kind, EntryKind::UserMessage { delivery: DeliveryState::Withdrawn, .. }));
}

#[test]
fn an_answer_joins_its_question() {
    let ids = Ids::default();
    let ask = snapshot().tasks.iter().find(|task| task.node.id == ids.callback).unwrap().asks[0].clone();
    let answer = Answer {
        text: "/auth/callback".to_owned(),
        choice: Some(Chosen::Id(ChoiceId::Option(0))),
        by: AnsweredBy::User,
        rules: Vec::new(),
        cause: None,
        client: None,
    };
    let mut fold = Fold::default();
    fold.apply(&event(1, 9, Body::AskRaised(ask.clone())));
    fold.apply(&event(2, 8, Body::AskAnswered(AskAnswered { id: ask.id, answer: answer.clone() })));
    assert_eq!(fold.entries.len(), 1);
    assert!(matches!(&fold.entries[0].kind, EntryKind::Ask { answer: Some(given), .. } if *given == answer));
    // The question may not be loaded.
    let other = AskId::from_ulid(ulid::Ulid::from_parts(1, 5));
    fold.apply(&event(3, 7, Body::AskAnswered(AskAnswered { id: other, answer })));
    assert!(matches!(&fold.entries[1].kind, EntryKind::Notice { text, .. } if text == "answered: /auth/callback"));
}

#[test]
fn rewound_entries_stay_marked() {
    let mut fold = login();
    let to = EventId::from_ulid(ulid::Ulid::from_parts(1_794_808_000_000, 104));
    let moved =
        HeadMoved { to: Some(to), from: None, reason: MoveReason::Rewind, carry: Box::new(SessionState::default()) };
    fold.apply(&event(900, 0, Body::HeadMoved(moved)));
    fold.apply(&event(901, 0, Body::AssistantText(AssistantText { text: "again".to_owned() })));
    for entry in &fold.entries {
        let EntryId::Event(id) = entry.id else { panic!("everything is in the log") };
        assert_eq!(
            entry.undone,
            id > to && entry.id < EntryId::Event(event(900, 0, Body::TurnEnded(turn())).id),
            "{entry:?}"
        );
    }
}

fn turn() -> TurnEnded {
    TurnEnded { turn: crate::base::TurnId::from_ulid(ulid::Ulid::from_parts(1, 1)), stop: StopReason::Refusal }
}

#[test]
fn abnormal_turn_end_is_shown() {
    let mut fold = Fold::default();
    fold.apply(&event(1, 1, Body::TurnEnded(turn())));
    assert!(fold.entries[0].kind.is_error());
    let TurnEnded { turn, .. } = self::turn();
    fold.apply(&event(2, 1, Body::TurnEnded(TurnEnded { turn, stop: StopReason::EndTurn })));
    assert_eq!(fold.entries.len(), 1, "nothing is said of a turn that ended as turns do");
}

#[test]
fn result_without_call_has_its_own_entry() {
    let result = events(Ids::default().login)[6].clone();
    let fold = Fold::of([&result]);
    let EntryKind::Tool(tool) = &fold.entries[0].kind else { panic!("a tool") };
    assert!(tool.asked.is_none());
    assert!(matches!(tool.result.as_ref().unwrap().content, Content::Text { .. }));
}

/// Returns a call of `name` and its result.
fn called(name: &str, input: &serde_json::Value, is_error: bool) -> [Event; 2] {
    let line = |number: u128, kind: &str, body: serde_json::Value| {
        let id = event(number, 0, Body::TurnEnded(turn())).id;
        let line = serde_json::json!({"v": 1, "id": id, "ts": "2026-11-16T06:00:00Z", "type": kind, "body": body});
        Event::parse(&line.to_string()).unwrap()
    };
    let name = format!("mcp__mxd__{name}");
    let call = serde_json::json!({"call": "c", "name": name, "input": input});
    let content = serde_json::json!({"text": "So it is."});
    let result =
        serde_json::json!({"call": "c", "name": name, "content": content, "is_error": is_error, "duration_ms": 1});
    [line(1, "tool_call", call), line(5, "tool_result", result)]
}

#[test]
fn question_appears_once() {
    let ids = Ids::default();
    let ask = snapshot().tasks.iter().find(|task| task.node.id == ids.callback).unwrap().asks[0].clone();
    let [call, result] = called("clarify", &serde_json::json!({"question": ask.question}), false);
    let raised = event(3, 9, Body::AskRaised(ask.clone()));
    let fold = Fold::of([&call, &raised, &result]);
    assert_eq!(fold.entries.len(), 1, "{:#?}", fold.entries);
    assert!(matches!(&fold.entries[0].kind, EntryKind::Ask { .. }));
    // Also if the call is not loaded, and if the result has not arrived.
    assert_eq!(Fold::of([&raised, &result]).entries.len(), 1);
    assert_eq!(Fold::of([&call, &raised]).entries.len(), 1);
    // A refused call never became a question.
    let [call, refused] = called("clarify", &serde_json::json!({"question": ask.question}), true);
    let fold = Fold::of([&call, &refused]);
    assert!(matches!(&fold.entries[0].kind, EntryKind::Tool(tool) if tool.asked.is_some() && fold.entries.len() == 1));
}

#[test]
fn verdict_appears_once() {
    let [call, result] = called("done", &serde_json::json!({"status": "passed", "result": "Both pass."}), false);
    let verdict = crate::model::event::Verdict::Passed;
    let done = crate::model::event::DoneNotified { verdict, result: "Both pass.".to_owned() };
    let done = event(3, 9, Body::DoneNotified(done));
    let fold = Fold::of([&call, &done, &result]);
    assert_eq!(fold.entries.len(), 1, "{:#?}", fold.entries);
    assert!(matches!(&fold.entries[0].kind, EntryKind::Done { .. }));
    let [call, refused] = called("done", &serde_json::json!({"status": "passed"}), true);
    assert!(matches!(&Fold::of([&call, &refused]).entries[0].kind, EntryKind::Tool(tool) if tool.result.is_some()));
}

/// Returns a message of the user that arrived as event `number`, and the event that it was read.
fn sent(number: u128, words: &str) -> (Event, Body) {
    let id = MessageId::from_ulid(ulid::Ulid::from_parts(1, number));
    let message = Message::new(id, crate::base::Timestamp::EPOCH, MessageSource::User, words);
    let read = Body::MessagesConsumed(crate::model::event::MessagesConsumed { ids: vec![id] });
    (event(number, 0, Body::Message(message)), read)
}

fn wrote(number: u128, words: &str) -> Event {
    event(number, 0, Body::AssistantText(AssistantText { text: words.to_owned() }))
}

fn ended(number: u128, stop: StopReason) -> Event {
    event(number, 0, Body::TurnEnded(TurnEnded { stop, ..turn() }))
}

/// Returns the texts of all entries in display order.
fn order(fold: &Fold) -> Vec<String> {
    let text = |entry: &Entry| match &entry.kind {
        EntryKind::UserMessage { text, .. } | EntryKind::Text { text } | EntryKind::Notice { text, .. } => text.clone(),
        EntryKind::Tool(tool) => tool.call.clone(),
        other => format!("{other:?}"),
    };
    fold.entries.iter().map(Box::as_ref).chain(&fold.queued).map(text).collect()
}

#[test]
fn a_message_sent_during_a_response_stands_after_it() {
    let (first, read) = sent(1, "go");
    let (second, read_second) = sent(3, "and quickly");
    let events = [
        first,
        event(2, 0, read),
        second,
        wrote(4, "the response under way"),
        ended(5, StopReason::EndTurn),
        event(6, 0, read_second),
        wrote(7, "the reaction"),
    ];
    let mut fold = Fold::default();
    for (count, event) in events.iter().enumerate() {
        fold.apply(event);
        assert_eq!(fold.queued.len(), usize::from(count == 2 || count == 3), "after event {count}");
    }
    assert_eq!(order(&fold), ["go", "the response under way", "and quickly", "the reaction"]);
    assert!(fold.entries.iter().is_sorted_by_key(|entry| entry.id), "entries are found by their ids");
    assert_eq!(Fold::of(&events), fold, "a restart shows the same");
}

#[test]
fn a_message_sent_while_a_tool_runs_stands_after_its_call() {
    let [_, result] = called("bash", &serde_json::json!({"command": "ls"}), false);
    let [call, _] = called("bash", &serde_json::json!({"command": "ls"}), false);
    let (first, read) = sent(0, "go");
    let (second, _) = sent(3, "wait");
    let next = wrote(9, "next");
    let consumed = Event { id: event(0, 0, Body::TurnEnded(turn())).id, ..event(0, 0, read) };
    let fold = Fold::of([&first, &consumed, &call, &ended(2, StopReason::ToolUse), &second, &result, &next]);
    assert_eq!(order(&fold), ["go", "c", "wait", "next"], "the next response began after it");
}

#[test]
fn a_message_to_an_idle_agent_keeps_its_place() {
    let (first, read) = sent(3, "again");
    let fold =
        Fold::of([&wrote(1, "done"), &ended(2, StopReason::EndTurn), &first, &event(4, 0, read), &wrote(5, "yes")]);
    assert_eq!(order(&fold), ["done", "again", "yes"]);
    assert!(fold.entries.iter().all(|entry| matches!(entry.id, EntryId::Event(_))));
}

fn moved(number: u128, to: &Event) -> Event {
    let carry = Box::new(SessionState::default());
    event(number, 0, Body::HeadMoved(HeadMoved { to: Some(to.id), from: None, reason: MoveReason::Rewind, carry }))
}

fn run_ended(number: u128, reason: InterruptReason) -> Event {
    event(number, 0, Body::RunEnded(Exit::Interrupted(reason).into()))
}

#[test]
fn a_rewind_undoes_a_message_that_was_read_after_its_goal() {
    let (early, read) = sent(1, "written early, read late");
    let (pending, _) = sent(5, "not read yet");
    let kept = ended(2, StopReason::EndTurn);
    let events = [
        early,
        kept.clone(),
        event(3, 0, read),
        wrote(4, "undone"),
        pending,
        moved(6, &kept),
        run_ended(7, InterruptReason::Stopped),
    ];
    let fold = Fold::of(&events);
    let undone: Vec<bool> =
        fold.entries.iter().map(Box::as_ref).chain(&fold.queued).map(|entry| entry.undone).collect();
    assert_eq!(order(&fold), ["written early, read late", "undone", "not read yet", "rewound to an earlier turn"]);
    assert_eq!(undone, [true, true, false, false]);
}

#[test]
fn an_interrupt_and_a_stop_are_told_once() {
    let interrupt = Message::new(
        MessageId::from_ulid(ulid::Ulid::from_parts(1, 3)),
        crate::base::Timestamp::EPOCH,
        MessageSource::Interrupt,
        "",
    );
    let cut = ended(2, StopReason::Interrupted);
    let fold = Fold::of([&wrote(1, "half"), &cut, &event(3, 0, Body::Message(interrupt))]);
    assert_eq!(order(&fold), ["half", "you interrupted the agent"]);
    let fold = Fold::of([&wrote(1, "half"), &cut, &run_ended(3, InterruptReason::Stopped)]);
    assert_eq!(order(&fold), ["half", "stopped by you"]);
    let fold = Fold::of([&run_ended(1, InterruptReason::TurnLimit)]);
    assert_eq!(order(&fold), ["stopped: turn limit reached"]);
}

/// Folds these runs and returns what is said of each beside its time.
fn run_words(runs: &[(ResumeShape, &str)]) -> Vec<String> {
    let mut fold = Fold::default();
    for (number, (shape, model)) in (1..).zip(runs) {
        let run = RunStarted { shape: *shape, profile: "engineer".to_owned(), model: (*model).to_owned() };
        fold.apply(&event(number, 1, Body::RunStarted(run)));
    }
    let words = fold.entries.iter().map(|entry| match &entry.kind {
        EntryKind::Separator { text } => text.clone(),
        other => panic!("a separator instead of {other:?}"),
    });
    words.collect()
}

#[test]
fn run_that_continues_with_the_same_model_is_only_a_time() {
    let runs = [
        (ResumeShape::Fresh, "opus"),
        (ResumeShape::Parked, "opus"),
        (ResumeShape::Parked, "haiku"),
        (ResumeShape::NeedsRepair, "haiku"),
    ];
    let words = run_words(&runs);
    assert_eq!(words, ["started with opus", "", "continued with haiku", "continued after a repair"]);
}

#[test]
fn notice_for_an_agent_is_one_sentence_without_ids() {
    let id = crate::ui::testing::task(7);
    let body = format!("The sub task \"Docs\" ({id}) ended its turn (again). Tell it what to do next.");
    let message = Message::new(
        MessageId::from_ulid(ulid::Ulid::from_parts(1, 1)),
        Timestamp::from_millis(0),
        MessageSource::Notice,
        body,
    );
    let mut fold = Fold::default();
    fold.apply(&event(1, 1, Body::Message(message)));
    let EntryKind::Notice { text, more, .. } = &fold.entries[0].kind else { panic!("a notice") };
    assert_eq!(text, "The sub task \"Docs\" ended its turn (again)");
    assert_eq!(more, "Tell it what to do next.");
}
