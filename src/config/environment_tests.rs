use std::collections::HashMap;

use super::*;
use crate::config::Severity;

fn environment(values: &[(&str, &str)]) -> Environment {
    let values: HashMap<String, OsString> =
        values.iter().map(|(name, value)| ((*name).to_owned(), OsString::from(value))).collect();
    Environment::new(|name| values.get(name).cloned())
}

fn names(environment: &Environment) -> Vec<&'static str> {
    environment.groups().0.iter().map(|group| group.name).collect()
}

#[test]
fn empty_and_blank_variables_count_as_unset() {
    assert!(names(&environment(&[("ANTHROPIC_API_KEY", ""), ("OPENAI_BASE_URL", " \n")])).is_empty());
}

#[test]
fn a_key_and_an_address_form_one_group() {
    let environment = environment(&[("ANTHROPIC_API_KEY", "sk-1\n"), ("ANTHROPIC_BASE_URL", "http://localhost:1")]);
    let (groups, problems) = environment.groups();
    assert!(problems.is_empty());
    assert_eq!(groups.len(), 1);
    let expected = serde_json::json!({"provider": "anthropic", "apiKey": "sk-1", "baseUrl": "http://localhost:1"});
    assert_eq!(groups[0].entry, expected);
    assert_eq!(groups[0].origin, Origin::Environment(vec!["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"]));
}

#[test]
fn a_group_with_a_key_comes_before_one_without() {
    let both = environment(&[("ANTHROPIC_BASE_URL", "http://h"), ("OPENAI_API_KEY", "k")]);
    assert_eq!(names(&both), ["env-openai", "env-anthropic"]);
    let both = environment(&[("ANTHROPIC_API_KEY", "k"), ("OPENAI_API_KEY", "k")]);
    assert_eq!(names(&both), ["env-anthropic", "env-openai"]);
}

#[test]
fn a_key_is_not_sent_to_the_public_address_if_its_own_is_invalid() {
    let environment = environment(&[("OPENAI_API_KEY", "sk-hunter2"), ("OPENAI_BASE_URL", "u:hunter2@nowhere")]);
    let (groups, problems) = environment.groups();
    assert!(groups.is_empty());
    let sentence = problems[0].to_string();
    let expected = "the variable OPENAI_BASE_URL: the auth group env-openai is ignored: this must be a URL";
    assert!(sentence.starts_with(expected), "{sentence}");
    assert_eq!(problems[0].severity(), Severity::Warning);
    assert!(!sentence.contains("hunter2"));
    assert!(!format!("{environment:?}").contains("hunter2"));
}
