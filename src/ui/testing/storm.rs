//! Fuzzes the screen with any key, size, update and text. Nothing panics, every position stays valid, and no control
//! sequence gets into a cell.

use std::sync::Arc;

use proptest::prelude::*;
use ulid::Ulid;

use crate::base::keys::{Chord, Input, Key, Modifiers, Mouse, MouseButton, MouseKind};
use crate::base::{AskId, MessageId};
use crate::engine::snapshot::{DiffStat, Retry, Wait};
use crate::engine::update::{Level, Notice, Update};
use crate::model::ask::Choice;
use crate::model::event::{AssistantText, ErrorNote};
use crate::model::live::{Activity, Channel};
use crate::model::message::{Message, MessageSource};
use crate::model::task::Status;
use crate::model::{Body, Live};
use crate::text::diff::between;
use crate::ui::action::TABLE;
use crate::ui::review::testing as review;
use crate::ui::testing::{Screen, event, task};
use crate::ui::{Msg, Tag};

const NASTY: &[&str] = &[
    "",
    "plain words",
    "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m",
    "日本語 と 👩‍👩‍👧 and e\u{301}\u{302}\u{303}",
    "עברית \u{202e}gnirts\u{202c} \u{200b}\u{feff}",
    "tab\there\r\nand\rthere\0end\u{7f}",
    "# heading\n\n```rust\nfn main() { println!(\"hi\"); }\n```\n| a | b |\n|---|---|\n| 1 | 2 |\n> quote\n- [ ] box",
    "one_very_long_word_without_any_place_to_break_it_at_all_that_is_wider_than_most_panes_are_on_most_screens_of_today",
    "line\nline\nline\nline\nline\nline\nline\nline\nline\nline\nline\nline\nline\nline\nline\nline\nline\nline\nline",
];

fn text(which: u8) -> String {
    NASTY[usize::from(which) % NASTY.len()].to_owned()
}

fn key(which: u16) -> Vec<Key> {
    let keys: Vec<&str> = TABLE.iter().flat_map(|entry| entry.keys.iter().copied()).collect();
    let chord: Chord = keys[usize::from(which) % keys.len()].parse().unwrap();
    chord.keys().to_vec()
}

fn change(screen: &Screen, which: u8, how: u8) -> Option<Update> {
    let id = task(u128::from(which % 10) + 1);
    let mut view = screen.model.project.task(id)?.clone();
    match how % 9 {
        0 => view.node.title = text(how / 9),
        1 => view.node.description = text(how / 9),
        2 => {
            let all = [Activity::Idle, Activity::Tool, Activity::Thinking, Activity::Retrying];
            view.activity = all[usize::from(how / 9) % 4];
        }
        3 => view.node.status = Status::ALL[usize::from(how / 9) % 6],
        4 => {
            let mut ask = screen.model.project.task(task(4)).and_then(|view| view.asks.first().cloned())?;
            ask.id = AskId::from_ulid(Ulid::from_parts(3, u128::from(how)));
            ask.question = text(how / 9);
            ask.detail = text(how / 3);
            ask.choices = Choice::options(vec![text(how / 5); usize::from(how % 12)]);
            ask.deadline = Some(screen.now);
            view.asks.push(ask);
        }
        5 => view.asks.clear(),
        6 => {
            let id = MessageId::from_ulid(Ulid::from_parts(3, u128::from(how)));
            view.unread.push(Message::new(id, screen.now, MessageSource::User, text(how / 9)));
        }
        7 => {
            view.retry = Some(Retry { attempt: 1, of: 3, until: screen.now, reason: text(how / 9) });
            view.waits = Some(Wait::Stalled { chain: vec![id, task(99)], reason: text(how / 9) });
        }
        _ => view.diff = Some(DiffStat { files: 1, added: 7, removed: 0, dirty: true }),
    }
    Some(Update::Task { task: Box::new(view) })
}

/// Applies the next random event.
fn step(screen: &mut Screen, (kind, a, b, c): (u8, u16, u8, u8), number: u128) {
    let id = task(u128::from(b % 10) + 1);
    match kind % 14 {
        0..5 => {
            for key in key(a) {
                screen.msg(Msg::Input(Input::Key(key)));
            }
        }
        5 => drop(screen.typed(&text(b).replace(char::is_control, ""))),
        6 => drop(screen.paste(&text(b).repeat(usize::from(c)))),
        7 => drop(screen.resize(a % 220, u16::from(b % 70))),
        8 => {
            if let Some(update) = change(screen, b, c) {
                screen.engine(update);
            }
        }
        9 => {
            let body = if c % 2 == 0 {
                Body::AssistantText(AssistantText { text: text(c / 2) })
            } else {
                Body::Error(ErrorNote { class: "network".to_owned(), message: text(c / 2), attempt: None })
            };
            screen.engine(Update::Event { task: id, event: Arc::new(event(10_000 + number, 0, body)) });
        }
        10 => {
            let live = match c % 4 {
                0 => Live::TextDelta { text: text(c / 4) },
                1 => Live::ThinkingDelta { text: text(c / 4) },
                2 => Live::OutputChunk { call: "4".to_owned(), channel: Channel::Output, text: text(c / 4) },
                _ => Live::Discarded,
            };
            screen.engine(Update::Live { task: id, live });
        }
        11 => {
            let kinds = [
                MouseKind::Press(MouseButton::Left),
                MouseKind::ScrollUp,
                MouseKind::ScrollDown,
                MouseKind::Drag(MouseButton::Left),
            ];
            let mouse = Mouse {
                kind: kinds[usize::from(c) % 4],
                column: a % 200,
                row: u16::from(b % 60),
                mods: Modifiers::NONE,
            };
            screen.msg(Msg::Input(Input::Mouse(mouse)));
        }
        12 => {
            let notice = Notice { level: Level::Warning, text: text(c), task: Some(id) };
            screen.engine(Update::Notice { notice });
            let request = screen.model.review.request();
            let mut files = if c % 3 == 0 { review::files() } else { Vec::new() };
            files.push(between(&text(c), &text(b), &text(c / 2), usize::from(b % 4)));
            screen.msg(Msg::Diff { task: id, request, answer: Ok(review::answer(files)) });
            screen.msg(Msg::Reply { tag: Tag(u64::from(b)), outcome: Err(crate::base::Fault::user(text(c))) });
        }
        _ if c == 0 => drop(screen.engine(Update::Resync)),
        _ if b % 10 > 1 => drop(screen.engine(Update::Removed { task: id })),
        _ => drop(screen.msg(Msg::Tick)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn random_events_never_break_the_screen(
        steps in prop::collection::vec(any::<(u8, u16, u8, u8)>(), 1..60),
    ) {
        let mut screen = Screen::new(120, 40);
        screen.select(task(2));
        for (number, what) in steps.into_iter().enumerate() {
            step(&mut screen, what, number as u128);
            let buffer = screen.buffer();
            let odd = buffer.content.iter().find(|cell| cell.symbol().chars().any(|c| {
                c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200b}' | '\u{feff}')
            }));
            prop_assert!(odd.is_none(), "{:?}", odd);
            prop_assert!(screen.model.project.task(screen.model.selected()).is_some(), "what is selected exists");
        }
    }
}
