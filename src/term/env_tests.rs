use super::*;

fn read(variables: &[(&str, &str)]) -> TerminalEnv {
    TerminalEnv::read(|name| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
}

#[test]
fn colours_follow_what_the_terminal_promises() {
    for (variables, colours) in [
        (&[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")][..], Colours::True),
        (&[("TERM", "xterm-256color")], Colours::Ansi256),
        (&[("TERM", "xterm")], Colours::Ansi16),
        (&[("TERM", "linux")], Colours::Ansi16),
        (&[("TERM", "xterm-kitty")], Colours::True),
        (&[("TERM", "foot")], Colours::True),
        (&[("TERM", "tmux")], Colours::Ansi256),
        (&[("TERM", "screen-256color"), ("COLORTERM", "truecolor")], Colours::Ansi256),
        (&[("TERM", "vt100")], Colours::None),
        (&[("TERM", "dumb"), ("COLORTERM", "truecolor")], Colours::None),
        (&[], Colours::None),
        (&[("TERM", "")], Colours::None),
    ] {
        assert_eq!(read(variables).colours, colours, "{variables:?}");
    }
}

#[test]
fn no_color_counts_when_it_is_not_empty() {
    assert!(read(&[("TERM", "xterm"), ("NO_COLOR", "1")]).no_color);
    assert!(!read(&[("TERM", "xterm"), ("NO_COLOR", "")]).no_color);
    assert_eq!(
        read(&[("TERM", "xterm"), ("NO_COLOR", "1")]).colours,
        Colours::Ansi16,
        "the capability is reported separately"
    );
}

#[test]
fn multiplexers_and_ssh_are_recognised() {
    let inside = |variables: &[(&str, &str)]| read(variables).multiplexer;
    assert_eq!(inside(&[("TERM", "screen-256color"), ("TMUX", "/tmp/x,1,0")]), Some(Multiplexer::Tmux));
    assert_eq!(inside(&[("TERM", "screen-256color")]), Some(Multiplexer::Screen));
    assert_eq!(inside(&[("TERM", "xterm"), ("ZELLIJ", "0")]), Some(Multiplexer::Zellij));
    assert_eq!(inside(&[("TERM", "xterm")]), None);
    assert!(read(&[("TERM", "xterm"), ("SSH_CONNECTION", "10.0.0.1 1 10.0.0.2 22")]).is_remote);
}

#[test]
fn the_emulator_is_recognised_by_name_then_by_other_variables() {
    let emulator = |variables: &[(&str, &str)]| read(variables).emulator;
    assert_eq!(emulator(&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "iTerm.app")]), Emulator::ITerm);
    assert_eq!(emulator(&[("TERM", "xterm-kitty")]), Emulator::Kitty);
    assert_eq!(emulator(&[("TERM", "xterm-256color"), ("VTE_VERSION", "7800")]), Emulator::Vte);
    assert_eq!(emulator(&[("TERM", "linux")]), Emulator::LinuxConsole);
    assert_eq!(emulator(&[("TERM", "xterm")]), Emulator::Other);
}

#[test]
fn the_background_variable_is_read_from_its_end() {
    assert_eq!(read(&[("COLORFGBG", "15;0")]).dark, Some(true));
    assert_eq!(read(&[("COLORFGBG", "0;default;15")]).dark, Some(false));
    assert_eq!(read(&[("COLORFGBG", "0;7")]).dark, Some(false));
    assert_eq!(read(&[("COLORFGBG", "15;default")]).dark, None);
}

#[test]
fn a_locale_without_unicode_means_ascii() {
    assert_eq!(read(&[]).charset, Charset::Unicode);
    assert_eq!(read(&[("LANG", "en_GB.UTF-8")]).charset, Charset::Unicode);
    assert_eq!(read(&[("LANG", "en_GB.UTF-8"), ("LC_ALL", "C")]).charset, Charset::Ascii);
    assert_eq!(read(&[("LC_ALL", "C.utf8")]).charset, Charset::Unicode);
    assert_eq!(read(&[("LANG", "de_DE.ISO-8859-1")]).charset, Charset::Ascii);
}
