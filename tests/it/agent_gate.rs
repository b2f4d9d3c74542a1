//! Many runs on one credential do not storm an API that has said "wait".

use std::time::Duration;

use futures::future::join_all;
use mxd::model::Live;
use mxd::model::conversation::Wire;
use mxd::model::message::MessageSource;

use crate::agent_faults::StoppedTime;
use crate::support::agent_fixture::{AgentFixture, News, Running};
use crate::support::mock::{Conversation, Fault, Mock, Script, answer, gate, say};

const RUNS: usize = 20;

#[tokio::test]
async fn after_a_limit_one_of_twenty_runs_tries_alone_and_the_others_follow_its_success() {
    let _stopped = StoppedTime::new();
    let title = |number: usize| format!("run {number:02}");
    let mut script = Script::new();
    for number in 0..RUNS {
        let through = [gate("say"), say("Through.")];
        // The second attempt is accepted, and nothing comes before the test says so.
        let probe = Fault::Stall { after: 0, gate: "probe".to_owned() };
        let turn = answer().hold("start").fault(Fault::rate_limited("1")).fault(probe).chunks(through);
        script = script.with(Conversation::new(&title(number)).turn(turn));
    }
    let mock = Mock::start(script);
    let first = AgentFixture::new(&mock.url(), Wire::Anthropic, &title(0));
    let fixtures: Vec<AgentFixture> =
        (1..RUNS).map(|number| first.sibling(&title(number))).collect::<Vec<_>>().into_iter().chain([first]).collect();
    let store = fixtures[0].store();
    let mut runs = Vec::new();
    for fixture in &fixtures {
        store.append(fixture.task, None, fixture.message(MessageSource::User, "Begin.")).await.unwrap();
        runs.push(fixture.run_on(store.clone()));
    }
    let limited = |news: &News| news.live.iter().any(|live| matches!(live, Live::Retry { .. }));
    let all_limited = join_all(runs.iter_mut().map(|run| run.until("a countdown", limited)));
    let opened = async {
        // All are on their way before the first is turned away.
        mock.requested(RUNS).await;
        mock.open("start");
    };
    tokio::join!(all_limited, opened);
    assert_eq!(mock.count(), RUNS);

    // Every run's own wait is over: now it is the gate that holds them.
    tokio::time::advance(Duration::from_secs(3)).await;
    let rest = join_all(runs.iter_mut().map(Running::until_parked));
    tokio::pin!(rest);
    tokio::select! {
        _ = &mut rest => panic!("nothing should be answered yet"),
        () = mock.reached("probe") => {}
    }
    for _ in 0..200 {
        tokio::select! {
            biased;
            _ = &mut rest => panic!("nothing should be answered yet"),
            () = tokio::task::yield_now() => {}
        }
    }
    assert_eq!(mock.count(), RUNS + 1, "more than one went ahead");
    mock.open("probe");
    // That it has begun to answer is enough, however long it thinks before it says anything.
    tokio::select! {
        _ = &mut rest => panic!("nothing should be said yet"),
        () = mock.requested(2 * RUNS) => {}
    }
    mock.open("say");
    rest.await;
    assert_eq!(mock.count(), 2 * RUNS);
    mock.assert_finished();
    println!("{RUNS} runs were limited, 1 tried alone, {} followed", RUNS - 1);
}
