use super::*;
use crate::agent::testing::*;
use crate::model::message::MessageSource;
use crate::model::resume::{self, Resume};

#[test]
fn a_repair_answers_every_orphan_with_an_unknown_outcome() {
    let orphans = [("a", "bash"), ("b", "search")]
        .map(|(id, name)| OpenCall { call: id.to_owned(), name: crate::tools::names::wire(name) });
    let bodies = repair(&orphans);
    let results: Vec<_> = bodies
        .iter()
        .filter_map(|body| match body {
            Body::ToolResult(result) => Some(result),
            _ => None,
        })
        .collect();
    assert_eq!(results.iter().map(|result| result.call.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    for result in results {
        let text = text_of(result);
        assert!(
            result.is_error && text.contains("not known whether it took effect") && text.contains("Check"),
            "{text}"
        );
    }
    let Some(Body::Repaired(note)) = bodies.last() else { panic!("no note") };
    assert!(note.steps[0].contains("bash") && note.steps[0].contains("search"));
}

#[test]
fn a_repaired_log_needs_no_repair() {
    let ids = ids();
    let hello = message(&ids, MessageSource::User, "Hello");
    let taken = consumed(&hello);
    let bodies: Vec<Body> = vec![hello.into(), taken, call("a", "bash").into(), call("b", "bash").into()];
    let mut events: Vec<_> = bodies.into_iter().map(|body| event(&ids, body)).collect();
    let Resume::NeedsRepair { orphans } = resume::classify(&events) else { panic!("nothing to repair") };
    events.extend(repair(&orphans).into_iter().map(|body| event(&ids, body)));
    assert_eq!(resume::classify(&events), Resume::Interrupted);
}
