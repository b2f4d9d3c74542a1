use proptest::prelude::*;

use super::*;

fn expression(text: &str) -> String {
    ParsedQuery::new(text).expression()
}

#[test]
fn words_match_together_and_by_prefix() {
    assert_eq!(expression("parse  error"), "\"parse\"* AND \"error\"*");
    assert_eq!(expression("std::fs::read_dir"), "\"std fs read dir\"*");
    assert_eq!(expression("\"parse error\" x"), "\"parse error\" AND \"x\"");
}

#[test]
fn operators_are_text() {
    for (typed, expected) in [
        ("NOT a OR b", "\"not\"* AND \"a\" AND \"or\"* AND \"b\""),
        ("text:foo", "\"text foo\"*"),
        ("foo*", "\"foo\"*"),
        ("NEAR(a b, 2)", "\"near a\" AND \"b\" AND \"2\""),
        ("a\" OR \"b", "\"a\" AND \"or\" AND \"b\""),
        ("'; drop table words; --", "\"drop\"* AND \"table\"* AND \"words\"*"),
        ("^start {x y}: -col", "\"start\"* AND \"x\" AND \"y\" AND \"col\"*"),
        ("\u{0}\u{1b}[31mred", "\"31mred\"*"),
    ] {
        assert_eq!(expression(typed), expected, "{typed:?}");
    }
    for nothing in ["", "   ", "\"", "\"\"", "-- ** ()", "\"\" \"\""] {
        assert!(ParsedQuery::new(nothing).is_empty(), "{nothing:?}");
    }
}

#[test]
fn case_and_accents_make_no_difference() {
    assert_eq!(
        normalize("Ärger in der STRASSE, Straße! Ολυμπία ёлка ｆｕｌｌ"),
        "arger in der strasse strasse ολυμπια елка full "
    );
    assert_eq!(normalize("e\u{301}tude Étude"), "etude etude ");
    assert_eq!(normalize("İstanbul"), "istanbul ");
}

#[test]
fn scripts_without_spaces_are_split_into_letters() {
    assert_eq!(normalize("修复解析器bug了"), "修 复 解 析 器 bug 了 ");
    assert_eq!(expression("解析器"), "\"解 析 器\"");
    assert_eq!(ParsedQuery::new("解析").marks("修复解析器"), vec![6..12]);
    assert_eq!(ParsedQuery::new("สวัส").marks("สวัสดี").len(), 1);
}

#[test]
fn marks_are_ranges_of_the_original_text() {
    let text = "The Parser parses; a parse error, PARSE!";
    let marked: Vec<_> = ParsedQuery::new("parse err").marks(text).into_iter().map(|mark| &text[mark]).collect();
    assert_eq!(marked, ["Parser", "parses", "parse", "error", "PARSE"]);
    let text = "un café noir";
    assert_eq!(ParsedQuery::new("cafe").first(text).map(|mark| &text[mark]), Some("café"));
    assert_eq!(ParsedQuery::new("\"café noir\"").first(text).map(|mark| &text[mark]), Some("café noir"));
    assert_eq!(ParsedQuery::new("\"caf noir\"").first(text), None);
}

#[test]
fn a_pasted_page_is_limited() {
    let page = "word ".repeat(10_000);
    assert_eq!(expression(&page).matches(" AND ").count(), MAX_TERMS - 1);
}

proptest! {
    #[test]
    fn an_expression_is_made_of_quoted_words_and_nothing_else(text in "\\PC{0,60}|[\"*^:(){}+ -]{0,30}|(?s).{0,40}") {
        let expression = expression(&text);
        for part in expression.split(" AND ").filter(|part| !part.is_empty()) {
            let words = part.strip_suffix('*').unwrap_or(part);
            let words = words.strip_prefix('"').and_then(|words| words.strip_suffix('"'));
            prop_assert!(words.is_some_and(|words| !words.is_empty() && !words.contains(['"', '\0', '*'])), "{expression}");
        }
    }

    #[test]
    fn marks_are_ordered_disjoint_and_on_boundaries(text in "(?s).{0,200}", asked in "\\PC{0,12}") {
        let mut end = 0;
        for mark in ParsedQuery::new(&asked).marks(&text) {
            prop_assert!(mark.start >= end && mark.start < mark.end);
            prop_assert!(text.is_char_boundary(mark.start) && text.is_char_boundary(mark.end));
            end = mark.end;
        }
    }

    #[test]
    fn a_text_is_found_by_any_of_its_words(text in "\\PC{1,80}") {
        if let Some(word) = words(&text).next() {
            prop_assert!(ParsedQuery::new(&text[word.at]).first(&text).is_some());
        }
    }
}
