use super::*;

#[tokio::test]
async fn only_the_latest_question_is_looked_into() {
    let latest = Latest::default();
    let first = latest.ask(|| 1);
    let second = latest.ask(|| 2);
    let third = latest.ask(|| 3);
    // Polled in another order than asked.
    assert_eq!(third.await.unwrap(), Some(3));
    assert_eq!(first.await.unwrap(), None);
    assert_eq!(second.await.unwrap(), None);
    assert_eq!(latest.ask(|| 4).await.unwrap(), Some(4));
}

#[tokio::test]
async fn a_question_that_fails_lets_the_next_one_have_its_turn() {
    let latest = Latest::default();
    let failed = latest.ask(|| -> u8 { panic!("no") }).await;
    assert!(failed.is_err());
    assert_eq!(latest.ask(|| 2).await.unwrap(), Some(2));
}
