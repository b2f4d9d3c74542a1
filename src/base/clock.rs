//! Timestamps, and the trait through which the time of day is read.
//!
//! Timestamps are for display and for logs. Durations are measured with monotonic clocks, because the time of day can
//! jump.

use std::fmt;
use std::str::FromStr;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A moment in UTC with millisecond precision, always written as `2026-11-16T06:11:53.123Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    pub const EPOCH: Self = Self(0);
    /// The last millisecond of the year 9999. Later times are clamped to it, so that every timestamp can be
    /// formatted.
    const LATEST_MS: i64 = 253_402_207_200_999;

    /// Returns the moment `millis` after 1970, clamped to the range that can be formatted.
    pub const fn from_millis(millis: i64) -> Self {
        if millis < 0 {
            Self(0)
        } else if millis > Self::LATEST_MS {
            Self(Self::LATEST_MS)
        } else {
            Self(millis)
        }
    }

    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Returns the time since `earlier`, or zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> std::time::Duration {
        std::time::Duration::from_millis(u64::try_from(self.as_millis() - earlier.as_millis()).unwrap_or(0))
    }

    pub fn later(self, wait: std::time::Duration) -> Self {
        Self::from_millis(self.0.saturating_add(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX)))
    }

    fn civil(self) -> jiff::Timestamp {
        // The constructor clamps to years 1970-9999, which jiff can always represent.
        jiff::Timestamp::from_millisecond(self.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH)
    }

    /// Returns the moment without the fraction of a second: the form that models and users read.
    pub fn to_seconds_string(self) -> String {
        self.civil().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    /// Returns the moment in a form that is safe in a file name.
    pub fn to_file_stamp(self) -> String {
        self.civil().strftime("%Y%m%dT%H%M%S%3fZ").to_string()
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.civil().strftime("%Y-%m-%dT%H:%M:%S%.3fZ"))
    }
}

impl FromStr for Timestamp {
    type Err = jiff::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse::<jiff::Timestamp>().map(|moment| Self::from_millis(moment.as_millisecond()))
    }
}

impl schemars::JsonSchema for Timestamp {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Timestamp".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "format": "date-time"})
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Timestamp;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a moment such as 2026-11-16T06:11:53.123Z")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Timestamp, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Text)
    }
}

/// The source of the time of day. Code that stamps events takes a `Clock`, so that tests control the time.
pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(jiff::Timestamp::now().as_millisecond())
    }
}

#[cfg(test)]
#[path = "clock_tests.rs"]
mod tests;
