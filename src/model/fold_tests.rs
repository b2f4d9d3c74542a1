use std::borrow::Borrow;

use serde_json::json;

use super::*;
use crate::base::{EventId, IdSource, MessageId, MicroUsd, SystemClock, TaskId, Timestamp};

/// Makes events from a type and a body as on disk.
struct Script {
    ids: IdSource,
    state: SessionState,
}

impl Script {
    fn new() -> Self {
        Self { ids: IdSource::seeded(std::sync::Arc::new(SystemClock), 9), state: SessionState::default() }
    }

    fn id(&self) -> String {
        EventId::fresh(&self.ids).to_string()
    }

    fn event(&self, kind: &str, body: &serde_json::Value) -> Event {
        let line = json!({"v": 1, "id": self.id(), "ts": "2026-01-01T00:00:01.000Z", "type": kind, "body": body});
        let event = Event::parse(&line.to_string()).unwrap();
        assert!(!matches!(event.body, crate::model::event::Body::Unknown(_)), "{:?}", event.body);
        event
    }

    fn apply(&mut self, kind: &str, body: impl Borrow<serde_json::Value>) {
        let event = self.event(kind, body.borrow());
        self.state.apply(&event);
    }

    fn message(&mut self, id: &str, from: &serde_json::Value) {
        self.apply("message", json!({"id": id, "from": from, "body": id, "at": "2026-01-01T00:00:00Z"}));
    }

    fn ask(&mut self, id: &str, question: &str) {
        self.apply("ask_raised", json!({"id": id, "kind": "clarify", "question": question}));
    }

    fn usage(&mut self, model: &str, output: u64, cost: Option<u64>) {
        let tokens =
            json!({"input": 10, "output": output, "cache_read": 100, "cache_write_5m": 0, "cache_write_1h": 1});
        let mut body = tokens;
        body["model"] = model.into();
        body["context_window"] = 1_000.into();
        if let Some(cost) = cost {
            body["cost"] = cost.into();
        }
        self.apply("usage", body);
    }
}

#[test]
fn usage_is_summed_by_model_and_unknown_prices_are_not_free() {
    let mut s = Script::new();
    s.usage("a", 5, Some(7));
    s.usage("b", 1, Some(2));
    assert!(!s.state.usage.is_lower_bound());
    s.usage("a", 6, None);
    let usage = &s.state.usage;
    assert_eq!(usage.cost(), MicroUsd(9));
    assert!(usage.is_lower_bound());
    assert_eq!(
        (usage.by_model["a"].responses, usage.by_model["a"].tokens.output, usage.by_model["a"].unpriced),
        (2, 11, 1)
    );
    assert_eq!(usage.tokens().cache_read, 300);
    assert_eq!(usage.context, Some(ContextSize { tokens: 117, window: 1_000 }));
}

#[test]
fn grants_survive_a_cut_and_are_not_inherited() {
    let mut s = Script::new();
    let (ask, turn) = (s.id(), s.id());
    s.apply("granted", json!({"ask": ask, "grant": "turns", "up_to": 40}));
    s.apply("granted", json!({"ask": ask, "grant": "unpriced", "model": "m"}));
    s.apply("granted", json!({"ask": ask, "grant": "overfull"}));
    s.apply("budget_warning", json!({"scope": "task", "spent": 8, "limit": 10}));
    let granted = s.state.grants.clone();
    assert_eq!((granted.turns, granted.overfull), (Some(40), true));
    assert!(granted.unpriced.contains("m") && granted.warned.contains(&MicroUsd(10)));
    s.apply("turn_ended", json!({"turn": turn, "stop": "end_turn"}));
    let carry = serde_json::to_value(&s.state).unwrap();
    s.apply("compact_marker", json!({"summary": "", "tokens_before": 9, "tokens_after": 1, "carry": carry}));
    assert_eq!(s.state.grants, granted);
    let task = s.id();
    s.apply("fork_marker", json!({"source": task, "source_event": task, "title": "t"}));
    assert!(s.state.grants.is_empty());
}

#[test]
fn messages_are_pending_until_they_are_consumed_or_withdrawn() {
    let mut s = Script::new();
    let [a, b, c] = [s.id(), s.id(), s.id()];
    for id in [&a, &b, &c, &b] {
        s.message(id, &json!({"source": "user"}));
    }
    let pending = |s: &Script| s.state.messages.iter().map(|message| message.body.clone()).collect::<Vec<_>>();
    assert_eq!(pending(&s), [a.clone(), b.clone(), c.clone()], "in order, and each once");
    s.apply("messages_consumed", json!({"ids": [a, s.id()]}));
    s.apply("messages_withdrawn", json!({"ids": [c]}));
    assert_eq!(pending(&s), std::slice::from_ref(&b));
    assert_eq!((s.state.messages.len(), s.state.messages.is_empty()), (1, false));
    assert!(s.state.messages.get(b.parse().unwrap()).is_some());
}

#[test]
fn asks_are_pending_until_they_are_answered_or_withdrawn() {
    let mut s = Script::new();
    let [a, b, c] = [s.id(), s.id(), s.id()];
    s.ask(&a, "one");
    s.ask(&b, "two");
    s.ask(&c, "three");
    s.ask(&b, "two, put better");
    s.apply("ask_answered", json!({"id": a, "answer": {"text": "yes", "by": "timeout"}}));
    s.apply("ask_withdrawn", json!({"id": c, "reason": "r"}));
    let questions: Vec<_> = s.state.asks.iter().map(|ask| ask.question.as_str()).collect();
    assert_eq!(questions, ["two, put better"]);
    assert_eq!(s.state.asks.get(b.parse().unwrap()).map(|ask| ask.id.to_string()), Some(b));
}

#[test]
fn calls_are_open_until_they_have_a_result() {
    let mut s = Script::new();
    for call in ["a", "b"] {
        s.apply("tool_call", json!({"call": call, "name": "n", "input": {}}));
    }
    s.apply("tool_result", json!({"call": "a", "name": "n", "content": {"text": ""}, "duration_ms": 0}));
    s.apply("turn_ended", json!({"turn": s.id(), "stop": "tool_use"}));
    let turns = &s.state.turns;
    assert_eq!(turns.open.iter().map(|open| open.call.as_str()).collect::<Vec<_>>(), ["b"]);
    assert_eq!(turns.ended, 1);
    assert_eq!(turns.last.as_ref().map(|last| last.stop.clone()), Some(crate::model::event::StopReason::ToolUse));
}

#[test]
fn processes_run_until_they_are_reported() {
    let mut s = Script::new();
    let started = |id: &str| {
        let background = json!({"id": id, "command": "make"});
        json!({"call": "c", "name": "n", "content": {"text": ""}, "background": background, "duration_ms": 0})
    };
    s.apply("tool_result", started("p1"));
    s.apply("tool_result", started("p2"));
    let id = s.id();
    s.message(&id, &json!({"source": "background_complete", "process": "p1", "command": "make", "duration_ms": 1}));
    let running: Vec<_> = s.state.background.iter().collect();
    assert_eq!(running.len(), 1);
    assert_eq!((running[0].id.as_str(), running[0].since), ("p2", Timestamp::from_millis(1_767_225_601_000)));
}

fn cwd_result(cwd: Option<&str>) -> serde_json::Value {
    json!({"call": "s", "name": "n", "content": {"text": ""}, "cwd": cwd, "duration_ms": 0})
}

#[test]
fn the_shell_folder_is_that_of_the_last_result_that_changed_it() {
    let mut s = Script::new();
    s.apply("tool_result", cwd_result(Some("src")));
    s.apply("tool_result", cwd_result(None));
    assert_eq!(s.state.cwd.folder(), Some("src"));
    let id = s.id();
    let fork = json!({"source": id, "source_event": id, "title": "t"});
    s.apply("fork_marker", &fork);
    assert_eq!(s.state.cwd.folder(), Some("src"), "as the copied conversation says");
    let here = s.state.clone();
    s.apply("tool_result", cwd_result(Some("/elsewhere")));
    assert_eq!(s.state.cwd.folder(), Some("/elsewhere"));
    assert_eq!(s.state.moved_to(&here).cwd.folder(), Some("src"), "as the conversation said then");
    s.apply("fork_marker", &fork);
    assert_eq!(s.state.cwd.folder(), None, "outside its worktree is the source's business");
    s.apply("tool_result", cwd_result(Some("src")));
    s.apply("tool_result", cwd_result(Some(".")));
    assert!(s.state.cwd.is_top());
}

/// A script whose state has something in every fold.
fn busy() -> Script {
    let mut s = Script::new();
    s.usage("a", 5, Some(7));
    let (message, ask) = (s.id(), s.id());
    s.message(&message, &json!({"source": "user"}));
    s.ask(&ask, "which?");
    s.apply("tool_call", json!({"call": "c", "name": "n", "input": {}}));
    s.apply("turn_ended", json!({"turn": s.id(), "stop": "end_turn"}));
    let background = json!({"id": "p", "command": "make"});
    s.apply(
        "tool_result",
        json!({"call": "d", "name": "n", "content": {"text": ""}, "background": background, "duration_ms": 0}),
    );
    s.apply("tool_result", cwd_result(Some("src")));
    s
}

#[test]
fn events_that_cut_the_chain_restore_the_carried_state() {
    let carried = busy().state;
    let carry = serde_json::to_value(&carried).unwrap();
    for (kind, body) in [
        ("compact_marker", json!({"summary": "", "tokens_before": 1, "tokens_after": 1, "carry": carry})),
        ("head_moved", json!({"to": null, "reason": "redo", "carry": carry})),
    ] {
        for mut s in [Script::new(), busy()] {
            s.apply(kind, &body);
            let mut expected = carried.clone();
            expected.activity = s.state.activity.clone();
            if kind == "compact_marker" {
                // The calls were summarized: they cannot be answered any more, and there is no message since.
                expected.turns.open.clear();
                expected.turns.last_role = None;
                expected.usage.breakdown = s.state.usage.breakdown;
            }
            assert_eq!(s.state, expected, "{kind}");
            assert_eq!(s.state.activity.kind, kind);
        }
    }
}

#[test]
fn a_copy_inherits_no_state_of_its_source() {
    let mut s = busy();
    let id = s.id();
    s.apply("fork_marker", json!({"source": id, "source_event": id, "title": "t"}));
    let state = &s.state;
    assert_eq!((state.usage.cost(), state.turns.ended), (MicroUsd::ZERO, 0));
    assert!(state.messages.is_empty() && state.asks.is_empty() && state.background.is_empty());
    assert!(state.usage.context.is_some(), "the conversation is as large as it was");
    assert_eq!(state.turns.open.len(), 1, "and what is open in it is open");
}

#[test]
fn a_moved_head_undoes_only_the_conversation() {
    let (now, then) = (busy().state, SessionState::default());
    let moved = now.moved_to(&then);
    assert_eq!((&moved.messages, &moved.asks), (&now.messages, &now.asks));
    assert_eq!((&moved.usage.by_model, moved.usage.context), (&now.usage.by_model, now.usage.context));
    assert_eq!(moved.background, now.background);
    assert_eq!((moved.turns.ended, moved.turns.last.is_none(), moved.turns.open.is_empty()), (1, true, true));
}

#[test]
fn a_state_survives_a_round_trip_and_an_older_one_is_read() {
    let state = busy().state;
    let text = serde_json::to_string(&state).unwrap();
    assert_eq!(serde_json::from_str::<SessionState>(&text).unwrap(), state);
    assert_eq!(serde_json::from_str::<SessionState>("{}").unwrap(), SessionState::default());
}

#[test]
fn an_invisible_message_does_not_change_the_last_role() {
    let (wish, word) = ("01J00000000000000000000001", "01J00000000000000000000002");
    let mut s = Script::new();
    s.message(wish, &json!({"source": "compact"}));
    s.apply("messages_consumed", json!({"ids": [wish]}));
    assert_eq!(s.state.turns.last_role, None);
    s.message(word, &json!({"source": "user"}));
    s.apply("messages_consumed", json!({"ids": [word]}));
    assert_eq!(s.state.turns.last_role, Some(crate::model::conversation::Role::User));
}

#[test]
fn an_answer_is_pending_until_a_run_has_acted_on_it() {
    let run = |s: &Script| Some(crate::base::RunId::fresh(&s.ids));
    let note =
        |s: &Script| json!({"id": s.id(), "from": {"source": "notice"}, "body": "b", "at": "2026-01-01T00:00:00Z"});
    let raised = |s: &Script, kind: &str| json!({"id": s.id(), "kind": kind, "question": "q"});
    let answered = |kind: &str| {
        let mut s = Script::new();
        let id = s.id();
        s.apply("ask_raised", json!({"id": id, "kind": kind, "question": "q"}));
        s.apply("ask_answered", json!({"id": id, "answer": {"text": "Stop", "by": "person"}}));
        s
    };
    // A message to a task without a run says nothing about what a run did.
    let mut s = answered("retries_exhausted");
    let (body, launch) = (note(&s), raised(&s, "launch_failed"));
    s.apply("message", body);
    s.apply("ask_raised", launch);
    assert_eq!(s.state.decisions.iter().count(), 1);
    for kind in ["message", "ask_raised"] {
        let mut s = answered("retries_exhausted");
        let body = if kind == "message" { note(&s) } else { raised(&s, "loop") };
        let event = Event { run: run(&s), ..s.event(kind, &body) };
        s.state.apply(&event);
        assert!(s.state.decisions.is_empty(), "{kind}: the run that wrote it knew the answer");
    }
    let mut s = answered("launch_failed");
    let again = raised(&s, "launch_failed");
    s.apply("ask_raised", again);
    assert!(s.state.decisions.is_empty(), "it was tried again, and is asked about again");
}

/// A request for a reply from a task, as in the session of the asked task.
fn request(s: &mut Script, from: TaskId) -> MessageId {
    let id = MessageId::fresh(&s.ids);
    s.message(&id.to_string(), &json!({"source": "task_message", "task": from, "title": "t", "request_reply": true}));
    id
}

#[test]
fn a_request_is_pending_until_it_is_withdrawn_or_the_asking_task_is_done() {
    let mut s = Script::new();
    let (one, other) = (TaskId::fresh(&s.ids), TaskId::fresh(&s.ids));
    let (first, second) = (request(&mut s, one), request(&mut s, other));
    s.apply("messages_consumed", json!({"ids": [first]}));
    assert_eq!(s.state.replies.request_of(one), Some(first), "to have read it is not to have answered");
    let again = request(&mut s, one);
    assert_eq!(s.state.replies.request_of(one), Some(again));
    s.apply("messages_withdrawn", json!({"ids": [second]}));
    assert_eq!(s.state.replies.request_of(other), None);
    let id = s.id();
    s.message(&id, &json!({"source": "task_complete", "task": one, "title": "t", "verdict": "passed"}));
    assert_eq!(s.state.replies.request_of(one), None);
}

#[test]
fn only_messages_of_a_task_or_the_user_may_be_the_reply() {
    let mut s = Script::new();
    let mut received = |source: &serde_json::Value| {
        let request = MessageId::fresh(&s.ids);
        let id = s.id();
        s.message(&id, source);
        s.state.replies.has_received_since(request)
    };
    assert!(!received(&json!({"source": "notice"})));
    assert!(received(&json!({"source": "user"})));
    assert!(!received(&json!({"source": "background_complete", "process": "1", "command": "x", "duration_ms": 1})));
    let task = json!("01J00000000000000000000000");
    assert!(received(&json!({"source": "task_message", "task": task, "title": "above"})));
    assert!(!received(&json!({"source": "task_complete", "task": task, "title": "below", "verdict": "passed"})));
}

#[test]
fn requests_survive_a_summary_but_not_a_fork() {
    let mut s = Script::new();
    let one = TaskId::fresh(&s.ids);
    let asked = request(&mut s, one);
    let carry = serde_json::to_value(&s.state).unwrap();
    s.apply("compact_marker", json!({"summary": "s", "tokens_before": 1, "tokens_after": 1, "carry": carry}));
    assert_eq!(s.state.replies.request_of(one), Some(asked));
    s.apply("fork_marker", json!({"source": one, "source_event": one, "title": "t"}));
    assert!(s.state.replies.is_empty());
}

#[test]
fn a_merge_is_queued_until_it_is_dropped_made_or_its_task_is_deleted() {
    let queue = |s: &mut Script| {
        let queued = json!({"target": "main", "host": s.id(), "how": "squash", "at": "2026-01-01T00:00:00Z"});
        s.apply("work", json!({"what": "merge_queued", "queued": queued}));
        assert_eq!(s.state.work.queued.as_ref().map(|queued| queued.target.as_str()), Some("main"));
    };
    let landing =
        json!({"target": "main", "how": "squash", "from": "a", "to": "b", "undo": "u", "at": "2026-01-01T00:00:00Z"});
    let ends = [
        ("work", json!({"what": "merge_dequeued", "reason": "cancelled"})),
        ("work", json!({"what": "merge_dequeued", "reason": {"failed": "it conflicts"}})),
        ("work", json!({"what": "landed", "landing": landing})),
        ("task_changed", json!({"change": "removed"})),
    ];
    for (kind, body) in ends {
        let mut s = Script::new();
        queue(&mut s);
        s.apply(kind, &body);
        assert_eq!(s.state.work.queued, None, "{body}");
    }
    // A summary does not drop it, and a copy does not inherit it.
    let mut s = Script::new();
    queue(&mut s);
    let carry = serde_json::to_value(&s.state).unwrap();
    s.apply("compact_marker", json!({"summary": "", "tokens_before": 9, "tokens_after": 1, "carry": carry}));
    assert!(s.state.work.queued.is_some());
    let task = s.id();
    s.apply("fork_marker", json!({"source": task, "source_event": task, "title": "t"}));
    assert_eq!(s.state.work.queued, None);
}
