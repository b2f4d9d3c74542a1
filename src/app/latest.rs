//! Questions of which only the latest matters, such as one for each letter that is typed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::future::BoxFuture;

/// Asks questions one at a time and skips those that a later one has overtaken.
#[derive(Clone, Default)]
pub(super) struct Latest {
    turn: Arc<tokio::sync::Mutex<()>>,
    asked: Arc<AtomicU64>,
}

impl Latest {
    /// Asks a question when its turn comes. `None` if a later one was asked by then. Questions count in the order in which
    /// this is called, whenever the futures are polled.
    pub(super) fn ask<T: Send + 'static>(
        &self,
        question: impl Future<Output = T> + Send + 'static,
    ) -> BoxFuture<'static, Option<T>> {
        let number = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        let Self { turn, asked } = self.clone();
        Box::pin(async move {
            let _turn = turn.lock().await;
            if asked.load(Ordering::Relaxed) != number {
                return None;
            }
            Some(question.await)
        })
    }
}

#[cfg(test)]
#[path = "latest_tests.rs"]
mod tests;
