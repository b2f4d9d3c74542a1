use super::*;

#[test]
fn a_cut_never_splits_a_character() {
    let text = "añ漢🙂";
    for bytes in 0..=text.len() + 2 {
        assert!(text.starts_with(prefix(text, bytes)));
        assert!(prefix(text, bytes).len() <= bytes);
        assert!(text.ends_with(suffix(text, bytes)));
        assert!(suffix(text, bytes).len() <= bytes);
    }
    assert_eq!(prefix(text, 100), text);
    assert_eq!(suffix(text, 4), "🙂");
}

#[test]
fn a_headline_shows_that_it_is_not_everything() {
    assert_eq!(headline("one line\n", 20), "one line");
    assert_eq!(headline("one\ntwo", 20), "one…");
    assert_eq!(headline("abcdef", 4), "abc…");
    assert_eq!(headline("all of it \n", 20), "all of it", "nothing is missing but a space");
    assert_eq!(headline("", 4), "");
}

#[test]
fn sizes_are_formatted_in_decimal_units() {
    assert_eq!(size(999), "999 B");
    assert_eq!(size(4_000), "4.0 KB");
    assert_eq!(size(1_600_000), "1.6 MB");
}
