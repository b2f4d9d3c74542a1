//! The commands that an agent waits for, so that the user can send one to the background.

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

    /// Moves a call to the background. Returns false if there is no such call.
    pub fn to_background(&self, call: &str) -> bool {
        let found = self.lock().get(call).cloned();
        if let Some(waiting) = &found {
            waiting.notify_one();
        }
        found.is_some()
    }

    pub(super) fn enter(self: &Arc<Self>, call: &str) -> ForegroundCall {
        let moved = Arc::new(Notify::new());
        self.lock().insert(call.to_owned(), Arc::clone(&moved));
        ForegroundCall { all: Arc::clone(self), call: call.to_owned(), moved }
    }
}

/// Registers a foreground call until it is dropped.
pub(super) struct ForegroundCall {
    all: Arc<Foreground>,
    call: String,
    moved: Arc<Notify>,
}

impl ForegroundCall {
    /// Waits until the user moves the call.
    pub(super) async fn moved(&self) {
        self.moved.notified().await;
    }
}

impl Drop for ForegroundCall {
    fn drop(&mut self) {
        self.all.lock().remove(&self.call);
    }
}
