//! A run that is interrupted, stopped or dropped while something is under way, with real tools and a real socket.

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};
use mxd::agent::driver::FileSnapshotter;
use mxd::base::TurnId;
use mxd::model::conversation::Wire;
use mxd::model::event::{Body, Event, Exit, InterruptReason, StopReason, ToolResult};
use mxd::model::message::MessageSource;
use mxd::model::run::RunCommand;
use mxd::model::{Content, Live, SessionState};
use serde_json::json;

use crate::support::agent_fixture::{AgentFixture, News, Running, tool};
use crate::support::mock::{Conversation, Fault, Mock, Script, Turn, answer, gate, last_user, say};

const TITLE: &str = "Cut short";

fn mock(turns: impl IntoIterator<Item = Turn>) -> Mock {
    let conversation = turns.into_iter().fold(Conversation::new(TITLE), Conversation::turn);
    Mock::start(Script::new().with(conversation))
}

async fn begun(fixture: &AgentFixture) -> Running {
    let mut run = fixture.run();
    run.until_parked().await;
    run.deliver(fixture.message(MessageSource::User, "Begin.")).await;
    run
}

fn shows(word: &'static str) -> impl FnMut(&News) -> bool {
    let mut shown = String::new();
    move |news| {
        for live in &news.live {
            if let Live::TextDelta { text } = live {
                shown.push_str(text);
            }
        }
        shown.contains(word)
    }
}

fn texts(fixture: &AgentFixture) -> Vec<String> {
    let log = fixture.log();
    let texts = log.into_iter().filter_map(|event| match event.body {
        Body::AssistantText(said) => Some(said.text),
        _ => None,
    });
    texts.collect()
}

#[tokio::test]
async fn an_interrupt_in_mid_stream_keeps_the_words_so_far_on_every_wire() {
    for wire in [Wire::Anthropic, Wire::OpenaiResponses, Wire::OpenaiChat] {
        let mock = mock([
            answer().chunks([say("I was "), say("about to"), gate("never"), say(" finish.")]),
            answer().expect(last_user().contains("Another way.")).text("As you wish."),
        ]);
        let fixture = AgentFixture::new(&mock.url(), wire, TITLE);
        let mut run = begun(&fixture).await;
        run.until("the half is shown", shows("about to")).await;
        run.send(RunCommand::Interrupt);
        run.until_parked().await;
        assert_eq!(texts(&fixture), ["I was about to"], "{wire:?}");
        assert_eq!(fixture.state().turns.last.map(|turn| turn.stop), Some(StopReason::Interrupted), "{wire:?}");
        run.deliver(fixture.message(MessageSource::User, "Another way.")).await;
        run.until_parked().await;
        assert_eq!(texts(&fixture), ["I was about to", "As you wish."], "{wire:?}");
        mock.assert_finished();
    }
}

#[tokio::test]
async fn an_interrupt_ends_the_tools_and_every_call_is_answered() {
    let mock = mock([
        answer().tool(&tool("slow"), json!({"text": "a"})).tool(&tool("slow"), json!({"text": "b"})),
        answer().text("As you wish."),
    ]);
    let fixture = AgentFixture::new(&mock.url(), Wire::Anthropic, TITLE);
    let mut run = begun(&fixture).await;
    run.until("tools run", |news| news.live.contains(&Live::Activity { activity: mxd::model::live::Activity::Tool }))
        .await;
    run.send(RunCommand::Interrupt);
    let news = run.until_parked().await;
    let results: Vec<String> = news.events.iter().filter_map(result).collect();
    // Both change something: the second waited for the first, and never began.
    assert_eq!(results.len(), 2, "{results:?}");
    assert!(results.iter().any(|result| result.starts_with("Not run")), "{results:?}");
    assert!(fixture.carried_out().is_empty());
    run.deliver(fixture.message(MessageSource::User, "Another way.")).await;
    run.until_parked().await;
    mock.assert_finished();
}

fn result(event: &Event) -> Option<String> {
    match &event.body {
        Body::ToolResult(ToolResult { content: Content::Text { text }, .. }) => Some(text.clone()),
        _ => None,
    }
}

#[tokio::test]
async fn calls_that_read_run_together_and_a_call_that_changes_something_waits_for_them() {
    let mock = mock([
        answer()
            .tool(&tool("meet"), json!({"text": "a"}))
            .tool(&tool("meet"), json!({"text": "b"}))
            .tool(&tool("note"), json!({"text": "c"}))
            .tool(&tool("note"), json!({"text": "d"}))
            .tool(&tool("meet"), json!({"text": "e"}))
            .tool(&tool("meet"), json!({"text": "f"})),
        answer().text("Done."),
    ]);
    let fixture = AgentFixture::new(&mock.url(), Wire::Anthropic, TITLE);
    let mut run = begun(&fixture).await;
    run.until_parked().await;
    let results: Vec<String> = fixture.log().iter().filter_map(result).collect();
    let position = |text: &str| results.iter().position(|result| result == text).unwrap_or(usize::MAX);
    assert!(position("met a").max(position("met b")) < position("noted c"), "{results:?}");
    assert!(position("noted c") < position("noted d"), "{results:?}");
    assert!(position("noted d") < position("met e").min(position("met f")), "{results:?}");
    mock.assert_finished();
}

/// Never comes to an end with what it keeps.
struct Forever;

impl FileSnapshotter for Forever {
    fn snapshot_start(&self) -> BoxFuture<'static, ()> {
        std::future::pending().boxed()
    }

    fn snapshot_turn(&self, _: TurnId) -> BoxFuture<'static, ()> {
        std::future::pending().boxed()
    }
}

#[tokio::test]
async fn an_interrupt_is_heard_by_a_tool_that_waits_for_its_turn() {
    let mock = mock([answer().tool(&tool("slow"), json!({"text": "a"}))]);
    let mut fixture = AgentFixture::new(&mock.url(), Wire::Anthropic, TITLE);
    fixture.keeper = Some(Arc::new(Forever));
    fixture.leave(MessageSource::User, "Begin.").await;
    let mut run = fixture.run();
    run.until("tools run", |news| news.live.contains(&Live::Activity { activity: mxd::model::live::Activity::Tool }))
        .await;
    run.send(RunCommand::Interrupt);
    // The run never ends: it waits for its snapshot.
    let idle = Live::Activity { activity: mxd::model::live::Activity::Idle };
    let news = run.until("it is idle", |news| news.live.contains(&idle)).await;
    let answered = news.events.iter().find_map(|event| match &event.body {
        Body::ToolResult(result) => Some(format!("{:?}", result.content)),
        _ => None,
    });
    assert!(answered.unwrap().contains("Not run: the user interrupted"));
    assert!(fixture.carried_out().is_empty());
}

/// Brings a run into a phase, and says what it then waits for.
async fn reach(phase: &str, fixture: &AgentFixture, mock: &Mock) -> Running {
    let mut run = fixture.run();
    run.until_parked().await;
    run.deliver(fixture.message(MessageSource::User, "Begin.")).await;
    match phase {
        "waiting for the first byte" => {
            tokio::select! {
                () = mock.reached("never") => {}
                news = run.until("never", |_| false) => panic!("{news:?}"),
            }
        }
        "in mid-stream" => drop(run.until("the half is shown", shows("Half")).await),
        "running tools" => {
            run.until("tools run", |news| {
                news.live.contains(&Live::Activity { activity: mxd::model::live::Activity::Tool })
            })
            .await;
        }
        "waiting to try again" => {
            run.until("a countdown", |news| news.live.iter().any(|live| matches!(live, Live::Retry { .. }))).await;
        }
        other => panic!("{other}"),
    }
    run
}

#[tokio::test]
async fn a_stop_ends_the_run_in_any_phase_and_the_session_goes_on_later() {
    let slow = || answer().tool(&tool("slow"), json!({"text": "a"}));
    let phases = [
        ("waiting for the first byte", vec![answer().hold("never").text("Never.")]),
        ("in mid-stream", vec![answer().chunks([say("Half"), gate("never"), say(" a word.")])]),
        ("running tools", vec![slow()]),
        ("waiting to try again", vec![answer().fault(Fault::rate_limited("600")).text("Later.")]),
    ];
    for (phase, turns) in phases {
        let mock = mock(turns);
        let mut fixture = AgentFixture::new(&mock.url(), Wire::Anthropic, TITLE);
        let mut run = reach(phase, &fixture, &mock).await;
        run.send(RunCommand::Teardown(InterruptReason::Stopped));
        let (exit, _) = run.until_over().await;
        assert_eq!(exit, Exit::Interrupted(InterruptReason::Stopped), "{phase}");
        drop(run);
        let log = fixture.log();
        assert_eq!(log.last().unwrap().body.kind(), "run_ended", "{phase}");
        assert!(texts(&fixture).is_empty(), "{phase}: half a response was kept");
        assert!(SessionState::replay(&log).turns.open.is_empty(), "{phase}: a call was left open");
        mock.open("never");
        // The same session, taken up again by a process that knows of no limit, answers.
        fixture.gate = Arc::default();
        fixture.leave(MessageSource::User, "Go on.").await;
        let mut again = fixture.run();
        again.until_parked().await;
        assert!(!texts(&fixture).is_empty(), "{phase}");
    }
}

#[tokio::test]
async fn a_run_that_is_dropped_takes_its_tools_with_it() {
    let mock = mock([answer().tool(&tool("slow"), json!({"text": "a"}))]);
    let fixture = AgentFixture::new(&mock.url(), Wire::Anthropic, TITLE);
    let run = reach("running tools", &fixture, &mock).await;
    drop(run);
    fixture.brake.release();
    // The tool, were it alive, would be next.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(fixture.carried_out().is_empty(), "a tool went on without its run");
}
