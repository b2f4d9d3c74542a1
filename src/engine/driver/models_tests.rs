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
    fn new(answer: fn() -> BoxFuture<'static, Result<Vec<Listed>, ApiError>>) -> Self {
        Self { asked: AtomicUsize::new(0), answer }
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
    let begun = Instant::now();
    let waiting = join_all((0..5).map(|_| models.catalogue("hung", "unknown", &hung)));
    let other = async {
        tokio::task::yield_now().await;
        models.catalogue("quick", "unknown", &quick).await;
        assert_eq!(begun.elapsed(), Duration::ZERO, "another group is not waited for");
    };
    tokio::join!(waiting, other);
    assert_eq!((begun.elapsed(), hung.asked.load(Ordering::Relaxed)), (LISTING_LIMIT, 1));
    models.catalogue("quick", "unknown", &quick).await;
    assert_eq!(quick.asked.load(Ordering::Relaxed), 1, "it has said it");
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_not_final() {
    let models = models();
    let refusing = Endpoint::new(|| ready(Err(ApiError::new(ErrorClass::Network, "nobody there"))).boxed());
    for _ in 0..3 {
        models.catalogue("group", "unknown", &refusing).await;
    }
    assert_eq!(refusing.asked.load(Ordering::Relaxed), 1);
    tokio::time::advance(FAILURE_STANDS).await;
    models.catalogue("group", "unknown", &refusing).await;
    assert_eq!(refusing.asked.load(Ordering::Relaxed), 2);
}
