//! Ids: one newtype per kind of thing, all ULIDs, all made by one monotonic source.
//!
//! Invariant: an [`IdSource`] never returns an id that sorts at or below one that it has made or observed, whatever
//! the clock does. The order of events therefore does not depend on the time of day.

use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use ulid::Ulid;

use crate::base::clock::Clock;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident, $what:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Ulid);

        impl $name {
            /// Returns the next id of `source`.
            pub fn fresh(source: &IdSource) -> Self {
                Self(source.next())
            }

            pub const fn from_ulid(ulid: Ulid) -> Self {
                Self(ulid)
            }

            pub const fn ulid(self) -> Ulid {
                self.0
            }

            /// Returns the first characters, enough to tell ids apart on a screen.
            pub fn short(self) -> String {
                let mut text = self.to_string();
                text.truncate(SHORT_LEN);
                text
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut buffer = [0; ulid::ULID_LEN];
                f.pad(self.0.array_to_str(&mut buffer))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;
            fn from_str(text: &str) -> Result<Self, InvalidId> {
                parse(text).map(Self).ok_or_else(|| InvalidId { what: $what, text: text.to_owned() })
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "description": concat!("The id of ", $what, "."),
                    "type": "string",
                    "pattern": "^[0-7][0-9A-HJKMNP-TV-Z]{25}$",
                })
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut buffer = [0; ulid::ULID_LEN];
                serializer.serialize_str(self.0.array_to_str(&mut buffer))
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl Visitor<'_> for Text {
                    type Value = $name;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str(concat!("the id of ", $what, " (26 characters)"))
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(Text)
            }
        }
    )*};
}

/// The number of characters of an id that are shown: its time, and enough to tell neighbours apart.
pub const SHORT_LEN: usize = 14;

ids! {
    /// Identifies a git repository that Matrix works on.
    ProjectId, "a project";
    /// Identifies a node of a project's tree and its session.
    TaskId, "a task";
    /// Identifies one line of a session.
    EventId, "an event";
    /// Identifies a message to a task.
    MessageId, "a message";
    /// Identifies an ask: something only the user can answer.
    AskId, "an ask";
    /// Identifies one request to a model and its outcome.
    TurnId, "a turn";
    /// Identifies one run of the agent loop on a task.
    RunId, "a run";
}

/// Parses only the canonical spelling. The ULID decoder also accepts lower case and look-alike letters, and then one
/// thing would have several names on disk.
fn parse(text: &str) -> Option<Ulid> {
    // 26 letters of five bits are 130 bits: the first letter must leave its two highest bits unset.
    let fits = text.as_bytes().first().is_some_and(|first| *first <= b'7');
    let canonical = |c: &u8| matches!(c, b'0'..=b'9' | b'A'..=b'Z') && !matches!(c, b'I' | b'L' | b'O' | b'U');
    if !fits || !text.as_bytes().iter().all(canonical) {
        return None;
    }
    Ulid::from_string(text).ok()
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is not the id of {what}: an id has 26 characters, 0-9 and A-Z without I, L, O and U")]
pub struct InvalidId {
    what: &'static str,
    text: String,
}

/// Makes ids. Clones share the sequence: the whole process uses one.
#[derive(Clone)]
pub struct IdSource {
    clock: Arc<dyn Clock>,
    state: Arc<Mutex<Sequence>>,
}

struct Sequence {
    last: Ulid,
    entropy: Entropy,
}

/// The number of random bits of an id.
const RANDOM_BITS: u32 = 80;
/// The largest distance between two ids of one millisecond. A few hundred fit before the next millisecond is used.
const STEP_BITS: u32 = 72;

enum Entropy {
    System,
    Seeded(u64),
}

impl IdSource {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self::with_entropy(clock, Entropy::System)
    }

    /// Returns a source whose ids depend only on `seed` and the clock, for repeatable simulations.
    pub fn seeded(clock: Arc<dyn Clock>, seed: u64) -> Self {
        Self::with_entropy(clock, Entropy::Seeded(seed))
    }

    fn with_entropy(clock: Arc<dyn Clock>, entropy: Entropy) -> Self {
        Self { clock, state: Arc::new(Mutex::new(Sequence { last: Ulid::nil(), entropy })) }
    }

    /// Raises the floor: every later id sorts above `seen`. Callers pass the ids that a log already holds, so that a
    /// clock that was set back cannot make new events sort below old ones.
    pub fn observe(&self, seen: Ulid) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.last = state.last.max(seen);
    }

    pub(crate) fn next(&self) -> Ulid {
        let now = u64::try_from(self.clock.now().as_millis()).unwrap_or(0);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let last = state.last;
        let next = if now > last.timestamp_ms() {
            Ulid::from_parts(now, state.entropy.draw())
        } else {
            // A wide step, so that ids of one millisecond differ in their first characters: those are the ones users
            // type.
            let step = 1 + (state.entropy.draw() >> (RANDOM_BITS - STEP_BITS));
            match last.random().checked_add(step).filter(|random| random >> RANDOM_BITS == 0) {
                Some(random) => Ulid::from_parts(last.timestamp_ms(), random),
                None => Ulid::from_parts(last.timestamp_ms() + 1, state.entropy.draw() >> 1),
            }
        };
        state.last = next;
        next
    }
}

impl fmt::Debug for IdSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IdSource")
    }
}

impl Entropy {
    fn draw(&mut self) -> u128 {
        match self {
            Self::System => Ulid::generate().random(),
            Self::Seeded(state) => {
                let wide = (u128::from(split_mix(state)) << 64) | u128::from(split_mix(state));
                wide >> (u128::BITS - RANDOM_BITS)
            }
        }
    }
}

/// One step of `SplitMix64`: enough spread for distinct ids in a simulation, and the same on every machine.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut word = *state;
    word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

#[cfg(test)]
#[path = "id_tests.rs"]
mod tests;
