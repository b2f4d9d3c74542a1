use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::{BoxFuture, FutureExt as _, join_all, pending, ready};
use tokio::sync::mpsc;

use super::*;
use crate::base::SystemClock;
use crate::config::{Environment, merge};
use crate::provider::{ErrorClass, ProviderRequest, Response, Signal};

/// An endpoint that only lists its models, or fails to.
struct Endpoint {
    requests: AtomicUsize,
    answer: fn() -> BoxFuture<'static, Result<Vec<ListedModel>, ApiError>>,
}

impl Endpoint {
    fn new(answer: fn() -> BoxFuture<'static, Result<Vec<ListedModel>, ApiError>>) -> Arc<Self> {
        Arc::new(Self { requests: AtomicUsize::new(0), answer })
    }
}

impl Provider for Endpoint {
    fn respond(
        &self,
        _: ProviderRequest,
        _: mpsc::Sender<Signal>,
        _: CancellationToken,
    ) -> BoxFuture<'_, Result<Response, ApiError>> {
        ready(Err(ApiError::cancelled())).boxed()
    }

    fn count_tokens(&self, _: ProviderRequest, _: CancellationToken) -> BoxFuture<'_, Result<Option<u64>, ApiError>> {
        ready(Ok(None)).boxed()
    }

    fn models(&self, _: CancellationToken) -> BoxFuture<'_, Result<Vec<ListedModel>, ApiError>> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        (self.answer)()
    }
}

fn models() -> Models {
    let settings = merge(&Environment::default(), &[]).unwrap().settings;
    Models::new(settings, CommandLineChoice::default(), Arc::new(SystemClock))
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_hangs_delays_only_launches_that_need_it_and_only_once() {
    let models = models();
    let (hung, quick) = (Endpoint::new(|| pending().boxed()), Endpoint::new(|| ready(Ok(Vec::new())).boxed()));
    let (as_hung, as_quick): (Arc<dyn Provider>, Arc<dyn Provider>) = (hung.clone(), quick.clone());
    let started = Instant::now();
    let waiting = join_all((0..5).map(|_| models.catalogue("hung", "unknown", &as_hung)));
    let other = async {
        tokio::task::yield_now().await;
        models.catalogue("quick", "unknown", &as_quick).await;
        assert_eq!(started.elapsed(), Duration::ZERO, "another group is not waited for");
    };
    tokio::join!(waiting, other);
    assert_eq!((started.elapsed(), hung.requests.load(Ordering::Relaxed)), (LISTING_LIMIT, 1));
    models.catalogue("quick", "unknown", &as_quick).await;
    assert_eq!(quick.requests.load(Ordering::Relaxed), 1, "its list is known");
}

#[tokio::test(start_paused = true)]
async fn a_failed_listing_is_retried_later() {
    let models = models();
    let refusing = Endpoint::new(|| ready(Err(ApiError::new(ErrorClass::Network, "no response"))).boxed());
    let as_provider: Arc<dyn Provider> = refusing.clone();
    for _ in 0..3 {
        models.catalogue("group", "unknown", &as_provider).await;
    }
    assert_eq!(refusing.requests.load(Ordering::Relaxed), 1);
    tokio::time::advance(FAILURE_TTL).await;
    models.catalogue("group", "unknown", &as_provider).await;
    assert_eq!(refusing.requests.load(Ordering::Relaxed), 2);
}

const KNOWN: &str = "claude-sonnet-4-6";

fn small() -> Vec<ListedModel> {
    vec![ListedModel { id: KNOWN.to_owned(), window: Some(30_000), ..ListedModel::default() }]
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
async fn a_slow_list_does_not_delay_a_launch_and_applies_when_it_arrives() {
    let models = models();
    let slow = Endpoint::new(|| {
        async {
            tokio::time::sleep(Duration::from_secs(4)).await;
            Ok(small())
        }
        .boxed()
    });
    let endpoint: Arc<dyn Provider> = slow.clone();
    let started = Instant::now();
    let (catalogue, late) = models.catalogue("group", KNOWN, &endpoint).await;
    assert_eq!(started.elapsed(), LISTING_WAIT);
    assert!(catalogue.facts(KNOWN).unwrap().window > 30_000);
    let catalogue = late.unwrap().await.unwrap();
    assert_eq!(catalogue.facts(KNOWN).unwrap().window, 30_000);
    let (catalogue, late) = models.catalogue("group", KNOWN, &endpoint).await;
    assert_eq!((catalogue.facts(KNOWN).unwrap().window, late.is_some()), (30_000, false));
    assert_eq!(slow.requests.load(Ordering::Relaxed), 1, "the list is requested once");
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_without_a_list_is_not_queried_at_every_launch() {
    let models = models();
    let refusing = Endpoint::new(|| ready(Err(ApiError::new(ErrorClass::InvalidRequest, "no such path"))).boxed());
    let endpoint: Arc<dyn Provider> = refusing.clone();
    for _ in 0..3 {
        let (catalogue, late) = models.catalogue("group", KNOWN, &endpoint).await;
        assert!(catalogue.facts(KNOWN).is_ok() && late.is_none());
        tokio::time::advance(FAILURE_TTL).await;
    }
    assert_eq!(refusing.requests.load(Ordering::Relaxed), 1);
}
