use super::*;

fn detect(vars: &[(&str, &str)]) -> ColourDepth {
    ColourDepth::detect(|name| vars.iter().find(|(var, _)| *var == name).map(|(_, value)| (*value).to_owned()))
}

#[test]
fn the_depth_is_detected_from_the_environment() {
    use ColourDepth::{Ansi16, Ansi256, None, True};
    for (vars, depth) in [
        (&[][..], None),
        (&[("TERM", "dumb"), ("COLORTERM", "truecolor")], None),
        (&[("TERM", "xterm")], Ansi16),
        (&[("TERM", "linux")], Ansi16),
        (&[("TERM", "xterm-256color")], Ansi256),
        (&[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")], True),
        (&[("TERM", "xterm-256color"), ("COLORTERM", "24bit")], True),
        (&[("TERM", "xterm-direct")], True),
        (&[("TERM", "xterm-kitty")], True),
        (&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "Apple_Terminal")], Ansi256),
        (&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "vscode")], True),
        (&[("TERM", "xterm-256color"), ("WT_SESSION", "x")], True),
        // GNU screen passes no true colour on, whatever the outer terminal said.
        (&[("TERM", "screen-256color"), ("COLORTERM", "truecolor")], Ansi256),
        (&[("TERM", "screen"), ("COLORTERM", "truecolor")], Ansi16),
        // tmux sets COLORTERM itself when it can.
        (&[("TERM", "tmux-256color"), ("TMUX", "/s"), ("COLORTERM", "truecolor")], True),
        (&[("TERM", "screen-256color"), ("TMUX", "/s"), ("COLORTERM", "truecolor")], True),
        (&[("TERM", "tmux-256color"), ("TMUX", "/s")], Ansi256),
        (&[("TERM", "xterm-256color"), ("NO_COLOR", "1"), ("COLORTERM", "truecolor")], None),
        (&[("TERM", "xterm-256color"), ("NO_COLOR", "")], Ansi256),
    ] {
        assert_eq!(detect(vars), depth, "{vars:?}");
    }
}

#[test]
fn a_background_is_dark_or_light() {
    assert_eq!(Appearance::of(Rgb(0, 43, 54)), Appearance::Dark);
    assert_eq!(Appearance::of(Rgb(253, 246, 227)), Appearance::Light);
}
