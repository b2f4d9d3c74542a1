use ratatui::buffer::CellWidth;

use super::*;

#[test]
fn every_glyph_is_one_column_wide() {
    for glyph in Glyphs::UNICODE.all().into_iter().chain(Glyphs::ASCII.all()) {
        assert_eq!(glyph.cell_width(), 1, "{glyph}");
        assert_eq!(glyph.chars().count(), 1, "{glyph}: no joined characters");
    }
}

#[test]
fn the_ascii_set_is_ascii() {
    assert!(Glyphs::ASCII.all().iter().all(|glyph| glyph.is_ascii()));
}

#[test]
fn states_differ_by_glyph_alone() {
    for set in [Glyphs::UNICODE, Glyphs::ASCII] {
        let states = [set.draft, set.pending, set.working, set.sleeping, set.ask, set.passed, set.failed, set.closed];
        let different: std::collections::BTreeSet<_> = states.iter().collect();
        assert_eq!(different.len(), states.len(), "{}", set.name);
    }
}

#[test]
fn ascii_is_used_for_a_plain_locale_or_console() {
    let detect = |vars: &[(&str, &str)]| {
        Glyphs::detect(|name| vars.iter().find(|(var, _)| *var == name).map(|(_, value)| (*value).to_owned())).name
    };
    assert_eq!(detect(&[]), "unicode");
    assert_eq!(detect(&[("LANG", "en_GB.UTF-8"), ("TERM", "xterm")]), "unicode");
    assert_eq!(detect(&[("LANG", "C")]), "ascii");
    assert_eq!(detect(&[("LANG", "C"), ("LC_ALL", "C.utf8")]), "unicode");
    assert_eq!(detect(&[("LANG", "en_GB.UTF-8"), ("TERM", "linux")]), "ascii");
}

#[test]
fn legend_explains_every_state_and_nothing_twice() {
    for set in [Glyphs::UNICODE, Glyphs::ASCII] {
        let legend = set.legend();
        for glyph in
            [set.draft, set.pending, set.working, set.sleeping, set.ask, set.passed, set.failed, set.closed, set.clash]
        {
            assert!(legend.iter().any(|sign| sign.glyph == glyph), "{}: {glyph}", set.name);
        }
        let words: std::collections::BTreeSet<_> = legend.iter().map(|sign| sign.about).collect();
        assert_eq!(words.len(), legend.len());
    }
}
