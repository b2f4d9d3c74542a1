//! Named points between the steps of an operation on a repository. A test can kill the program at each of them, as
//! `kill -9` would: [`FILE`] gets a line for every point passed, and the program dies at the one with the number
//! [`NUMBER`]. Absent from release builds.

/// The variable with the file that lists the points passed.
#[cfg(debug_assertions)]
const FILE: &str = "MXD_TEST_STEPS";
/// The variable with the number of the point to die at, counted from one.
#[cfg(debug_assertions)]
const NUMBER: &str = "MXD_TEST_STEP";

/// Passes a crash point.
#[cfg(debug_assertions)]
pub(crate) fn crash_point(name: &'static str) {
    use std::io::Write as _;
    use std::sync::{LazyLock, Mutex, PoisonError};

    struct Counter {
        file: std::fs::File,
        passed: u64,
        last: Option<u64>,
    }
    static COUNTER: LazyLock<Option<Mutex<Counter>>> = LazyLock::new(|| {
        let path = std::env::var_os(FILE)?;
        let last = std::env::var(NUMBER).ok().and_then(|number| number.parse().ok());
        let file = std::fs::File::options().create(true).append(true).open(path).ok()?;
        Some(Mutex::new(Counter { file, passed: 0, last }))
    });

    let Some(counter) = &*COUNTER else { return };
    let mut counter = counter.lock().unwrap_or_else(PoisonError::into_inner);
    counter.passed += 1;
    let _ = writeln!(counter.file, "{name}");
    if counter.last == Some(counter.passed) {
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        // Wait for the signal.
        loop {
            std::thread::park();
        }
    }
}

/// Passes a crash point.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub(crate) fn crash_point(_name: &'static str) {}
