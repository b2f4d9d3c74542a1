//! Panic handling: restores the terminal first, then prints the report.
//!
//! Applies to every thread and task: even a caught panic has printed over the screen, so the screen is closed. The main
//! loop gets a stop and quits in order. The previous hook runs afterwards.

use std::sync::Arc;

use super::guard::Guard;
use super::signals::{Stop, StopSender};

/// Installs a hook that restores the modes of `guard` on every panic.
pub(super) fn restore_on_panic(guard: &Arc<Guard>, stops: StopSender) {
    // Weak, so that the hook, which lives as long as the process, does not keep the terminal open.
    let guard = Arc::downgrade(guard);
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if let Some(guard) = guard.upgrade() {
            guard.leave_permanently();
            stops.send(Stop::Panic);
        }
        report(panic);
    }));
}
