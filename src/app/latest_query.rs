//! Queries of which only the latest matters, such as one per typed character.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::future::BoxFuture;

/// Runs queries one at a time, and skips those that are followed by a later one.
#[derive(Clone, Default)]
pub(super) struct LatestWins {
    turn: Arc<tokio::sync::Mutex<()>>,
    latest: Arc<AtomicU64>,
}

impl LatestWins {
    /// Runs a query after the current one. Returns `None` if a later query was made by then. Queries count in the order
    /// of these calls, not in that in which the futures are polled.
    pub(super) fn ask<T: Send + 'static>(
        &self,
        query: impl Future<Output = T> + Send + 'static,
    ) -> BoxFuture<'static, Option<T>> {
        let number = self.latest.fetch_add(1, Ordering::Relaxed) + 1;
        let Self { turn, latest } = self.clone();
        Box::pin(async move {
            let _turn = turn.lock().await;
            if latest.load(Ordering::Relaxed) != number {
                return None;
            }
            Some(query.await)
        })
    }
}

#[cfg(test)]
#[path = "latest_query_tests.rs"]
mod tests;
