//! Everything that can go wrong with a model API, on every wire: how often it is tried again, what the log says, what the
//! user sees. `docs/providers.md` shows the same table, and is checked against it.
//!
//! The clock is paused and moves only when a test moves it, so that waits of minutes take no time.

mod cases;
mod page;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mxd::model::ask::{AnsweredBy, AskReply, ChoiceId};
use mxd::model::conversation::Wire;
use mxd::model::event::{Body, ErrorNote};
use mxd::model::{Ask, Live};

use crate::support::agent_fixture::{self, AgentFixture, News, Running, Ticking};
use crate::support::mock::{Conversation, Mock, Script};
use cases::{Case, Trouble};

pub const WIRES: [Wire; 3] = [Wire::Anthropic, Wire::OpenaiResponses, Wire::OpenaiChat];

/// Keeps time from passing by itself for as long as it lives.
pub struct StoppedTime(Option<std::sync::mpsc::Sender<()>>);

impl StoppedTime {
    pub fn new() -> Self {
        tokio::time::pause();
        let (hold, held) = std::sync::mpsc::channel::<()>();
        // Paused time leaps when a runtime has nothing to do, even while a socket is on its way. It does not while
        // something blocks.
        tokio::task::spawn_blocking(move || held.recv());
        Self(Some(hold))
    }
}

impl Drop for StoppedTime {
    fn drop(&mut self) {
        self.0.take();
    }
}

/// What came of a fault, up to the point where the user is needed or the agent sleeps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Outcome {
    /// Requests after the first that were announced with a countdown.
    retries: usize,
    /// Error events by class.
    errors: BTreeMap<String, usize>,
    /// Responses whose shown half was declared void.
    discarded: usize,
    asked: Option<(String, Vec<String>)>,
    notices: usize,
    compactions: usize,
    /// Assistant texts in the log.
    texts: Vec<String>,
}

struct Play<'a> {
    mock: &'a Mock,
    run: Running,
    outcome: Outcome,
    ask: Option<Ask>,
}

impl Play<'_> {
    /// Goes on until the agent sleeps or asks. Time passes when something waits for it.
    async fn settle(&mut self, silent: bool) {
        let (mut silences, mut in_silence) = (0, false);
        let mut wait = None;
        loop {
            let gate = cases::silence(silences);
            let news = tokio::select! {
                biased;
                news = self.run.next() => news,
                () = self.mock.reached(&gate), if silent && !in_silence => {
                    (silences, in_silence) = (silences + 1, true);
                    continue;
                }
                // What was sent before the silence may not have been read yet, so once may not be enough.
                () = tokio::task::yield_now(), if in_silence => {
                    tokio::time::advance(agent_fixture::TIMEOUTS.idle + Duration::from_secs(1)).await;
                    continue;
                }
            };
            in_silence &= !news.live.iter().any(|live| matches!(live, Live::Retry { .. }));
            self.note(&news);
            for event in &news.events {
                if let Body::Error(ErrorNote { attempt: Some(attempt), .. }) = &event.body {
                    // The gate may keep everybody for two seconds where the API named no time.
                    wait = Some(Duration::from_millis(attempt.wait_ms).max(Duration::from_secs(2)));
                }
            }
            // The event is on the disk before the run begins to wait.
            if news.live.iter().any(|live| matches!(live, Live::Retry { attempt: 1.., .. }))
                && let Some(wait) = wait.take()
            {
                tokio::time::advance(wait + Duration::from_millis(1)).await;
            }
            assert!(news.exit.is_none(), "the run ended: {:?}", news.exit);
            if news.parked() || news.asks() {
                return;
            }
        }
    }

    fn note(&mut self, news: &News) {
        let outcome = &mut self.outcome;
        for live in &news.live {
            match live {
                Live::Retry { attempt: 1.., .. } => outcome.retries += 1,
                Live::Discarded => outcome.discarded += 1,
                _ => {}
            }
        }
        for event in &news.events {
            match &event.body {
                Body::Error(note) => *outcome.errors.entry(note.class.clone()).or_default() += 1,
                Body::AskRaised(ask) => {
                    outcome.asked = Some((ask.question.clone(), ask.choices.iter().map(ToString::to_string).collect()));
                    self.ask = Some(ask.clone());
                }
                Body::Message(message) if message.from == mxd::model::MessageSource::Notice => outcome.notices += 1,
                Body::CompactMarker(_) => outcome.compactions += 1,
                Body::AssistantText(said) => outcome.texts.push(said.text.clone()),
                _ => {}
            }
        }
    }
}

async fn meet(mock: &Mock, case: &Case, wire: Wire, number: usize) -> Outcome {
    let mut fixture = AgentFixture::new(&mock.url(), wire, &title(number));
    fixture.limits.window = Some(200_000);
    fixture.clock = Arc::new(Ticking::default());
    let mut run = fixture.run();
    run.until_parked().await;
    run.deliver(fixture.message(mxd::model::MessageSource::User, "Begin.")).await;
    let mut play = Play { mock, run, outcome: Outcome::default(), ask: None };
    play.settle(case.silent()).await;
    let outcome = play.outcome.clone();
    if let Some(ask) = play.ask.take() {
        assert_eq!(Some(ask.kind()), case.ask, "{} on {wire:?}", case.name);
        // The test provider recovers by itself, so whatever else is offered, the request is sent again.
        let again = [ChoiceId::Retry, ChoiceId::Continue].into_iter().find(|id| ask.choice(id).is_some());
        let reply = again.map_or_else(|| ask.reply_with_number(1), AskReply::Choice);
        let answer = ask.answer(reply, AnsweredBy::User).unwrap();
        // a user takes their time; whatever limit there was is over.
        tokio::time::advance(Duration::from_secs(3 * 60 * 60)).await;
        play.run.answer(answer).await;
        play.settle(false).await;
    }
    // Whatever it was: when it is over, the agent goes on, and nothing of a broken response is in the log.
    assert_eq!(play.outcome.texts.last().map(String::as_str), Some(cases::GOOD), "{} on {wire:?}", case.name);
    outcome
}

fn title(number: usize) -> String {
    format!("case {number:02}")
}

async fn outcomes(wire: Wire) -> Vec<Outcome> {
    let cases = cases::all();
    let mut script = Script::new().summarise_when("Write it between <summary>", &cases::summary());
    for (number, case) in cases.iter().enumerate() {
        let conversation = Conversation::new(&title(number)).fail_when_exhausted();
        script = script.with(case.turns().into_iter().fold(conversation, Conversation::turn));
    }
    let mock = Mock::start(script);
    let mut outcomes = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let outcome = meet(&mock, case, wire, number).await;
        let errors: Vec<_> = outcome.errors.iter().map(|(class, times)| (class.as_str(), *times)).collect();
        let wanted: Vec<_> = case.class.iter().map(|class| (*class, case.errors)).collect();
        assert_eq!(errors, wanted, "{} on {wire:?}: {outcome:#?}", case.name);
        assert_eq!(outcome.retries, case.retries, "{} on {wire:?}: {outcome:#?}", case.name);
        assert_eq!(outcome.asked.is_some(), case.ask.is_some(), "{} on {wire:?}: {outcome:#?}", case.name);
        assert_eq!(outcome.discarded, case.retries + outcome.compactions, "{} on {wire:?}: {outcome:#?}", case.name);
        if let Trouble::Fault(_) = &case.trouble {
            assert!(outcome.texts.iter().all(|text| text == cases::GOOD), "{} on {wire:?}: {outcome:#?}", case.name);
        }
        outcomes.push(outcome);
    }
    mock.assert_finished();
    outcomes
}

#[tokio::test]
async fn every_fault_is_retried_logged_and_shown_as_the_page_says() {
    let _stopped = StoppedTime::new();
    let mut told = Vec::new();
    for wire in WIRES {
        told.push(outcomes(wire).await);
    }
    println!("{} faults on {} wires", told[0].len(), WIRES.len());
    page::check(&page::table(&told));
}
