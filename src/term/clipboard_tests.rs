use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::*;

fn wayland() -> TerminalEnv {
    TerminalEnv { display: Display::Wayland, ..TerminalEnv::default() }
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
    let x11 = TerminalEnv { display: Display::X11, ..TerminalEnv::default() };
    assert_eq!(names(&plan("x", &x11, |program| program == "xsel").unwrap()), ["xsel", "terminal"]);
    assert_eq!(names(&plan("x", &wayland(), |_| false).unwrap()), ["terminal"]);
}

#[test]
fn on_a_remote_machine_only_the_terminal_is_used() {
    let remote = TerminalEnv { is_remote: true, ..wayland() };
    assert_eq!(names(&plan("x", &remote, |_| true).unwrap()), ["terminal"]);
    let inside = TerminalEnv { multiplexer: Some(Multiplexer::Tmux), ..remote };
    assert_eq!(names(&plan("x", &inside, |_| true).unwrap()), ["tmux", "terminal"]);
}

#[test]
fn the_sequence_holds_the_text_whatever_is_in_it() {
    let text = "a\x1b]52;c;x\x07\n漢🙂";
    let steps = plan(text, &TerminalEnv::default(), |_| false).unwrap();
    let [Step::Terminal(bytes)] = steps.as_slice() else { panic!("{steps:?}") };
    let inner = std::str::from_utf8(bytes).unwrap();
    let encoded = inner.strip_prefix("\x1b]52;c;").unwrap().strip_suffix("\x1b\\").unwrap();
    assert_eq!(STANDARD.decode(encoded).unwrap(), text.as_bytes());
}

#[test]
fn the_sequence_is_wrapped_for_tmux() {
    let inside = TerminalEnv { multiplexer: Some(Multiplexer::Tmux), ..TerminalEnv::default() };
    let steps = plan("hi", &inside, |_| false).unwrap();
    assert_eq!(steps, [Step::Terminal(b"\x1bPtmux;\x1b\x1b]52;c;aGk=\x1b\x1b\\\x1b\\".to_vec())]);
}

#[test]
fn too_large_a_text_is_refused_unless_a_program_takes_it() {
    let large = "x".repeat(200_000);
    let error = plan(&large, &TerminalEnv::default(), |_| true).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot copy 200.0 KB through the terminal (limit 75.0 KB): copy a smaller part, or open it in the pager"
    );
    assert_eq!(names(&plan(&large, &wayland(), |_| true).unwrap()), ["wl-copy"]);
    assert_eq!(plan("", &wayland(), |_| true), Err(ClipboardError::Empty));
    let largest = "x".repeat(75_000);
    assert!(plan(&largest, &TerminalEnv::default(), |_| true).is_ok());
}
