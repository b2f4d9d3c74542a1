use std::time::Duration;

use super::question;
use crate::provider::{ApiError, ErrorClass};

fn error(class: ErrorClass, status: Option<u16>) -> ApiError {
    ApiError { status, ..ApiError::new(class, "it went wrong") }
}

#[test]
fn every_class_says_what_happened_and_what_to_do() {
    for class in ErrorClass::ALL {
        let question = question(&error(class, Some(418)), 1, "m", Some("main"));
        assert!(question.matches(". ").count() >= 1, "{class}: {question}");
        assert!(!question.contains("attempts"), "{class} was tried once: {question}");
    }
}

#[test]
fn attempts_are_named_only_if_there_were_several() {
    let limited = error(ErrorClass::RateLimit, Some(429));
    assert!(question(&limited, 11, "m", None).contains("(429); 11 attempts failed"));
    let asked_to_wait = ApiError { retry_after: Some(Duration::from_secs(7200)), ..limited };
    assert!(question(&asked_to_wait, 1, "m", None).contains("asks to wait 2 h (429)"));
}

#[test]
fn the_hint_for_a_rejected_key_depends_on_its_source() {
    let rejected = error(ErrorClass::Auth, Some(401));
    let set = question(&rejected, 1, "m", Some("main"));
    assert!(set.contains("(401)") && set.contains("`mxd config set --global authGroups.main.apiKey KEY`"), "{set}");
    let implicit = question(&rejected, 1, "m", Some("env-anthropic"));
    assert!(implicit.contains("in the environment") && !implicit.contains('`'), "{implicit}");
}
