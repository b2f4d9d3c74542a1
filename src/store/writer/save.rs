//! Syncs the logs of a group, several at a time where the disk gains from it.
//!
//! A file system commits all pending syncs at once, so parallel syncs cost far less than sequential ones. A disk that
//! allows one call at a time gets sequential calls.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::base::TaskId;
use crate::store::StoreError;
use crate::store::log::Log;

/// Syncs `logs`, at most `at_once` in parallel. Returns the failures.
pub(super) fn save<'a>(
    logs: impl IntoIterator<Item = (TaskId, &'a mut Log), IntoIter: ExactSizeIterator + Send>,
    at_once: usize,
) -> BTreeMap<TaskId, StoreError> {
    let logs = logs.into_iter();
    let helpers = logs.len().min(at_once).saturating_sub(1);
    let queue = Mutex::new(logs);
    let failed = Mutex::new(BTreeMap::new());
    let work = || {
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((session, log)) = next else { break };
            if let Err(error) = log.sync() {
                failed.lock().unwrap_or_else(PoisonError::into_inner).insert(session, error);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..helpers {
            // If a helper thread cannot be started, the others do its work.
            let _ = thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "save_tests.rs"]
mod tests;
