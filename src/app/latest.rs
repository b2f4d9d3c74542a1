//! Questions of which only the latest matters: each letter that is typed asks anew, and nobody waits for the old ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::future::BoxFuture;

use crate::base::Fault;

/// Takes questions one at a time and leaves out those that a later one has overtaken.
#[derive(Clone, Default)]
pub(super) struct Latest {
    turn: Arc<tokio::sync::Mutex<()>>,
    asked: Arc<AtomicU64>,
}

impl Latest {
    /// Lets `look` have its turn on a thread where it may block. Nothing comes of it if another question was asked by
    /// then. Questions count in the order in which this is called, whenever the futures are polled.
    pub(super) fn ask<T: Send + 'static>(
        &self,
        look: impl FnOnce() -> T + Send + 'static,
    ) -> BoxFuture<'static, Result<Option<T>, Fault>> {
        let number = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        let Self { turn, asked } = self.clone();
        Box::pin(async move {
            let turn = turn.lock_owned().await;
            let looked = tokio::task::spawn_blocking(move || {
                let _turn = turn;
                (asked.load(Ordering::Relaxed) == number).then(look)
            });
            looked.await.map_err(|error| Fault::internal(error.to_string()))
        })
    }
}

#[cfg(test)]
#[path = "latest_tests.rs"]
mod tests;
