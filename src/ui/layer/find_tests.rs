use jiff::tz::TimeZone;

use super::*;
use crate::base::EventId;
use crate::model::search::Place;

fn now() -> Timestamp {
    "2026-11-16T12:00:00Z".parse().unwrap()
}

fn nobody(_: &str) -> Option<TaskId> {
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
        place: Place::Said,
        at: now(),
        excerpt: excerpt.to_owned(),
        marks: Vec::new(),
        rewound: false,
    }
}

fn typed(find: &mut Find, text: &str) -> Option<Question> {
    find.field.set(text);
    find.ask(now(), &TimeZone::UTC, nobody)
}

#[test]
fn what_narrows_is_taken_out_of_the_words_and_what_does_not_stays_a_word() {
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
fn only_the_answer_to_what_is_written_now_is_shown() {
    let mut find = Find::default();
    let first = typed(&mut find, "pars").unwrap();
    let second = typed(&mut find, "parser").unwrap();
    find.answer(&first, Ok(Found { hits: vec![hit("old")], more: false }));
    assert!(find.hits().is_empty());
    assert_eq!(find.state(), "looking…");
    find.answer(&second, Ok(Found { hits: vec![hit("new")], more: false }));
    assert_eq!(find.chosen().unwrap().excerpt, "new");
}

#[test]
fn an_empty_line_asks_nothing_and_shows_nothing() {
    let mut find = Find::default();
    let question = typed(&mut find, "x").unwrap();
    find.answer(&question, Ok(Found { hits: vec![hit("x")], more: true }));
    assert_eq!(find.state(), "there is more: another word narrows it");
    assert_eq!(typed(&mut find, "  "), None);
    assert!(find.hits().is_empty());
}

#[test]
fn a_failure_is_said_where_the_list_would_be() {
    let mut find = Find::default();
    let question = typed(&mut find, "x").unwrap();
    find.answer(&question, Err("the disk is gone".to_owned()));
    assert_eq!(find.problem.as_deref(), Some("the disk is gone"));
}
