//! Input fields that several tools share.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::MicroUsd;
use crate::model::task;

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Colour {
    Red,
    Orange,
    Yellow,
    Green,
    Blue,
    Purple,
    Gray,
}

impl From<Colour> for task::Colour {
    fn from(colour: Colour) -> Self {
        match colour {
            Colour::Red => Self::Red,
            Colour::Orange => Self::Orange,
            Colour::Yellow => Self::Yellow,
            Colour::Green => Self::Green,
            Colour::Blue => Self::Blue,
            Colour::Purple => Self::Purple,
            Colour::Gray => Self::Gray,
        }
    }
}

/// Returns a text unless it is blank. Models fill fields that they do not need with empty text.
pub(super) fn given(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

/// Converts a budget, or returns why it is invalid.
pub(super) fn budget(dollars: Option<f64>) -> Result<Option<MicroUsd>, String> {
    let Some(dollars) = dollars else { return Ok(None) };
    match MicroUsd::from_dollars(dollars) {
        Some(budget) if budget > MicroUsd::ZERO => Ok(Some(budget)),
        Some(_) | None => Err(format!(
            "\"budget_usd\" cannot be {dollars}: give an amount of US dollars above zero, or leave it out. \
             Nothing was done."
        )),
    }
}

#[cfg(test)]
#[path = "fields_tests.rs"]
mod tests;
