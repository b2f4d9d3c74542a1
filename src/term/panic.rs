//! What a panic does to the terminal: the modes are restored first, then the report is printed where it can be read.
//!
//! Any thread and any task counts: a panic that somebody catches has already printed over the screen, so the screen is
//! over. The loop hears of it and ends in order. Hooks of others are called after ours and are not replaced.

use std::sync::Arc;

use super::guard::Guard;
use super::signals::{Stop, Stops};

/// Makes every panic from now on restore what `guard` holds.
pub(super) fn restore_on_panic(guard: &Arc<Guard>, stops: Stops) {
    // Weak, so that the hook, which stays for the life of the process, does not keep the terminal open.
    let guard = Arc::downgrade(guard);
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if let Some(guard) = guard.upgrade() {
            guard.leave_for_good();
            stops.send(Stop::Panic);
        }
        report(panic);
    }));
}
