use super::*;

#[test]
fn colours_are_read_in_every_form_that_terminals_write() {
    let white = Rgb { red: 255, green: 255, blue: 255 };
    for text in ["rgb:ffff/ffff/ffff", "rgb:ff/ff/ff", "rgb:f/f/f", "rgb:fff/fff/fff", "rgba:ff/ff/ff/80", "#ffffff"] {
        assert_eq!(Rgb::parse(text), Some(white), "{text}");
    }
    assert_eq!(Rgb::parse("rgb:1e1e/2020/3030"), Some(Rgb { red: 0x1e, green: 0x20, blue: 0x30 }));
    for text in ["", "rgb:", "rgb:ff/ff", "rgb:fffff/0/0", "rgb:gg/00/00", "#fff", "#12345é", "hsl:1/2/3"] {
        assert_eq!(Rgb::parse(text), None, "{text}");
    }
}

#[test]
fn dark_and_light_follow_perceived_brightness() {
    let rgb = |red, green, blue| Rgb { red, green, blue };
    assert!(rgb(0, 0, 0).is_dark());
    assert!(rgb(40, 44, 52).is_dark());
    assert!(rgb(0, 0, 255).is_dark(), "pure blue is a dark background");
    assert!(!rgb(0, 255, 0).is_dark(), "pure green is a light one");
    assert!(!rgb(253, 246, 227).is_dark());
}

#[test]
fn no_query_is_sent_where_it_would_be_shown_as_text() {
    let dumb = TerminalEnv { is_dumb: true, ..TerminalEnv::default() };
    assert_eq!(queries(&dumb), None);
    let screen = TerminalEnv { multiplexer: Some(Multiplexer::Screen), ..TerminalEnv::default() };
    assert_eq!(queries(&screen), None);
    let sent = queries(&TerminalEnv::default()).unwrap();
    assert!(sent.ends_with(END), "the last query is the one that is always answered");
}
