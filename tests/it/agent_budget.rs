//! Money that several runs share, and money that nobody can count.

use std::sync::Arc;

use futures::future::join;
use mxd::base::MicroUsd;
use mxd::model::AskKind;
use mxd::model::ask::AnsweredBy;
use mxd::model::conversation::Wire;
use mxd::model::event::{Body, BudgetScope};
use mxd::model::message::MessageSource;
use mxd::provider::budget::{Budget, BudgetAccount};

use crate::support::agent_fixture::AgentFixture;
use crate::support::mock::{Conversation, Fault, Mock, Script, answer, gate, say};

/// A fixture that pays from `account`, and that has been spoken to.
async fn paying(mut fixture: AgentFixture, account: &Arc<BudgetAccount>) -> AgentFixture {
    fixture.limits.budgeted = true;
    let account = Arc::clone(account);
    fixture.purse = Arc::new(move || Budget::new(vec![(BudgetScope::Subtree, Arc::clone(&account))]));
    fixture.leave(MessageSource::User, "Begin.").await;
    fixture
}

fn account(limit: u64) -> Arc<BudgetAccount> {
    BudgetAccount::new(MicroUsd(limit), MicroUsd::ZERO)
}

fn asks(fixture: &AgentFixture) -> usize {
    fixture.log().iter().filter(|event| matches!(event.body, Body::AskRaised(_))).count()
}

#[tokio::test]
async fn a_budget_is_not_held_to_be_kept_when_the_price_is_unknown() {
    let mock = Mock::start(Script::new().with(Conversation::new("unpriced").turn(answer().text("Done."))));
    let mut fixture = AgentFixture::new(&mock.url(), Wire::Anthropic, "unpriced");
    fixture.prices = None;
    let fixture = paying(fixture, &account(1_000_000)).await;
    let mut run = fixture.run();
    run.until_asked().await;
    assert_eq!(mock.count(), 0, "nothing is spent before the user has answered");
    let ask = fixture.state().asks.iter().next().cloned().unwrap();
    assert_eq!(ask.kind(), AskKind::Budget);
    assert!(ask.detail.contains("models.mock-model.prices.input"), "{}", ask.detail);
    run.answer(ask.answer(ask.reply_with_number(1), AnsweredBy::User).unwrap()).await;
    run.until_parked().await;
    mock.assert_finished();
}

#[tokio::test]
async fn whoever_finds_the_rest_set_aside_waits_for_it_and_asks_nobody() {
    let held = answer().chunks([gate("first"), say("I was first.")]);
    let script = Script::new()
        .with(Conversation::new("first").turn(held))
        .with(Conversation::new("second").turn(answer().text("I waited.")));
    let mock = Mock::start(script);
    // Less than one request is thought to cost, and more than it does.
    let account = account(4_000);
    let first = paying(AgentFixture::new(&mock.url(), Wire::Anthropic, "first"), &account).await;
    let second = paying(first.sibling("second"), &account).await;
    let store = first.store();
    let mut one = first.run_on(store.clone());
    tokio::select! {
        _ = one.until_parked() => panic!("it is held back"),
        () = mock.reached("first") => {}
    }
    let mut other = second.run_on(store);
    for _ in 0..50 {
        tokio::select! {
            biased;
            news = other.next() => assert!(!news.parked() && !news.asks()),
            () = tokio::task::yield_now() => {}
        }
    }
    assert_eq!(mock.count(), 1, "the second has no money yet");
    mock.open("first");
    join(one.until_parked(), other.until_parked()).await;
    assert_eq!((asks(&first), asks(&second)), (0, 0));
    mock.assert_finished();
}

#[tokio::test]
async fn a_run_that_waits_for_the_user_keeps_no_money_from_the_others() {
    let script = Script::new()
        .with(Conversation::new("first").turn(answer().fault(Fault::unauthorized()).text("Never.")))
        .with(Conversation::new("second").turn(answer().text("I need not wait.")));
    let mock = Mock::start(script);
    let account = account(4_000);
    let first = paying(AgentFixture::new(&mock.url(), Wire::Anthropic, "first"), &account).await;
    let second = paying(first.sibling("second"), &account).await;
    let store = first.store();
    let mut one = first.run_on(store.clone());
    one.until_asked().await;
    let mut other = second.run_on(store);
    other.until_parked().await;
    assert_eq!((asks(&first), asks(&second)), (1, 0));
}
