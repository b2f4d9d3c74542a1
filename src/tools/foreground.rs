//! The commands that an agent waits for right now, so that the person can send one to the background.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The calls that can be moved.
#[derive(Debug, Default)]
pub struct Foreground(Mutex<HashMap<String, Arc<Notify>>>);

impl Foreground {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Notify>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves a call to the background. Tells whether there was one that could be.
    pub fn to_background(&self, call: &str) -> bool {
        let found = self.lock().get(call).cloned();
        if let Some(waiting) = &found {
            waiting.notify_one();
        }
        found.is_some()
    }

    pub(super) fn enter(self: &Arc<Self>, call: &str) -> Waiting {
        let moved = Arc::new(Notify::new());
        self.lock().insert(call.to_owned(), Arc::clone(&moved));
        Waiting { all: Arc::clone(self), call: call.to_owned(), moved }
    }
}

/// A call in the foreground, for as long as this lives.
pub(super) struct Waiting {
    all: Arc<Foreground>,
    call: String,
    moved: Arc<Notify>,
}

impl Waiting {
    /// Waits until the person moves the call.
    pub(super) async fn moved(&self) {
        self.moved.notified().await;
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.all.lock().remove(&self.call);
    }
}
