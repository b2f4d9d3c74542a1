//! Token counts and costs of responses, and their sums.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::base::MicroUsd;

/// Token counts, disjoint: a token is counted in exactly one field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct Tokens {
    /// Input that was neither read from nor written to a cache.
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    /// Written to a cache that lives five minutes.
    pub cache_write_5m: u64,
    /// Written to a cache that lives an hour.
    pub cache_write_1h: u64,
}

impl Tokens {
    /// Returns all input tokens: the size of the context at that request.
    pub fn context(&self) -> u64 {
        self.input
            .saturating_add(self.cache_read)
            .saturating_add(self.cache_write_5m)
            .saturating_add(self.cache_write_1h)
    }

    pub fn total(&self) -> u64 {
        self.context().saturating_add(self.output)
    }
}

impl AddAssign for Tokens {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write_5m = self.cache_write_5m.saturating_add(other.cache_write_5m);
        self.cache_write_1h = self.cache_write_1h.saturating_add(other.cache_write_1h);
    }
}

/// The `usage` event: one response's tokens, their cost, and the context window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    #[serde(flatten)]
    pub tokens: Tokens,
    pub model: String,
    /// `None` if the model has no known price: unknown is not free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<MicroUsd>,
    pub context_window: u64,
    /// Set if the provider reported no counts and these are estimates.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
}
