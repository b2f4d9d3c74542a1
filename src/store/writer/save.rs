//! Saving the logs that a group touched, several at a time where the disk gains by it.
//!
//! A file system commits everything that waits for it at that moment in one go, so files that are saved together cost
//! far less than files that are saved one after the other. A disk that must see one call at a time gets just that.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::base::TaskId;
use crate::store::StoreError;
use crate::store::log::Log;

/// Saves `logs`, at most `at_once` of them at any moment. Returns the failures.
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
            // A helper that cannot be started is not missed: what it would have done, the others do.
            let _ = thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "save_tests.rs"]
mod tests;
