use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::*;

fn wayland() -> Surroundings {
    Surroundings { display: Display::Wayland, ..Surroundings::default() }
}

fn names(steps: &[Step]) -> Vec<&str> {
    steps
        .iter()
        .map(|step| match step {
            Step::Program { program, .. } => *program,
            Step::Terminal(_) => "terminal",
        })
        .collect()
}

#[test]
fn the_program_of_the_session_comes_first_and_the_terminal_last() {
    assert_eq!(names(&plan("x", &wayland(), |_| true).unwrap()), ["wl-copy", "terminal"]);
    let x11 = Surroundings { display: Display::X11, ..Surroundings::default() };
    assert_eq!(names(&plan("x", &x11, |program| program == "xsel").unwrap()), ["xsel", "terminal"]);
    assert_eq!(names(&plan("x", &wayland(), |_| false).unwrap()), ["terminal"]);
}

#[test]
fn on_another_machine_only_the_terminal_is_asked() {
    let remote = Surroundings { is_remote: true, ..wayland() };
    assert_eq!(names(&plan("x", &remote, |_| true).unwrap()), ["terminal"]);
    let inside = Surroundings { multiplexer: Some(Multiplexer::Tmux), ..remote };
    assert_eq!(names(&plan("x", &inside, |_| true).unwrap()), ["tmux", "terminal"]);
}

#[test]
fn the_sequence_holds_the_text_whatever_is_in_it() {
    let text = "a\x1b]52;c;x\x07\n漢🙂";
    let steps = plan(text, &Surroundings::default(), |_| false).unwrap();
    let [Step::Terminal(bytes)] = steps.as_slice() else { panic!("{steps:?}") };
    let inner = std::str::from_utf8(bytes).unwrap();
    let encoded = inner.strip_prefix("\x1b]52;c;").unwrap().strip_suffix("\x1b\\").unwrap();
    assert_eq!(STANDARD.decode(encoded).unwrap(), text.as_bytes());
}

#[test]
fn tmux_gets_it_wrapped() {
    let inside = Surroundings { multiplexer: Some(Multiplexer::Tmux), ..Surroundings::default() };
    let steps = plan("hi", &inside, |_| false).unwrap();
    assert_eq!(steps, [Step::Terminal(b"\x1bPtmux;\x1b\x1b]52;c;aGk=\x1b\x1b\\\x1b\\".to_vec())]);
}

#[test]
fn too_much_for_the_terminal_is_said_unless_a_program_takes_it() {
    let large = "x".repeat(200_000);
    let error = plan(&large, &Surroundings::default(), |_| true).unwrap_err();
    assert_eq!(
        error.to_string(),
        "200.0 KB are too much to copy through the terminal, which takes 75.0 KB: copy a smaller part, or open it in \
         the pager"
    );
    assert_eq!(names(&plan(&large, &wayland(), |_| true).unwrap()), ["wl-copy"]);
    assert_eq!(plan("", &wayland(), |_| true), Err(ClipboardError::Empty));
    let largest = "x".repeat(75_000);
    assert!(plan(&largest, &Surroundings::default(), |_| true).is_ok());
}
