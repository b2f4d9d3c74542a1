use super::*;
use crate::base::keys::{Modifiers, MouseButton};

fn keys(text: &str) -> Vec<Heard> {
    text.chars()
        .map(|char| match char {
            '\n' => Key::plain(KeyCode::Enter),
            '\t' => Key::plain(KeyCode::Tab),
            char => Key::char(char),
        })
        .map(|key| Heard::Input(Input::Key(key)))
        .collect()
}

fn gathered(heard: Vec<Heard>) -> Vec<Heard> {
    Gatherer::default().gather(heard)
}

fn paste(text: &str) -> Heard {
    Heard::Input(Input::Paste(text.to_owned()))
}

#[test]
fn several_lines_at_once_are_a_paste() {
    assert_eq!(gathered(keys("fn main() {\n\tbody\n}\n")), [paste("fn main() {\n\tbody\n}\n")]);
}

#[test]
fn a_line_feed_inside_a_burst_is_a_line_break() {
    let mut heard = keys("first line");
    heard.push(Heard::Input(Input::Key(Key::ctrl('j'))));
    heard.extend(keys("second"));
    assert_eq!(gathered(heard), [paste("first line\nsecond")]);
}

#[test]
fn what_fingers_can_do_stays_keys() {
    for text in ["hello", "yes\n", "a long line that ends with enter\n", "y\nn\n", "\n\n\n\n\n\n\n\n\n\n", "one line"] {
        assert_eq!(gathered(keys(text)), keys(text), "{text:?}");
    }
}

#[test]
fn seven_characters_are_keys_and_eight_are_a_paste() {
    assert_eq!(gathered(keys("abc\ndef")), keys("abc\ndef"));
    assert_eq!(gathered(keys("abc\ndefg")), [paste("abc\ndefg")]);
}

#[test]
fn a_command_key_ends_the_text_before_it() {
    let mut heard = keys("abc\n");
    heard.push(Heard::Input(Input::Key(Key::ctrl('x'))));
    heard.extend(keys("defgh\n"));
    assert_eq!(gathered(heard.clone()), heard);
}

#[test]
fn nothing_is_guessed_once_the_terminal_brackets_its_pastes() {
    let mut gatherer = Gatherer::default();
    gatherer.gather(vec![paste("x")]);
    assert_eq!(gatherer.gather(keys("several\nlines\n")), keys("several\nlines\n"));
}

#[test]
fn only_the_last_of_many_movements_counts() {
    let drag = |column, mods| {
        Heard::Input(Input::Mouse(Mouse { kind: MouseKind::Drag(MouseButton::Left), column, row: 1, mods }))
    };
    let none = Modifiers::NONE;
    assert_eq!(gathered(vec![drag(1, none), drag(2, none), drag(3, none)]), [drag(3, none)]);
    assert_eq!(gathered(vec![drag(1, none), drag(2, Modifiers::CTRL)]).len(), 2);
    let wheel = Heard::Input(Input::Mouse(Mouse { kind: MouseKind::ScrollUp, column: 1, row: 1, mods: none }));
    assert_eq!(gathered(vec![wheel.clone(), wheel.clone()]), [wheel.clone(), wheel], "every notch counts");
    let size = |columns| Heard::Input(Input::Resize(columns, 24));
    assert_eq!(gathered(vec![size(80), size(81), size(82)]), [size(82)]);
}
