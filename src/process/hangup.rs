//! Whether this process was started to outlive its terminal, as `nohup` does: then it must not begin to hear that the
//! terminal is gone.

use std::io::{self, IsTerminal as _};

/// Tells whether whoever started us wanted us to outlive the terminal.
pub fn outlives_terminal() -> bool {
    match std::fs::read_to_string("/proc/self/status") {
        Ok(status) => ignores_hangup(&status),
        // Where the system does not tell: `nohup` leaves no stream at a terminal.
        Err(_) => !(io::stdin().is_terminal() || io::stdout().is_terminal() || io::stderr().is_terminal()),
    }
}

/// Reads the mask of ignored signals, of which a hangup is the first.
fn ignores_hangup(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

#[cfg(test)]
#[path = "hangup_tests.rs"]
mod tests;
