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
fn dark_and_light_are_told_apart_as_eyes_do() {
    let rgb = |red, green, blue| Rgb { red, green, blue };
    assert!(rgb(0, 0, 0).is_dark());
    assert!(rgb(40, 44, 52).is_dark());
    assert!(rgb(0, 0, 255).is_dark(), "pure blue is a dark background");
    assert!(!rgb(0, 255, 0).is_dark(), "pure green is a light one");
    assert!(!rgb(253, 246, 227).is_dark());
}

#[test]
fn nothing_is_asked_where_the_question_would_be_shown() {
    let dumb = Surroundings { is_dumb: true, ..Surroundings::default() };
    assert_eq!(questions(&dumb), None);
    let screen = Surroundings { multiplexer: Some(Multiplexer::Screen), ..Surroundings::default() };
    assert_eq!(questions(&screen), None);
    let asked = questions(&Surroundings::default()).unwrap();
    assert!(asked.ends_with(END), "the last question is the one that is always answered");
}
