//! Tokens and money spent, by model, and the size of the context at the last request.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::base::MicroUsd;
use crate::model::fold::ContextBreakdown;
use crate::model::usage::{Tokens, Usage};

/// The totals of one model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct ModelTotals {
    pub responses: u64,
    pub tokens: Tokens,
    pub cost: MicroUsd,
    /// Responses without a known price: the cost is a lower bound while this is not zero.
    #[serde(skip_serializing_if = "is_zero")]
    pub unpriced: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// The size of the context at the last request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ContextSize {
    pub tokens: u64,
    pub window: u64,
}

/// Everything spent in a session, including rewound and summarized parts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct UsageTotals {
    pub by_model: BTreeMap<String, ModelTotals>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<ContextSize>,
    #[serde(rename = "filling", skip_serializing_if = "ContextBreakdown::is_empty")]
    pub breakdown: ContextBreakdown,
}

impl UsageTotals {
    pub fn cost(&self) -> MicroUsd {
        self.by_model.values().map(|totals| totals.cost).sum()
    }

    pub fn tokens(&self) -> Tokens {
        let mut sum = Tokens::default();
        self.by_model.values().for_each(|totals| sum += totals.tokens);
        sum
    }

    /// Returns true if some response had no known price.
    pub fn is_lower_bound(&self) -> bool {
        self.by_model.values().any(|totals| totals.unpriced > 0)
    }

    pub fn on_usage(&mut self, usage: &Usage) {
        let totals = self.by_model.entry(usage.model.clone()).or_default();
        totals.responses += 1;
        totals.tokens += usage.tokens;
        match usage.cost {
            Some(cost) => totals.cost += cost,
            None => totals.unpriced += 1,
        }
        self.context = Some(ContextSize { tokens: usage.tokens.total(), window: usage.context_window });
    }
}
