//! The choices of an Ask that remove its cause: more money, another model, another key.

use crate::base::MicroUsd;
use crate::model::ask::{Choice, ChoiceId};
use crate::provider::{Catalogue, ErrorClass};

/// Number of models that are offered in place of an unknown one. With the other choices, all have a digit.
const MODELS: usize = 5;
/// Number of profiles that are offered in place of one whose account cannot be used.
const PROFILES: usize = 5;

/// Returns the choices that fix a failed request.
pub(super) fn for_error(class: ErrorClass, model: &str, catalogue: &Catalogue) -> Vec<Choice> {
    match class {
        ErrorClass::Auth => vec![Choice::new(ChoiceId::ChangeKey, "Change the key")],
        ErrorClass::UnknownModel => {
            let named = |name: String| Choice::new(ChoiceId::Model(name.clone()), format!("Use {name}"));
            catalogue.most_similar(model, MODELS).into_iter().map(named).collect()
        }
        ErrorClass::Credit
        | ErrorClass::RateLimit
        | ErrorClass::Overloaded
        | ErrorClass::Server
        | ErrorClass::Network
        | ErrorClass::Timeout
        | ErrorClass::Truncated
        | ErrorClass::Runaway
        | ErrorClass::InvalidRequest
        | ErrorClass::ContextOverflow
        | ErrorClass::Refused
        | ErrorClass::Cancelled => Vec::new(),
    }
}

/// Returns the choices for an account that cannot be used: profiles that use another one.
pub(super) fn for_account(elsewhere: &[String]) -> Vec<Choice> {
    let offer = |name: &String| Choice::new(ChoiceId::Profile(name.clone()), format!("Hand over to {name}"));
    elsewhere.iter().take(PROFILES).map(offer).collect()
}

/// Returns amounts by which a spent budget can be raised: half of it, all of it, and five times as much, rounded.
pub(super) fn for_budget(limit: MicroUsd) -> Vec<Choice> {
    let mut amounts = [limit.0 / 2, limit.0, limit.0.saturating_mul(5)].map(rounded).to_vec();
    amounts.dedup();
    let offer = |amount| Choice::new(ChoiceId::Spend(amount), format!("Allow {amount} more"));
    amounts.into_iter().map(MicroUsd).map(offer).collect()
}

/// Rounds up to 1, 2 or 5 times a power of ten, and to a cent at least.
fn rounded(micros: u64) -> u64 {
    const CENT: u64 = 10_000;
    let mut power = CENT;
    loop {
        for step in [1, 2, 5] {
            let candidate = power.saturating_mul(step);
            if candidate >= micros {
                return candidate;
            }
        }
        power = power.saturating_mul(10);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amounts(dollars: f64) -> Vec<String> {
        for_budget(MicroUsd::from_dollars(dollars).unwrap()).into_iter().map(|choice| choice.label).collect()
    }

    #[test]
    fn amounts_follow_the_size_of_the_budget_and_are_round() {
        assert_eq!(amounts(1.0), ["Allow $0.50 more", "Allow $1.00 more", "Allow $5.00 more"]);
        assert_eq!(amounts(30.0), ["Allow $20.00 more", "Allow $50.00 more", "Allow $200.00 more"]);
        assert_eq!(amounts(0.0), ["Allow $0.01 more"]);
        assert!(!for_budget(MicroUsd(u64::MAX)).is_empty());
    }

    #[test]
    fn an_unknown_model_is_replaced_by_similar_names_and_a_wrong_key_by_another() {
        let choices = for_error(ErrorClass::UnknownModel, "claude-sonnet", &Catalogue::default());
        assert_eq!(choices.len(), MODELS);
        assert!(choices.iter().all(|choice| matches!(&choice.id, ChoiceId::Model(name) if name.starts_with("claude"))));
        assert_eq!(for_error(ErrorClass::UnknownModel, "house-llm", &Catalogue::default()), []);
        assert_eq!(for_error(ErrorClass::Auth, "m", &Catalogue::default())[0].id, ChoiceId::ChangeKey);
        assert_eq!(for_error(ErrorClass::Timeout, "m", &Catalogue::default()), []);
    }
}
