use jiff::tz::TimeZone;

use super::*;
use crate::base::EventId;
use crate::model::search::HitKind;

fn now() -> Timestamp {
    "2026-11-16T12:00:00Z".parse().unwrap()
}

fn no_task(_: &str) -> Option<TaskId> {
    None
}

fn task() -> TaskId {
    "01KA5M0000000000000000000A".parse().unwrap()
}

fn hit(excerpt: &str) -> Hit {
    Hit {
        task: task(),
        title: "A task".to_owned(),
        event: Some("01KA5M0000000000000000000B".parse::<EventId>().unwrap()),
        place: HitKind::AgentText,
        at: now(),
        excerpt: excerpt.to_owned(),
        marks: Vec::new(),
        rewound: false,
    }
}

fn typed(find: &mut Find, text: &str) -> Option<SearchQuery> {
    find.field.set(text);
    find.ask(now(), &TimeZone::UTC, no_task)
}

#[test]
fn filters_are_parsed_and_invalid_ones_stay_words() {
    let known = |name: &str| (name == "01KA5M00").then(task);
    let question = question("parse since:2d task:01KA5M00 error", now(), &TimeZone::UTC, known);
    assert_eq!(question.words, "parse error");
    assert_eq!(question.since, Some("2026-11-14T12:00:00Z".parse().unwrap()));
    assert_eq!(question.below, Some(task()));
    let odd = super::question("since:ever task:none until: std::fs", now(), &TimeZone::UTC, known);
    assert_eq!(odd.words, "since:ever task:none until: std::fs");
    assert_eq!((odd.since, odd.until, odd.below), (None, None, None));
}

#[test]
fn results_of_older_queries_are_ignored() {
    let mut find = Find::default();
    let first = typed(&mut find, "pars").unwrap();
    let second = typed(&mut find, "parser").unwrap();
    find.answer(&first, Ok(SearchResults { hits: vec![hit("old")], more: false }));
    assert!(find.hits().is_empty());
    assert_eq!(find.state(), "searching…");
    find.answer(&second, Ok(SearchResults { hits: vec![hit("new")], more: false }));
    assert_eq!(find.chosen().unwrap().excerpt, "new");
}

#[test]
fn empty_query_shows_nothing() {
    let mut find = Find::default();
    let question = typed(&mut find, "x").unwrap();
    find.answer(&question, Ok(SearchResults { hits: vec![hit("x")], more: true }));
    assert_eq!(find.state(), "more matches: add a word to narrow it");
    assert_eq!(typed(&mut find, "  "), None);
    assert!(find.hits().is_empty());
}

#[test]
fn failed_search_shows_its_reason() {
    let mut find = Find::default();
    let question = typed(&mut find, "x").unwrap();
    find.answer(&question, Err("the disk is gone".to_owned()));
    assert_eq!(find.problem.as_deref(), Some("the disk is gone"));
}
