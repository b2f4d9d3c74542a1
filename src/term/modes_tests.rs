use super::*;

const ALL: [Mode; 8] = [
    Mode::Title,
    Mode::AlternateScreen,
    Mode::BracketedPaste,
    Mode::FocusEvents,
    Mode::KittyKeys,
    Mode::SchemeReports,
    Mode::Mouse,
    Mode::WheelAsArrows,
];

#[test]
fn every_private_mode_that_is_set_is_unset_or_put_back() {
    for mode in ALL {
        let set = mode.set();
        for sequence in set.split('\x1b').filter_map(|part| part.strip_prefix("[?")) {
            let number = sequence.trim_end_matches(['h', 's']);
            let off = format!("\x1b[?{number}l");
            let back = format!("\x1b[?{number}r");
            assert!(mode.unset().contains(&off) || mode.unset().contains(&back), "{mode:?}: {sequence}");
        }
        assert!(!mode.unset().is_empty(), "{mode:?} has no way back");
    }
}

#[test]
fn modes_are_left_in_reverse_so_that_the_key_stack_of_the_shell_is_never_touched() {
    let modes = [Mode::Title, Mode::AlternateScreen, Mode::KittyKeys];
    let text = String::from_utf8(leave_sequence(&modes)).unwrap();
    let at = |mode: Mode| text.find(&mode.unset()).unwrap();
    assert!(at(Mode::KittyKeys) < at(Mode::AlternateScreen), "the keys belong to the alternate screen");
    assert!(at(Mode::AlternateScreen) < at(Mode::Title));
    assert!(text.find("\x1b[?2026l").unwrap() < at(Mode::KittyKeys), "a cut frame is ended first");
    assert!(text.contains("\x1b[?25h"));
}

#[test]
fn reapplying_modes_pushes_nothing_twice() {
    let text = String::from_utf8(reapply_sequence(&ALL)).unwrap();
    assert!(text.contains("\x1b[?2004h"));
    for pushed in ["\x1b[>1u", "\x1b[22;2t", "\x1b[?1049h", "\x1b[?1007s"] {
        assert!(!text.contains(pushed), "{pushed:?}");
    }
}
