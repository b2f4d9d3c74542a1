use super::*;
use crate::base::keys::{Modifiers, MouseButton};

fn keys(text: &str) -> Vec<ReaderEvent> {
    text.chars()
        .map(|char| match char {
            '\n' => Key::plain(KeyCode::Enter),
            '\t' => Key::plain(KeyCode::Tab),
            char => Key::char(char),
        })
        .map(|key| ReaderEvent::Input(Input::Key(key)))
        .collect()
}

fn coalesced(events: Vec<ReaderEvent>) -> Vec<ReaderEvent> {
    Coalescer::default().coalesce(events)
}

fn paste(text: &str) -> ReaderEvent {
    ReaderEvent::Input(Input::Paste(text.to_owned()))
}

#[test]
fn several_lines_at_once_are_a_paste() {
    assert_eq!(coalesced(keys("fn main() {\n\tbody\n}\n")), [paste("fn main() {\n\tbody\n}\n")]);
}

#[test]
fn a_line_feed_inside_a_paste_is_a_line_break() {
    let mut events = keys("first line");
    events.push(ReaderEvent::Input(Input::Key(Key::ctrl('j'))));
    events.extend(keys("second"));
    assert_eq!(coalesced(events), [paste("first line\nsecond")]);
}

#[test]
fn plausible_typing_stays_keys() {
    for text in ["hello", "yes\n", "a long line that ends with enter\n", "y\nn\n", "\n\n\n\n\n\n\n\n\n\n", "one line"] {
        assert_eq!(coalesced(keys(text)), keys(text), "{text:?}");
    }
}

#[test]
fn seven_characters_are_keys_and_eight_are_a_paste() {
    assert_eq!(coalesced(keys("abc\ndef")), keys("abc\ndef"));
    assert_eq!(coalesced(keys("abc\ndefg")), [paste("abc\ndefg")]);
}

#[test]
fn a_command_key_ends_the_text_before_it() {
    let mut events = keys("abc\n");
    events.push(ReaderEvent::Input(Input::Key(Key::ctrl('x'))));
    events.extend(keys("defgh\n"));
    assert_eq!(coalesced(events.clone()), events);
}

#[test]
fn nothing_is_guessed_once_the_terminal_brackets_its_pastes() {
    let mut coalescer = Coalescer::default();
    coalescer.coalesce(vec![paste("x")]);
    assert_eq!(coalescer.coalesce(keys("several\nlines\n")), keys("several\nlines\n"));
}

#[test]
fn only_the_last_of_many_movements_counts() {
    let drag = |column, mods| {
        ReaderEvent::Input(Input::Mouse(Mouse { kind: MouseKind::Drag(MouseButton::Left), column, row: 1, mods }))
    };
    let none = Modifiers::NONE;
    assert_eq!(coalesced(vec![drag(1, none), drag(2, none), drag(3, none)]), [drag(3, none)]);
    assert_eq!(coalesced(vec![drag(1, none), drag(2, Modifiers::CTRL)]).len(), 2);
    let wheel = ReaderEvent::Input(Input::Mouse(Mouse { kind: MouseKind::ScrollUp, column: 1, row: 1, mods: none }));
    assert_eq!(coalesced(vec![wheel.clone(), wheel.clone()]), [wheel.clone(), wheel], "every notch counts");
    let size = |columns| ReaderEvent::Input(Input::Resize(columns, 24));
    assert_eq!(coalesced(vec![size(80), size(81), size(82)]), [size(82)]);
}
