use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::{BoxFuture, FutureExt as _, join_all, pending, ready};
use tokio::sync::mpsc;

use super::*;
use crate::base::SystemClock;
use crate::config::{Environment, merge};
use crate::provider::{Call, ErrorClass, Response, Signal};

/// An endpoint that only lists its models, or does not even that.
struct Endpoint {
    asked: AtomicUsize,
    answer: fn() -> BoxFuture<'static, Result<Vec<Listed>, ApiError>>,
}

impl Endpoint {
    fn new(answer: fn() -> BoxFuture<'static, Result<Vec<Listed>, ApiError>>) -> Arc<Self> {
        Arc::new(Self { asked: AtomicUsize::new(0), answer })
    }
}

impl Provider for Endpoint {
    fn respond(
        &self,
        _: Call,
        _: mpsc::Sender<Signal>,
        _: CancellationToken,
    ) -> BoxFuture<'_, Result<Response, ApiError>> {
        ready(Err(ApiError::cancelled())).boxed()
    }

    fn count_tokens(&self, _: Call, _: CancellationToken) -> BoxFuture<'_, Result<Option<u64>, ApiError>> {
        ready(Ok(None)).boxed()
    }

    fn models(&self, _: CancellationToken) -> BoxFuture<'_, Result<Vec<Listed>, ApiError>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        (self.answer)()
    }
}

fn models() -> Models {
    let settings = merge(&Environment::default(), &[]).unwrap().settings;
    Models::new(settings, Choice::default(), Arc::new(SystemClock))
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_hangs_delays_those_who_need_it_once_and_nobody_else() {
    let models = models();
    let (hung, quick) = (Endpoint::new(|| pending().boxed()), Endpoint::new(|| ready(Ok(Vec::new())).boxed()));
    let (as_hung, as_quick): (Arc<dyn Provider>, Arc<dyn Provider>) = (hung.clone(), quick.clone());
    let begun = Instant::now();
    let waiting = join_all((0..5).map(|_| models.catalogue("hung", "unknown", &as_hung)));
    let other = async {
        tokio::task::yield_now().await;
        models.catalogue("quick", "unknown", &as_quick).await;
        assert_eq!(begun.elapsed(), Duration::ZERO, "another group is not waited for");
    };
    tokio::join!(waiting, other);
    assert_eq!((begun.elapsed(), hung.asked.load(Ordering::Relaxed)), (LISTING_LIMIT, 1));
    models.catalogue("quick", "unknown", &as_quick).await;
    assert_eq!(quick.asked.load(Ordering::Relaxed), 1, "it has said it");
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_not_final() {
    let models = models();
    let refusing = Endpoint::new(|| ready(Err(ApiError::new(ErrorClass::Network, "nobody there"))).boxed());
    let as_provider: Arc<dyn Provider> = refusing.clone();
    for _ in 0..3 {
        models.catalogue("group", "unknown", &as_provider).await;
    }
    assert_eq!(refusing.asked.load(Ordering::Relaxed), 1);
    tokio::time::advance(FAILURE_STANDS).await;
    models.catalogue("group", "unknown", &as_provider).await;
    assert_eq!(refusing.asked.load(Ordering::Relaxed), 2);
}

const KNOWN: &str = "claude-sonnet-4-6";

fn small() -> Vec<Listed> {
    vec![Listed { id: KNOWN.to_owned(), window: Some(30_000), ..Listed::default() }]
}

#[tokio::test(start_paused = true)]
async fn the_window_that_an_endpoint_announces_wins_over_the_table() {
    let models = models();
    let endpoint: Arc<dyn Provider> = Endpoint::new(|| ready(Ok(small())).boxed());
    assert!(Catalogue::default().facts(KNOWN).unwrap().window > 30_000);
    let (catalogue, late) = models.catalogue("group", KNOWN, &endpoint).await;
    assert_eq!(catalogue.facts(KNOWN).unwrap().window, 30_000);
    assert!(late.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_slow_list_does_not_hold_up_a_launch_and_counts_when_it_comes() {
    let models = models();
    let slow = Endpoint::new(|| {
        async {
            tokio::time::sleep(Duration::from_secs(4)).await;
            Ok(small())
        }
        .boxed()
    });
    let endpoint: Arc<dyn Provider> = slow.clone();
    let begun = Instant::now();
    let (catalogue, late) = models.catalogue("group", KNOWN, &endpoint).await;
    assert_eq!(begun.elapsed(), LISTING_PATIENCE);
    assert!(catalogue.facts(KNOWN).unwrap().window > 30_000);
    let catalogue = late.unwrap().await.unwrap();
    assert_eq!(catalogue.facts(KNOWN).unwrap().window, 30_000);
    let (catalogue, late) = models.catalogue("group", KNOWN, &endpoint).await;
    assert_eq!((catalogue.facts(KNOWN).unwrap().window, late.is_some()), (30_000, false));
    assert_eq!(slow.asked.load(Ordering::Relaxed), 1, "the list is asked for once");
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_without_a_list_is_not_asked_at_every_launch() {
    let models = models();
    let refusing = Endpoint::new(|| ready(Err(ApiError::new(ErrorClass::InvalidRequest, "no such path"))).boxed());
    let endpoint: Arc<dyn Provider> = refusing.clone();
    for _ in 0..3 {
        let (catalogue, late) = models.catalogue("group", KNOWN, &endpoint).await;
        assert!(catalogue.facts(KNOWN).is_ok() && late.is_none());
        tokio::time::advance(FAILURE_STANDS).await;
    }
    assert_eq!(refusing.asked.load(Ordering::Relaxed), 1);
}
