//! A credential that cannot be printed by accident.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A secret text. `Debug` and `Display` show a mask; only [`Secret::expose`] returns the value.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// Returns the secret itself, for the one header it belongs in.
    pub fn expose(&self) -> &str {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.trim().is_empty()
    }

    /// Returns the mask: the last four characters of a long secret, nothing of a short one.
    pub fn masked(&self) -> String {
        let count = self.0.chars().count();
        if count < 16 {
            return "****".to_owned();
        }
        let tail: String = self.0.chars().skip(count - 4).collect();
        format!("****{tail}")
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({})", self.masked())
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.masked())
    }
}
