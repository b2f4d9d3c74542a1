//! The search over all tasks, driven by keys.

use super::*;
use crate::base::{EventId, TaskId, Timestamp};
use crate::model::{Body, Event};
use crate::ui::testing::{Screen, events};
use crate::ui::{Effect, Msg};

fn asked(screen: &Screen) -> SearchQuery {
    let asked = screen.effects.iter().rev().find_map(|effect| match effect {
        Effect::Search { question } => Some(question.clone()),
        _ => None,
    });
    asked.unwrap()
}

fn hit(task: TaskId, event: Option<EventId>, place: HitKind, excerpt: &str, word: &str) -> Hit {
    let start = excerpt.find(word).unwrap();
    Hit {
        task,
        title: "Log in".to_owned(),
        event,
        place,
        at: Timestamp::EPOCH,
        excerpt: excerpt.to_owned(),
        marks: std::iter::once(start..start + word.len()).collect(),
        rewound: false,
    }
}

fn answer(screen: &mut Screen, hits: Vec<Hit>) {
    let asked = asked(screen);
    screen.msg(Msg::SearchResults { asked, found: Ok(SearchResults { hits, more: false }) });
}

/// Returns an event with agent text, and a word of it.
fn spoken(task: TaskId) -> (Event, String) {
    let said = events(task).into_iter().find_map(|event| match &event.body {
        Body::AssistantText(said) => Some((said.text.split_whitespace().next()?.to_owned(), event)),
        _ => None,
    });
    let (word, event) = said.unwrap();
    (event, word)
}

#[test]
fn local_search_text_is_reused_in_search_all() {
    for place in ["esc /", "esc enter /"] {
        let mut screen = Screen::new(120, 40);
        screen.keys(place).typed("parse");
        assert!(screen.shows("Ctrl-O search all"), "{place}: the key is said while somebody looks for something");
        screen.keys("ctrl-o");
        assert!(screen.shows("search everything"));
        assert_eq!(asked(&screen).words, "parse", "{place}");
        screen.typed("r");
        assert_eq!(asked(&screen).words, "parser", "{place}");
    }
    let mut screen = Screen::new(120, 40);
    screen.keys("esc");
    assert!(!screen.shows("search all"), "elsewhere it takes no room");
}

#[test]
fn search_all_queries_on_every_key() {
    let mut screen = Screen::new(120, 40);
    screen.keys("ctrl-o").typed("pars");
    assert!(screen.shows("search everything"));
    assert_eq!(asked(&screen).words, "pars");
    let old = asked(&screen);
    screen.typed("e");
    assert_eq!(asked(&screen).words, "parse");
    let task = screen.ids().login;
    let late = SearchResults { hits: vec![hit(task, None, HitKind::Title, "an old answer", "old")], more: false };
    screen.msg(Msg::SearchResults { asked: old, found: Ok(late) });
    assert!(!screen.shows("an old answer"));
    answer(&mut screen, vec![hit(task, None, HitKind::Title, "the parser", "parse")]);
    assert!(screen.shows("the parser"));
    screen.keys("esc").keys("esc").keys("S");
    assert!(screen.shows("search for…"), "with a letter too, where nothing is written");
}

#[test]
fn opening_a_result_goes_to_the_event_and_highlights() {
    let mut screen = Screen::new(120, 40);
    let task = screen.ids().login;
    let (event, word) = spoken(task);
    screen.keys("ctrl-o").typed("x");
    answer(&mut screen, vec![hit(task, Some(event.id), HitKind::AgentText, &format!("… {word} …"), &word)]);
    screen.keys("enter");
    assert!(!screen.shows("search everything"));
    assert_eq!(screen.model.selected(), task);
    let transcript = screen.model.detail.transcript(task).unwrap();
    assert!(transcript.has_cursor() && !transcript.is_following());
    assert_eq!(transcript.search().field.content(), word);
}

#[test]
fn distant_event_loads_growing_pages() {
    let mut screen = Screen::new(120, 40);
    screen.answers = false;
    let task = screen.ids().login;
    let all = events(task);
    let (wanted, last) = (all[0].id, all.len() - 1);
    screen.keys("ctrl-o").typed("x");
    answer(&mut screen, vec![hit(task, Some(wanted), HitKind::AgentText, "a word", "word")]);
    screen.keys("enter");
    screen.msg(Msg::Page { task, before: None, events: all[last..].to_vec(), more: true });
    let pages = |screen: &Screen| -> Vec<(Option<EventId>, usize)> {
        let pages = screen.effects.iter().filter_map(|effect| match effect {
            Effect::LoadPage { task: whose, before, count } if *whose == task => Some((*before, *count)),
            _ => None,
        });
        pages.collect()
    };
    assert_eq!(pages(&screen).last(), Some(&(Some(all[last].id), 300)));
    screen.msg(Msg::Page { task, before: Some(all[last].id), events: all[last - 1..last].to_vec(), more: true });
    assert_eq!(pages(&screen).last(), Some(&(Some(all[last - 1].id), 600)));
    let asked = pages(&screen).len();
    screen.msg(Msg::Page { task, before: Some(all[last - 1].id), events: all[..last - 1].to_vec(), more: false });
    assert_eq!(pages(&screen).len(), asked, "it is here");
    assert!(screen.model.detail.transcript(task).unwrap().has_cursor());
}

#[test]
fn result_in_description_or_rewound_part_is_handled() {
    let mut screen = Screen::new(120, 40);
    let task = screen.ids().login;
    screen.keys("ctrl-o").typed("x");
    let gone = "01KA5M0000000000000000000A".parse().unwrap();
    answer(&mut screen, vec![hit(gone, None, HitKind::Title, "gone", "gone")]);
    screen.keys("enter");
    assert!(screen.shows("The task no longer exists"));
    screen.typed("y");
    let rewound = Hit { rewound: true, ..hit(task, None, HitKind::AgentText, "rewound words", "rewound") };
    answer(&mut screen, vec![rewound]);
    screen.keys("enter");
    assert!(screen.shows("This was rewound."), "{}", screen.text());
    screen.typed("z");
    answer(&mut screen, vec![hit(task, None, HitKind::Description, "a description", "desc")]);
    screen.keys("enter");
    assert_eq!(screen.model.detail.tab, Tab::Description);
}

#[test]
fn results_are_sanitized() {
    let mut screen = Screen::new(120, 40);
    let task = screen.ids().login;
    screen.keys("ctrl-o").typed("x");
    let mut hostile = hit(task, None, HitKind::Title, "a \u{1b}]52;c;aGk=\u{7}needle\u{202e}\n\u{1b}[31m b", "needle");
    hostile.title = "\u{1b}[2Jtitle\u{9b}31m".to_owned();
    answer(&mut screen, vec![hostile]);
    let text = screen.text();
    assert!(text.contains("needle") && text.contains("title"));
    assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}', '\u{9b}']) && !text.contains("52;c"));
}

#[test]
fn enter_before_results_opens_the_best_one() {
    let mut screen = Screen::new(120, 40);
    let (login, docs) = (screen.ids().login, screen.ids().docs);
    screen.keys("ctrl-o").typed("par");
    answer(&mut screen, vec![hit(login, None, HitKind::Title, "the parrot", "par")]);
    screen.typed("ser").keys("enter");
    assert!(screen.shows("search everything"), "what is shown is not what was typed");
    answer(&mut screen, vec![hit(docs, None, HitKind::Title, "the parser", "parser")]);
    assert!(screen.model.layers.is_empty() && screen.model.selected() == docs, "{}", screen.text());

    // No results are shown, and further typing cancels the pending Enter.
    screen.keys("ctrl-o").typed("x").keys("enter");
    answer(&mut screen, Vec::new());
    assert!(screen.shows("no matches"), "{}", screen.text());
    screen.typed("y").keys("enter").typed("z");
    answer(&mut screen, vec![hit(login, None, HitKind::Title, "xyz", "xyz")]);
    assert!(screen.shows("search everything") && screen.model.selected() == docs, "{}", screen.text());
}
