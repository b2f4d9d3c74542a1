use super::*;
use crate::model::event::AssistantText;
use crate::model::{Body, Event};
use crate::theme::Glyphs;
use crate::ui::testing::{Screen, event, task};
use crate::ui::transcript::search::{Direction, SearchProgress};
use crate::ui::transcript::view::found;

const HEIGHT: usize = 12;

fn page(width: usize) -> Page<'static> {
    static ZONE: jiff::tz::TimeZone = jiff::tz::TimeZone::UTC;
    Page { width, unfolded: false, glyphs: &Glyphs::UNICODE, zone: &ZONE }
}

fn said(number: u128, words: &str) -> Event {
    event(number, 0, Body::AssistantText(AssistantText { text: words.to_owned() }))
}

fn searched(events: &[Event], more: bool, words: &str) -> Transcript {
    let mut transcript = Transcript::new(task(2));
    transcript.on_page(None, events, more);
    transcript.search_mut().field.insert(words);
    transcript
}

/// Counts to the end. Returns the number of chunks.
fn counted(transcript: &mut Transcript, page: &Page<'_>) -> usize {
    (1..1_000).find(|_| transcript.count_next_chunk(page)).expect("it ends")
}

#[test]
fn matches_are_numbered_and_all_reachable() {
    let events: Vec<_> =
        (1..=30).map(|n| said(n, if n % 3 == 0 { "a needle\n\nand a needle" } else { "hay" })).collect();
    let mut transcript = searched(&events, false, "needle");
    let page = page(80);
    counted(&mut transcript, &page);
    let mut seen = Vec::new();
    for _ in 0..21 {
        assert_eq!(transcript.find(Direction::Forward, &page, HEIGHT), SearchProgress::Found);
        seen.push(found(&transcript).unwrap());
    }
    let first = seen[0].split('/').next().unwrap().parse::<usize>().unwrap();
    let wanted: Vec<_> = (0..21).map(|step| format!("{}/20", (first - 1 + step) % 20 + 1)).collect();
    assert_eq!(seen, wanted);
    transcript.find(Direction::Backward, &page, HEIGHT);
    assert_eq!(found(&transcript).as_ref(), Some(&seen[19]));
}

#[test]
fn new_and_unfolded_entries_update_the_count() {
    let mut transcript = searched(&[said(1, "needle"), said(2, "hay")], true, "needle");
    let page = page(80);
    counted(&mut transcript, &page);
    assert_eq!(found(&transcript).as_deref(), Some("1+"), "further up there may be more");
    transcript.on_event(&said(3, "another needle"));
    transcript.check_count(&page);
    assert!(transcript.is_counting());
    counted(&mut transcript, &page);
    assert_eq!(found(&transcript).as_deref(), Some("2+"));
    let first = said(1, "").id;
    transcript.wants_older(true);
    transcript.on_page(Some(first), &[said(0, "needle needle")], false);
    counted(&mut transcript, &page);
    assert_eq!(found(&transcript).as_deref(), Some("3"));
    transcript.search_mut().field.set("no such thing");
    counted(&mut transcript, &page);
    assert_eq!(found(&transcript).as_deref(), Some("not found"));
}

#[test]
fn late_result_is_counted() {
    let ids = crate::ui::testing::Ids::default();
    let events = crate::ui::testing::events(ids.login);
    let all = events.len();
    let of = |count: usize| {
        let mut transcript = searched(&events[..count], false, "passed");
        let page = page(80);
        counted(&mut transcript, &page);
        for event in &events[count..] {
            transcript.on_event(event);
        }
        counted(&mut transcript, &page);
        transcript.match_position().unwrap().total
    };
    assert!(of(all) > 0);
    for count in 1..all {
        assert_eq!(of(count), of(all), "after {count} events");
    }
}

#[test]
fn a_hundred_thousand_entries_are_counted_in_bounded_steps() {
    let events: Vec<_> =
        (1..=100_000).map(|n| said(n, if n % 50 == 0 { "needle" } else { "hay, and more hay" })).collect();
    let mut transcript = searched(&events, false, "needle");
    let page = page(80);
    let before = transcript.layouts_made();
    let steps = counted(&mut transcript, &page);
    assert_eq!(found(&transcript).as_deref(), Some("2000"));
    assert!(steps >= 2_000 / 17, "{steps} steps: no step may lay out more than a few");
    assert_eq!(transcript.layouts_made(), before, "what is read keeps its layouts");
    let mut many = searched(&(1..=12_000).map(|n| said(n, "needle")).collect::<Vec<_>>(), false, "needle");
    counted(&mut many, &page);
    assert_eq!(found(&many).as_deref(), Some("9999+"));
}

#[test]
fn foot_line_shows_match_position_and_key() {
    let mut screen = Screen::new(120, 40);
    let task = screen.ids().login;
    screen.select(task);
    screen.keys("esc enter /").typed("cargo").keys("enter");
    while screen.model.is_searching() {
        screen.msg(crate::ui::Msg::Tick);
    }
    assert!(screen.shows("/cargo  3/3"), "{}", screen.text());
    assert!(screen.shows("n next match") && screen.shows("N previous match"), "{}", screen.text());
    screen.keys("n");
    assert!(screen.shows("/cargo  1/3"), "{}", screen.text());
    assert_eq!(screen.model.next_tick(screen.now).filter(|at| *at <= screen.now), None, "nothing ticks for it");
    screen.keys("esc");
    assert!(!screen.shows("/3") && !screen.shows("next match"), "{}", screen.text());
}
