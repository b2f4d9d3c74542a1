//! Which time it is where the person is.

use std::ffi::OsStr;
use std::path::Path;

use jiff::tz::TimeZone;

/// Returns the time zone of this machine.
pub(super) fn local() -> TimeZone {
    of(std::env::var_os("TZ").as_deref(), Path::new("/etc/localtime"))
}

/// What the machine is set to is in one file. Its name is not, and to find that out, which nobody here asks for, the whole
/// folder of time zones would be gone through.
fn of(chosen: Option<&OsStr>, set: &Path) -> TimeZone {
    let data = chosen.is_none().then(|| std::fs::read(set).ok()).flatten();
    data.and_then(|data| TimeZone::tzif("Local", &data).ok()).unwrap_or_else(TimeZone::system)
}

#[cfg(test)]
#[path = "zone_tests.rs"]
mod tests;
