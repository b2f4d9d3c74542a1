//! Words the question after a request has failed for good: for each error class, what happened and what to do.

use std::time::Duration;

use crate::provider::credential::set_key_command;
use crate::provider::retry::LONGEST_FLOOR;
use crate::provider::{ApiError, ErrorClass};

/// Returns the question for a request that failed with `error` at its `attempts`-th attempt.
pub(super) fn question(error: &ApiError, attempts: u32, model: &str, auth_group: Option<&str>) -> String {
    let status = error.status.map(|status| format!(" ({status})")).unwrap_or_default();
    let tried = if attempts > 1 { format!("; {attempts} attempts failed") } else { String::new() };
    if let Some(wait) = error.retry_after.filter(|wait| *wait > LONGEST_FLOOR) {
        let wait = hours(wait);
        return format!("The provider asks to wait {wait}{status}. Try again then, or use another model.");
    }
    match error.class {
        ErrorClass::Auth => {
            format!(
                "The provider rejected the API key{status}. Change the key here, or {} and try again.",
                new_key(auth_group)
            )
        }
        ErrorClass::Credit => {
            format!(
                "The provider's account has no credit left{status}. Add credit and try again, or use another model."
            )
        }
        ErrorClass::RateLimit => format!(
            "The provider's rate limit was exceeded{status}{tried}. Try again later, run fewer agents at once, or use \
             another model."
        ),
        ErrorClass::Overloaded => {
            format!("The provider is overloaded{status}{tried}. Try again later, or use another model.")
        }
        ErrorClass::Server => format!(
            "The provider failed{status}{tried}. Check its status page and try again later, or use another model."
        ),
        ErrorClass::Network => format!(
            "The provider could not be reached{tried}. Check the network, the proxy and the base URL, then try again."
        ),
        ErrorClass::Timeout => format!(
            "The provider did not answer in time{status}{tried}. Try again (a local model may still be loading), or use \
             another model."
        ),
        ErrorClass::Truncated => {
            format!("The response broke off{tried}. Check the network and the proxy, then try again.")
        }
        ErrorClass::Runaway => "The response did not end and was cut off. Try again, or use another model.".to_owned(),
        ErrorClass::InvalidRequest => format!(
            "The provider rejected the request{status}. Check the settings of the model and try again, or use another \
             model."
        ),
        ErrorClass::UnknownModel => {
            format!(
                "The provider does not know the model \"{model}\"{status}. Choose another one, or answer with its name."
            )
        }
        ErrorClass::Refused => {
            format!("The provider refused to answer{status}. Change the task and try again, or use another model.")
        }
        ErrorClass::ContextOverflow => {
            format!("The conversation does not fit the model's window{status}. Use a model with a larger one.")
        }
        ErrorClass::Cancelled => "The request was cancelled. Try again?".to_owned(),
    }
}

fn new_key(auth_group: Option<&str>) -> String {
    match auth_group.and_then(set_key_command) {
        Some(command) => format!("set a new key with `{command}`"),
        None => "set a new key in the environment".to_owned(),
    }
}

fn hours(wait: Duration) -> String {
    let minutes = wait.as_secs().div_ceil(60);
    match (minutes / 60, minutes % 60) {
        (hours, 0) => format!("{hours} h"),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
#[path = "question_tests.rs"]
mod tests;
