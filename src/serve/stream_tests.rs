use super::*;
use crate::engine::feed::Feed;
use crate::serve::testing::FakePort;

fn quiet_after(subscription: &[NumberedUpdate]) -> Vec<u64> {
    subscription.iter().map(|numbered| numbered.seq).collect()
}

fn stream() -> (Arc<Stream>, Arc<Feed>) {
    let port = FakePort::default();
    let feed = Arc::clone(&port.feed);
    (Stream::new(Handle::new(port), Epoch::fresh()), feed)
}

#[tokio::test]
async fn every_subscriber_reads_the_updates_after_its_snapshot() {
    let (stream, feed) = stream();
    let (_, mut first) = stream.subscribe().await.unwrap();
    feed.publish(&Update::Quiet);
    assert_eq!(quiet_after(&first.next().await.unwrap()), [1]);
    let (_, mut second) = stream.subscribe().await.unwrap();
    feed.publish(&Update::Quiet);
    assert_eq!(quiet_after(&second.next().await.unwrap()), [2]);
    assert_eq!(quiet_after(&first.next().await.unwrap()), [2]);
}

#[tokio::test]
async fn a_reader_resumes_where_it_was_cut() {
    let (stream, feed) = stream();
    let (_, first) = stream.subscribe().await.unwrap();
    let position = first.position();
    drop(first);
    feed.publish(&Update::Quiet);
    feed.publish(&Update::Resync);
    let mut resumed = stream.resume(position).unwrap();
    let mut seen = Vec::new();
    while seen.len() < 2 {
        seen.extend(resumed.next().await.unwrap().iter().map(|numbered| (*numbered.update).clone()));
    }
    assert_eq!(seen, [Update::Quiet, Update::Resync]);
    assert!(stream.resume(Position { epoch: Epoch::fresh(), seq: 0 }).is_none(), "another life of the server");
    assert!(stream.resume(Position { seq: 99, ..position }).is_none(), "a position that never was");
}

#[tokio::test(start_paused = true)]
async fn nobody_watches_the_engine_when_nobody_is_subscribed() {
    let (stream, feed) = stream();
    let (_, subscription) = stream.subscribe().await.unwrap();
    assert!(feed.is_watched());
    let position = subscription.position();
    drop(subscription);
    // A first update lets the pump notice that it is unused.
    feed.publish(&Update::Quiet);
    tokio::time::sleep(LINGER * 2).await;
    assert!(!feed.is_watched());
    assert!(stream.resume(position).is_none());
    let (_, mut again) = stream.subscribe().await.unwrap();
    feed.publish(&Update::Quiet);
    assert_eq!(quiet_after(&again.next().await.unwrap()), [2]);
}
