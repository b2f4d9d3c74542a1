//! Money in whole micro-dollars: sums of thousands of small costs are the same in any order.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};

/// An amount of US dollars in millionths.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(transparent)]
pub struct MicroUsd(pub u64);

impl MicroUsd {
    pub const ZERO: Self = Self(0);

    /// Returns the amount nearest to `dollars`, or `None` if it is negative, not a number, or absurdly large.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked first")]
    pub fn from_dollars(dollars: f64) -> Option<Self> {
        let micros = (dollars * 1e6).round();
        (0.0..=1e18).contains(&micros).then_some(Self(micros as u64))
    }

    pub fn is_zero(&self) -> bool {
        *self == Self::ZERO
    }

    pub fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add for MicroUsd {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for MicroUsd {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for MicroUsd {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for MicroUsd {
    /// Shows cents from one dollar up; below that, enough digits to show that something was spent.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dollars = self.0 as f64 / 1e6;
        let text = match self.0 {
            0 => "$0.00".to_owned(),
            1..100 => format!("${dollars:.6}"),
            100..10_000 => format!("${dollars:.4}"),
            _ => format!("${dollars:.2}"),
        };
        f.pad(&text)
    }
}

#[cfg(test)]
#[path = "money_tests.rs"]
mod tests;
