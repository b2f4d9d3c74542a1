use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

use super::*;

/// Counts how often commands are carried out. Each waits for a permit of `gate`.
#[derive(Clone, Default)]
struct Counted {
    runs: Arc<AtomicUsize>,
    gate: Arc<Notify>,
}

impl Counted {
    fn start(&self) -> BoxFuture<'static, Result<Outcome, Fault>> {
        let this = self.clone();
        async move {
            this.runs.fetch_add(1, Ordering::Relaxed);
            this.gate.notified().await;
            Ok(Outcome::Stopped { agents: this.runs.load(Ordering::Relaxed) })
        }
        .boxed()
    }

    fn runs(&self) -> usize {
        self.runs.load(Ordering::Relaxed)
    }
}

#[tokio::test]
async fn a_command_that_is_sent_again_is_carried_out_once() {
    let (outcomes, counted, client) = (Outcomes::default(), Counted::default(), ClientId::fresh());
    let first = outcomes.run(client, 1, 0, || counted.start());
    assert_eq!(counted.runs(), 1, "it is started at once, to keep the order");
    // While it runs, and after it has ended.
    let again = outcomes.run(client, 1, 0, || counted.start());
    counted.gate.notify_one();
    assert_eq!(first.await, Ok(Outcome::Stopped { agents: 1 }));
    assert_eq!(again.await, Ok(Outcome::Stopped { agents: 1 }));
    assert_eq!(outcomes.run(client, 1, 0, || counted.start()).await, Ok(Outcome::Stopped { agents: 1 }));
    assert_eq!(counted.runs(), 1);
    // The same number of another client is another command.
    counted.gate.notify_one();
    outcomes.run(ClientId::fresh(), 1, 0, || counted.start()).await.unwrap();
    assert_eq!(counted.runs(), 2);
}

#[tokio::test]
async fn a_command_ends_although_nobody_waits_for_it() {
    let (outcomes, counted, client) = (Outcomes::default(), Counted::default(), ClientId::fresh());
    drop(outcomes.run(client, 1, 0, || counted.start()));
    counted.gate.notify_one();
    // The outcome is there for the client that comes back.
    assert_eq!(outcomes.run(client, 1, 0, || counted.start()).await, Ok(Outcome::Stopped { agents: 1 }));
}

#[tokio::test]
async fn what_a_client_has_got_is_forgotten_and_never_carried_out_again() {
    let (outcomes, counted, client) = (Outcomes::default(), Counted::default(), ClientId::fresh());
    for number in 1..=3 {
        counted.gate.notify_one();
        outcomes.run(client, number, number, || counted.start()).await.unwrap();
    }
    let fault = outcomes.run(client, 1, 0, || counted.start()).await.unwrap_err();
    assert!(fault.message.contains("forgotten"), "{fault}");
    assert_eq!(counted.runs(), 3);
}

#[tokio::test]
async fn memory_is_bounded() {
    let outcomes = Outcomes::default();
    let done = || futures::future::ready(Ok(Outcome::Done)).boxed();
    let client = ClientId::fresh();
    for number in 0..MAX_OUTCOMES as u64 + 10 {
        outcomes.run(client, number, 0, done).await.unwrap();
    }
    for _ in 0..MAX_CLIENTS + 10 {
        outcomes.run(ClientId::fresh(), 1, 0, done).await.unwrap();
    }
    let clients = outcomes.clients.lock().unwrap();
    assert_eq!(clients.by_id.len(), MAX_CLIENTS);
    assert!(clients.by_id.values().all(|client| client.by_number.len() <= MAX_OUTCOMES));
    assert!(!clients.by_id.contains_key(&client), "the client that was silent for longest is forgotten");
}
