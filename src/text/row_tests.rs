use ratatui::style::Color;

use super::*;
use crate::theme::{Appearance, ColourDepth, Glyphs};

#[test]
fn copying_returns_the_source_text() {
    let mut first = Row::new(vec![Span::decoration("• ", Role::ListMarker), Span::new("one two", Role::Text)]);
    first.end = RowEnd::WrappedAtSpace;
    let mut second = Row::new(vec![Span::decoration("  ", Role::Text), Span::new("thr", Role::Text)]);
    second.end = RowEnd::Wrapped;
    let third = Row::new(vec![
        Span::new("ee", Role::Text),
        Span { copied: Copied::As("\t"), ..Span::new(" │ ", Role::TableBorder) },
        Span::new("x", Role::Text),
    ]);
    let rows = [first, second, third, Row::of("four", Role::Text)];
    assert_eq!(copied(&rows), "one two three\tx\nfour");
    assert_eq!(rows[0].shown(), "• one two");
}

#[test]
fn a_mark_covers_its_bytes_and_nothing_else() {
    let mut row =
        Row::new(vec![Span::new("ab", Role::Text), Span::new("日本", Role::Code), Span::new("cd", Role::Text)]);
    row.mark(1..5, Role::SearchMatch);
    let marked: String =
        row.spans.iter().filter(|span| span.ink.over.is_some()).map(|span| span.text.as_ref()).collect();
    assert_eq!(marked, "b日");
    assert_eq!(row.shown(), "ab日本cd");
    row.mark(50..60, Role::SearchMatch);
    assert_eq!(row.shown(), "ab日本cd");
}

#[test]
fn a_row_is_cut_to_its_width() {
    let mut row = Row::new(vec![Span::new("ab", Role::Text), Span::new("日本語", Role::Code)]);
    row.truncate(6, "…");
    assert_eq!((row.shown().as_str(), row.width()), ("ab日…", 5));
    let mut short = Row::of("ab", Role::Text);
    short.truncate(2, "…");
    assert_eq!(short.shown(), "ab");
}

#[test]
fn drawing_layers_background_role_and_overlay() {
    let theme = Theme::standard(Appearance::Dark, ColourDepth::True, &Glyphs::UNICODE);
    let ink = Ink::new(Role::SyntaxKeyword).over(Role::DiffAddStrong);
    let row = Row::of("let", ink).on(Role::DiffAdd);
    let line = row.line(&theme);
    assert_eq!(line.style.bg, theme.style(Role::DiffAdd).bg);
    assert_eq!(line.spans[0].style.bg, theme.style(Role::DiffAddStrong).bg);
    assert_eq!(line.spans[0].style.fg, theme.style(Role::SyntaxKeyword).fg);
    let sixteen = Theme::standard(Appearance::Dark, ColourDepth::Ansi16, &Glyphs::UNICODE);
    let fg = ink.style(&sixteen).fg;
    assert!(matches!(fg, Some(Color::Green | Color::LightGreen)), "with sixteen colours a line is green: {fg:?}");
}
