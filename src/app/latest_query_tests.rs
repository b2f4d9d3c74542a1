use std::future::ready;

use super::*;

#[tokio::test]
async fn only_the_latest_query_runs() {
    let latest = LatestWins::default();
    let first = latest.ask(ready(1));
    let second = latest.ask(ready(2));
    let third = latest.ask(ready(3));
    // Polled in another order than asked.
    assert_eq!(third.await, Some(3));
    assert_eq!(first.await, None);
    assert_eq!(second.await, None);
    assert_eq!(latest.ask(ready(4)).await, Some(4));
}
