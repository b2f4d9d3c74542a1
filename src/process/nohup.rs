//! Detects whether this process was started with `nohup`, in which case it must not handle SIGHUP.

use std::io::{self, IsTerminal as _};

/// Returns true if this process was started to outlive its terminal.
pub fn outlives_terminal() -> bool {
    match std::fs::read_to_string("/proc/self/status") {
        Ok(status) => ignores_hangup(&status),
        // Without /proc: `nohup` leaves no stream on a terminal.
        Err(_) => !(io::stdin().is_terminal() || io::stdout().is_terminal() || io::stderr().is_terminal()),
    }
}

/// Reads the mask of ignored signals; SIGHUP is bit 0.
fn ignores_hangup(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

#[cfg(test)]
#[path = "nohup_tests.rs"]
mod tests;
