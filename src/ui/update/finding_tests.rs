//! Search over everything, by keys.

use super::*;
use crate::base::{EventId, TaskId, Timestamp};
use crate::model::{Body, Event};
use crate::ui::testing::{Screen, events};
use crate::ui::{Effect, Msg};

fn asked(screen: &Screen) -> Question {
    let asked = screen.effects.iter().rev().find_map(|effect| match effect {
        Effect::Search { question } => Some(question.clone()),
        _ => None,
    });
    asked.unwrap()
}

fn hit(task: TaskId, event: Option<EventId>, place: Place, excerpt: &str, word: &str) -> Hit {
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
    screen.msg(Msg::Found { asked, found: Ok(Found { hits, more: false }) });
}

/// Returns an event of the task in which its agent speaks, and a word of it.
fn spoken(task: TaskId) -> (Event, String) {
    let said = events(task).into_iter().find_map(|event| match &event.body {
        Body::AssistantText(said) => Some((said.text.split_whitespace().next()?.to_owned(), event)),
        _ => None,
    });
    let (word, event) = said.unwrap();
    (event, word)
}

#[test]
fn what_is_looked_for_in_one_place_is_looked_for_everywhere_with_one_key() {
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
fn one_key_opens_it_from_anywhere_and_each_letter_asks_anew() {
    let mut screen = Screen::new(120, 40);
    screen.keys("ctrl-o").typed("pars");
    assert!(screen.shows("search everything"));
    assert_eq!(asked(&screen).words, "pars");
    let old = asked(&screen);
    screen.typed("e");
    assert_eq!(asked(&screen).words, "parse");
    let task = screen.ids().login;
    let late = Found { hits: vec![hit(task, None, Place::Title, "an old answer", "old")], more: false };
    screen.msg(Msg::Found { asked: old, found: Ok(late) });
    assert!(!screen.shows("an old answer"));
    answer(&mut screen, vec![hit(task, None, Place::Title, "the parser", "parse")]);
    assert!(screen.shows("the parser"));
    screen.keys("esc").keys("esc").keys("S");
    assert!(screen.shows("what was it about?"), "with a letter too, where nothing is written");
}

#[test]
fn choosing_goes_to_the_event_and_marks_the_word() {
    let mut screen = Screen::new(120, 40);
    let task = screen.ids().login;
    let (event, word) = spoken(task);
    screen.keys("ctrl-o").typed("x");
    answer(&mut screen, vec![hit(task, Some(event.id), Place::Said, &format!("… {word} …"), &word)]);
    screen.keys("enter");
    assert!(!screen.shows("search everything"));
    assert_eq!(screen.model.selected(), task);
    let transcript = screen.model.detail.transcript(task).unwrap();
    assert!(transcript.has_cursor() && !transcript.is_following());
    assert_eq!(transcript.search().field.content(), word);
}

#[test]
fn an_event_far_back_is_read_for_with_growing_steps() {
    let mut screen = Screen::new(120, 40);
    screen.answers = false;
    let task = screen.ids().login;
    let all = events(task);
    let (wanted, last) = (all[0].id, all.len() - 1);
    screen.keys("ctrl-o").typed("x");
    answer(&mut screen, vec![hit(task, Some(wanted), Place::Said, "a word", "word")]);
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
fn a_description_is_shown_and_what_is_gone_or_rewound_is_said() {
    let mut screen = Screen::new(120, 40);
    let task = screen.ids().login;
    screen.keys("ctrl-o").typed("x");
    let gone = "01KA5M0000000000000000000A".parse().unwrap();
    answer(&mut screen, vec![hit(gone, None, Place::Title, "gone", "gone")]);
    screen.keys("enter");
    assert!(screen.shows("that task is gone"));
    screen.typed("y");
    let rewound = Hit { rewound: true, ..hit(task, None, Place::Said, "rewound words", "rewound") };
    answer(&mut screen, vec![rewound]);
    screen.keys("enter");
    assert!(screen.shows("the conversation was"), "{}", screen.text());
    screen.typed("z");
    answer(&mut screen, vec![hit(task, None, Place::Description, "a description", "desc")]);
    screen.keys("enter");
    assert_eq!(screen.model.detail.tab, Tab::Description);
}

#[test]
fn words_from_outside_steer_no_terminal() {
    let mut screen = Screen::new(120, 40);
    let task = screen.ids().login;
    screen.keys("ctrl-o").typed("x");
    let mut hostile = hit(task, None, Place::Title, "a \u{1b}]52;c;aGk=\u{7}needle\u{202e}\n\u{1b}[31m b", "needle");
    hostile.title = "\u{1b}[2Jtitle\u{9b}31m".to_owned();
    answer(&mut screen, vec![hostile]);
    let text = screen.text();
    assert!(text.contains("needle") && text.contains("title"));
    assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}', '\u{9b}']) && !text.contains("52;c"));
}

#[test]
fn whoever_does_not_wait_is_taken_to_what_was_typed_last() {
    let mut screen = Screen::new(120, 40);
    let (login, docs) = (screen.ids().login, screen.ids().docs);
    screen.keys("ctrl-o").typed("par");
    answer(&mut screen, vec![hit(login, None, Place::Title, "the parrot", "par")]);
    screen.typed("ser").keys("enter");
    assert!(screen.shows("search everything"), "what is shown is not what was typed");
    answer(&mut screen, vec![hit(docs, None, Place::Title, "the parser", "parser")]);
    assert!(screen.model.layers.is_empty() && screen.model.selected() == docs, "{}", screen.text());

    // Nothing found is seen; and who goes on typing has changed their mind.
    screen.keys("ctrl-o").typed("x").keys("enter");
    answer(&mut screen, Vec::new());
    assert!(screen.shows("nothing was found"), "{}", screen.text());
    screen.typed("y").keys("enter").typed("z");
    answer(&mut screen, vec![hit(login, None, Place::Title, "xyz", "xyz")]);
    assert!(screen.shows("search everything") && screen.model.selected() == docs, "{}", screen.text());
}
