use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{GATHER, SignalBuffer};
use crate::provider::response::Signal;

fn text(text: &str) -> Signal {
    Signal::Text(text.to_owned())
}

fn call(index: usize, bytes: u64) -> Signal {
    Signal::Call { index, call: "c".to_owned(), name: "n".to_owned(), bytes }
}

fn drained(receiver: &mut mpsc::Receiver<Signal>) -> Vec<Signal> {
    std::iter::from_fn(|| receiver.try_recv().ok()).collect()
}

#[tokio::test(start_paused = true)]
async fn adjacent_signals_are_merged_in_order() {
    let (sender, mut receiver) = mpsc::channel(16);
    let mut outbox = SignalBuffer::default();
    outbox.add(vec![Signal::Thinking("h".to_owned()), Signal::Thinking("m".to_owned()), text("a")]);
    outbox.add(vec![text("b"), call(0, 1), call(0, 5), call(1, 2), text("c")]);
    outbox.offer(&sender);
    assert_eq!(
        drained(&mut receiver),
        [Signal::Thinking("hm".to_owned()), text("ab"), call(0, 5), call(1, 2), text("c")]
    );
}

#[tokio::test(start_paused = true)]
async fn the_first_signal_is_due_at_once_and_later_ones_wait() {
    let (sender, _receiver) = mpsc::channel(16);
    let mut outbox = SignalBuffer::default();
    outbox.add(Vec::new());
    assert_eq!(outbox.due(), None);
    outbox.add(vec![text("first")]);
    assert_eq!(outbox.due(), Some(Instant::now()));
    outbox.offer(&sender);
    let due = Instant::now() + GATHER;
    outbox.add(vec![text("a")]);
    tokio::time::advance(GATHER / 2).await;
    outbox.add(vec![text("b")]);
    assert_eq!(outbox.due(), Some(due));
    outbox.offer(&sender);
    assert_eq!(outbox.due(), None);
}

#[tokio::test(start_paused = true)]
async fn a_slow_receiver_gets_longer_pieces_and_misses_nothing() {
    let (sender, mut receiver) = mpsc::channel(1);
    let mut outbox = SignalBuffer::default();
    outbox.add(vec![text("a"), call(0, 1), text("b")]);
    outbox.offer(&sender);
    assert!(outbox.due().is_some());
    outbox.add(vec![text("c")]);
    let sent = tokio::spawn(async move { outbox.drain(&sender, &CancellationToken::new()).await });
    let mut got = Vec::new();
    while let Some(signal) = receiver.recv().await {
        got.push(signal);
    }
    sent.await.unwrap();
    assert_eq!(got, [text("a"), call(0, 1), text("bc")]);
}

#[tokio::test(start_paused = true)]
async fn a_stuck_receiver_does_not_block_cancellation() {
    let (sender, _receiver) = mpsc::channel(1);
    let mut outbox = SignalBuffer::default();
    outbox.add(vec![text("a"), call(0, 1), text("b")]);
    let cancel = CancellationToken::new();
    cancel.cancel();
    outbox.drain(&sender, &cancel).await;
}
