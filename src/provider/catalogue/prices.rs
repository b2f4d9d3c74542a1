//! Prices and costs of tokens.

use serde::{Deserialize, Serialize};

use crate::base::MicroUsd;
use crate::model::usage::Tokens;

/// Prices in micro-dollars per million tokens: three dollars per million is `3000000`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prices {
    pub input: u64,
    pub output: u64,
    /// `None`: the price of input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_5m: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_1h: Option<u64>,
}

/// Returns the cost of `tokens`: summed exactly, then rounded once, half up.
pub fn cost(tokens: &Tokens, prices: &Prices) -> MicroUsd {
    const MILLION: u128 = 1_000_000;
    let part = |count: u64, price: u64| u128::from(count) * u128::from(price);
    let cached = |price: Option<u64>| price.unwrap_or(prices.input);
    let sum = part(tokens.input, prices.input)
        + part(tokens.output, prices.output)
        + part(tokens.cache_read, cached(prices.cache_read))
        + part(tokens.cache_write_5m, cached(prices.cache_write_5m))
        + part(tokens.cache_write_1h, cached(prices.cache_write_1h));
    MicroUsd(u64::try_from((sum + MILLION / 2) / MILLION).unwrap_or(u64::MAX))
}
