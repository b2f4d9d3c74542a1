//! A long session, killed and resumed at every event, sends what an uninterrupted one sends, byte for byte, and does
//! nothing twice.

mod script;

use std::collections::BTreeMap;

use mxd::model::conversation::Wire;
use mxd::model::event::{Body, Event, Exit};
use mxd::model::fold::SessionState;
use mxd::model::message::MessageSource;
use serde_json::Value;

use crate::support::agent_fixture::AgentFixture;
use crate::support::mock::{Mock, Outcome, Record};
use script::{TITLE, Wake};

/// When a run is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kill {
    Never,
    /// After every acknowledged event that leaves no call running.
    EveryEvent,
    /// As before, but only now and then, and up to a few polls later: in the middle of whatever follows.
    Sometimes(u64),
    /// While calls run, before or after they have done something.
    DuringTools(u64),
}

/// What one session came to.
struct Told {
    requests: Vec<String>,
    kills: usize,
    events: usize,
    runs_of_calls: BTreeMap<String, usize>,
    log: Vec<Event>,
    repeated: usize,
    said: usize,
}

struct User<'a> {
    fixture: &'a AgentFixture,
    wakes: Vec<Wake>,
    said: usize,
}

impl User<'_> {
    /// Says the next thing, durably; the run is told by the caller, or finds it when it is resumed.
    fn next(&mut self) -> mxd::model::Message {
        let wake = self.wakes.get(self.said).copied().unwrap_or(Wake::Message);
        self.said += 1;
        match wake {
            Wake::Message => self.fixture.message(MessageSource::User, &format!("Go on, part {}.", self.said)),
            Wake::Compact => self.fixture.message(MessageSource::Compact, ""),
        }
    }
}

fn draw(state: &mut u64, bound: u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state % bound
}

/// Plays the script to its end and returns what the model was sent.
async fn play(wire: Wire, turns: usize, window: Option<u64>, kill: Kill) -> Told {
    let mock = Mock::start(script::script(wire, turns));
    let mut fixture = AgentFixture::new(&mock.url(), wire, TITLE);
    fixture.limits.window = window;
    fixture.limits.can_count = window.is_some();
    let mut user = User { fixture: &fixture, wakes: script::wakes(turns, window.is_none()), said: 0 };
    let mut random = match kill {
        Kill::Never | Kill::EveryEvent => 1,
        Kill::Sometimes(seed) | Kill::DuringTools(seed) => seed,
    };
    let (mut kills, mut events) = (0, 0);
    let mut killed_at_summary = false;
    let exit = 'session: loop {
        let mut run = fixture.run();
        // Calls may have been answered on the disk when the last run was killed, and nobody was told.
        let mut state = run.store.sessions().active(fixture.task).unwrap().state();
        let mut fuse: Option<u64> = None;
        // How many requests there had been at the last event.
        let mut asked = mock.count();
        loop {
            let news = run.once().await;
            if let Some(exit) = news.exit {
                break 'session exit;
            }
            for event in &news.events {
                state.apply(event);
                events += 1;
            }
            if !news.events.is_empty() {
                asked = mock.count();
                let starts = news.events.iter().any(|event| matches!(event.body, Body::RunStarted(_)));
                // Killed at every start, of a run or of a summary, it would never get anywhere.
                let summarises = news.events.iter().any(|event| matches!(event.body, Body::CompactStarted(_)));
                let spared = (starts && kills % 10 != 0) || (summarises && std::mem::take(&mut killed_at_summary));
                fuse = light(kill, &state, spared, &mut random);
                if fuse == Some(0) {
                    killed_at_summary |= summarises;
                    break;
                }
            }
            assert!(!news.asks(), "{}", mock.story());
            if news.parked() {
                let event = run.store.append(fixture.task, None, user.next()).await.unwrap();
                state.apply(&event);
                events += 1;
                if light(kill, &state, false, &mut random) == Some(0) {
                    break;
                }
                run.wake(event);
            }
            if let Some(polls) = &mut fuse {
                *polls = polls.saturating_sub(1);
                if *polls == 0 && (runs_tools(&state) || nothing_is_on_its_way_to_the_disk(&mock, asked)) {
                    break;
                }
            }
        }
        kills += 1;
    };
    assert_eq!(exit, Exit::DonePassed);
    mock.assert_finished();
    let asked: Vec<Record> =
        mock.requests().into_iter().filter(|record| !record.path.ends_with("count_tokens")).collect();
    let sent = asked.len();
    let mut requests: Vec<String> = asked.into_iter().map(|record| record.body.to_string()).collect();
    requests.dedup();
    Told {
        said: user.said,
        repeated: sent - requests.len(),
        requests,
        kills,
        events,
        runs_of_calls: fixture.carried_out(),
        log: whole_log(&fixture),
    }
}

/// Tells whether no response can be on its way to the disk: none was asked for, or none has arrived as a whole. One that
/// gets there unnoticed has calls that were never run, and the next run can only say that it does not know.
fn nothing_is_on_its_way_to_the_disk(mock: &Mock, asked: usize) -> bool {
    mock.look(|mind| {
        let last = mind.records.last();
        mind.records.len() == asked || last.is_some_and(|record| record.outcome == Outcome::Pending)
    })
}

/// Returns every event that was ever written, also those before a compaction.
fn whole_log(fixture: &AgentFixture) -> Vec<Event> {
    let mut log = Vec::new();
    fixture.store().sessions().stream_chain(fixture.task, |event| log.push(event)).unwrap();
    log
}

/// Decides whether to kill now (0), after so many polls, or not.
fn light(kill: Kill, state: &SessionState, spared: bool, random: &mut u64) -> Option<u64> {
    let running = runs_tools(state);
    let done = state.turns.open.iter().any(|call| call.name.ends_with("done"));
    match kill {
        Kill::Never => None,
        Kill::EveryEvent => (!running && !spared).then_some(0),
        Kill::Sometimes(_) => (!running && draw(random, 2) == 0).then(|| draw(random, 12)),
        Kill::DuringTools(_) => (running && !done && draw(random, 2) == 0).then(|| draw(random, 6)),
    }
}

/// Nothing runs behind `yield`. `done` is a call like any other until it is accepted, and then all is over.
fn runs_tools(state: &SessionState) -> bool {
    state.turns.open.iter().any(|call| !call.name.ends_with("yield"))
}

fn assert_nothing_twice(told: &Told) {
    let twice: Vec<_> = told.runs_of_calls.iter().filter(|(_, times)| **times != 1).collect();
    assert!(twice.is_empty(), "carried out more than once: {twice:?}");
    for event in &told.log {
        if let Body::ToolResult(result) = &event.body
            && result.name.ends_with("note")
            && !result.is_error
        {
            assert!(told.runs_of_calls.contains_key(&result.call), "said to be done and never was: {}", result.call);
        }
    }
}

fn assert_same_requests(plain: &Told, killed: &Told) {
    for (number, (one, other)) in plain.requests.iter().zip(&killed.requests).enumerate() {
        if one != other {
            let at = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
            let around = |text: &str| String::from_utf8_lossy(&text.as_bytes()[at.saturating_sub(200)..]).into_owned();
            let (one, other) = (around(one), around(other));
            panic!("request {} differs at byte {at}:\n{:.600}\n--- became ---\n{:.600}", number + 1, one, other);
        }
    }
    assert_eq!(plain.requests.len(), killed.requests.len());
}

/// Returns the last request of each segment, as JSON.
fn segments(told: &Told) -> Vec<Value> {
    let parsed: Vec<Value> = told.requests.iter().map(|body| serde_json::from_str(body).unwrap()).collect();
    let length = |request: &Value| request["messages"].as_array().map_or(0, Vec::len);
    let last = |at: usize| at + 1 == parsed.len() || length(&parsed[at + 1]) < length(&parsed[at]);
    (0..parsed.len()).filter(|at| last(*at)).map(|at| parsed[at].clone()).collect()
}

/// Counts the results that say "interrupted", and fails on any other difference.
fn interrupted_results(plain: &Value, killed: &Value) -> usize {
    match (plain, killed) {
        (Value::Object(one), Value::Object(other)) if other.get("type") == Some(&Value::from("tool_result")) => {
            assert_eq!(one.get("tool_use_id"), other.get("tool_use_id"));
            if one == other {
                return 0;
            }
            let text = other["content"].to_string();
            assert!(text.contains("It is not known whether it took effect"), "{one:?}\nbecame\n{other:?}");
            assert_eq!(other["is_error"], true);
            1
        }
        (Value::Object(one), Value::Object(other)) => {
            assert_eq!(one.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>(), "{one:?}\nbecame\n{other:?}");
            one.iter().map(|(key, value)| interrupted_results(value, &other[key])).sum()
        }
        (Value::Array(one), Value::Array(other)) => {
            // The picture of an interrupted call never came.
            let pictured = |list: &[Value]| list.iter().filter(|item| !is_picture(item)).cloned().collect::<Vec<_>>();
            let (one, other) =
                if one.len() == other.len() { (one.clone(), other.clone()) } else { (pictured(one), pictured(other)) };
            assert_eq!(one.len(), other.len(), "{one:?}\nbecame\n{other:?}");
            one.iter().zip(&other).map(|(a, b)| interrupted_results(a, b)).sum()
        }
        (one, other) => {
            assert_eq!(one, other);
            0
        }
    }
}

fn is_picture(block: &Value) -> bool {
    block["type"] == "image" || block["text"].as_str().is_some_and(|text| text.contains(".png"))
}

async fn check(wire: Wire, turns: usize, window: u64) {
    let plain = play(wire, turns, Some(window), Kill::Never).await;
    assert_eq!((plain.kills, plain.repeated), (0, 0));
    assert_nothing_twice(&plain);
    let compactions = plain.log.iter().filter(|event| matches!(event.body, Body::CompactMarker(_))).count();
    assert!(compactions > 0, "nothing was compacted");
    println!(
        "{wire:?}: {turns} turns, {} requests, {} events, {compactions} compactions",
        plain.requests.len(),
        plain.events
    );
    for kill in [Kill::EveryEvent, Kill::Sometimes(wire as u64 + 11)] {
        let killed = play(wire, turns, Some(window), kill).await;
        println!(
            "{wire:?}: {kill:?}: killed and resumed {} times over {} events, {} requests asked again",
            killed.kills, killed.events, killed.repeated
        );
        assert!(killed.kills > turns / 6, "killed only {} times", killed.kills);
        assert_same_requests(&plain, &killed);
        assert_nothing_twice(&killed);
        assert_eq!(plain.runs_of_calls, killed.runs_of_calls);
    }
}

#[tokio::test]
async fn killed_at_every_event_a_run_sends_the_same_bytes_on_anthropic() {
    check(Wire::Anthropic, 60, 7_500).await;
}

#[tokio::test]
#[ignore = "a minute; `cargo proof`"]
async fn proof_killed_at_every_event_a_long_run_sends_the_same_bytes() {
    check(Wire::Anthropic, 300, 7_500).await;
}

#[tokio::test]
async fn killed_at_every_event_a_run_sends_the_same_bytes_on_responses() {
    check(Wire::OpenaiResponses, 60, 6_500).await;
}

#[tokio::test]
async fn killed_at_every_event_a_run_sends_the_same_bytes_on_chat() {
    check(Wire::OpenaiChat, 60, 6_500).await;
}

#[tokio::test]
async fn killed_while_tools_run_nothing_is_done_twice_and_only_their_results_differ() {
    check_during_tools(80).await;
}

#[tokio::test]
#[ignore = "half a minute; `cargo proof`"]
async fn proof_killed_while_tools_run_nothing_is_done_twice_in_a_long_run() {
    check_during_tools(200).await;
}

async fn check_during_tools(turns: usize) {
    let plain = play(Wire::Anthropic, turns, None, Kill::Never).await;
    let killed = play(Wire::Anthropic, turns, None, Kill::DuringTools(5)).await;
    assert_nothing_twice(&killed);
    let compactions =
        |told: &Told| told.log.iter().filter(|event| matches!(event.body, Body::CompactMarker(_))).count();
    assert_eq!(
        (plain.requests.len(), compactions(&plain), plain.said),
        (killed.requests.len(), compactions(&killed), killed.said)
    );
    let pairs = segments(&plain).into_iter().zip(segments(&killed));
    let interrupted: usize = pairs.map(|(one, other)| interrupted_results(&one, &other)).sum();
    println!("killed {} times while tools ran: {interrupted} results say so, nothing else differs", killed.kills);
    assert!(interrupted > turns * 3 / 10, "only {interrupted} calls were cut short");
    let repairs = killed.log.iter().filter(|event| matches!(event.body, Body::Repaired(_))).count();
    assert!(repairs > 0 && repairs <= killed.kills);
}
