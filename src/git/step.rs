//! Named points between the steps of what is done to a repository. At each of them a test can end the program as `kill -9`
//! would, one after the other: [`FILE`] gets a line for every point that is passed, and the one with the number
//! [`NUMBER`] is not passed. In a release build nothing of this is there.

/// Names the file in which the points that were passed are counted.
#[cfg(debug_assertions)]
const FILE: &str = "MXD_TEST_STEPS";
/// The point at which the program ends, counted from one.
#[cfg(debug_assertions)]
const NUMBER: &str = "MXD_TEST_STEP";

/// Passes a point.
#[cfg(debug_assertions)]
pub(crate) fn step(name: &'static str) {
    use std::io::Write as _;
    use std::sync::{LazyLock, Mutex, PoisonError};

    struct Counted {
        file: std::fs::File,
        passed: u64,
        last: Option<u64>,
    }
    static COUNTED: LazyLock<Option<Mutex<Counted>>> = LazyLock::new(|| {
        let path = std::env::var_os(FILE)?;
        let last = std::env::var(NUMBER).ok().and_then(|number| number.parse().ok());
        let file = std::fs::File::options().create(true).append(true).open(path).ok()?;
        Some(Mutex::new(Counted { file, passed: 0, last }))
    });

    let Some(counted) = &*COUNTED else { return };
    let mut counted = counted.lock().unwrap_or_else(PoisonError::into_inner);
    counted.passed += 1;
    let _ = writeln!(counted.file, "{name}");
    if counted.last == Some(counted.passed) {
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        // Nobody gets further, however long the signal takes.
        loop {
            std::thread::park();
        }
    }
}

/// Passes a point.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub(crate) fn step(_name: &'static str) {}
