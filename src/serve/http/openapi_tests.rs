use std::collections::BTreeSet;

use super::*;

fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(reference)) = fields.get("$ref") {
                found.insert(reference.clone());
            }
            fields.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

#[test]
fn every_reference_in_the_document_leads_to_a_schema() {
    let document = document();
    let mut found = BTreeSet::new();
    references(&document, &mut found);
    assert!(found.len() > 40, "{found:?}");
    for reference in found {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
    }
}

#[test]
fn commands_and_queries_are_described_with_their_fields() {
    let document = document();
    let command = document["components"]["schemas"]["Command"].to_string();
    for word in ["\"send\"", "\"answer\"", "\"merge\"", "\"rewind\"", "Send a user message to a task"] {
        assert!(command.contains(word), "{word} is not in {command}");
    }
    assert!(document["components"]["schemas"]["Query"].to_string().contains("\"merge_preview\""));
    assert!(document["components"]["schemas"]["TaskView"]["properties"]["asks"].is_object());
}

#[test]
fn every_operation_names_its_parameters_and_a_known_scope() {
    for operation in OPERATIONS {
        let scope = operation.scope;
        let is_known = scope.parse::<crate::serve::http::Scope>().is_ok() || ["", "-", "by command"].contains(&scope);
        assert!(is_known, "{} {}", operation.method, operation.path);
        assert!(!operation.answers.is_empty() && !operation.summary.ends_with('.'));
    }
}
