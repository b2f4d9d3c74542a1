use super::*;
use crate::text::row::copied;
use crate::text::wrap::WrapLayout;
use crate::theme::Role;

fn two() -> Document {
    let mut document = Document::default();
    document.push("one two ", Role::Text.into());
    document.push("three", Role::Error.into());
    document.push("\nfour", Role::Error.into());
    document
}

#[test]
fn rows_keep_their_ink_across_breaks() {
    let document = two();
    let rows = document.rows(&mut Index::new(WrapLayout::words(9)), 0, 10);
    assert_eq!(rows.iter().map(Row::shown).collect::<Vec<_>>(), ["one two", "three", "four"]);
    assert_eq!(rows[1].spans[0].ink.role, Role::Error);
    assert_eq!(copied(&rows), "one two three\nfour");
}

#[test]
fn a_window_is_a_part_of_the_whole() {
    let text = (0..500).map(|n| format!("line {n} with words\n")).collect::<Vec<_>>().concat();
    let document = Document::plain(&text, Role::Output);
    let mut index = Index::new(WrapLayout::words(10));
    let all = document.rows(&mut index, 0, usize::MAX);
    assert_eq!(document.rows(&mut index, 333, 20), all[333..353]);
    assert_eq!(document.count_to(&mut index, usize::MAX), all.len());
}

#[test]
fn cutting_leaves_whole_runs_before_the_cut() {
    for cut in 0..=two().text().len() {
        let mut document = two();
        document.truncate(cut);
        let mut again = Document::default();
        two().inks(0, cut, |text, ink| again.push(text, ink));
        assert_eq!(document, again, "{cut}");
    }
}
