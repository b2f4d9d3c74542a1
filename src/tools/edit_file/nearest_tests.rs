use super::*;

#[test]
fn indentation_is_named_with_both_lines() {
    let text = explain(b"fn a() {\n\tlet x = 1;\n}\n", "    let x = 1;");
    assert!(text.contains("line 2, which differs in indentation (tabs against spaces)"), "{text}");
    assert!(text.contains(r#""\tlet x = 1;""#) && text.contains(r#""    let x = 1;""#), "{text}");
}

#[test]
fn crlf_is_named() {
    let text = explain(b"one\r\ntwo\r\nthree\r\n", "one\ntwo");
    assert!(text.contains("lines 1-2") && text.contains("the file has CRLF"), "{text}");
}

#[test]
fn quotes_are_named() {
    let text = explain("say \u{201c}hi\u{201d}\n".as_bytes(), "say \"hi\"");
    assert!(text.contains("line 1, which differs in quotes"), "{text}");
}

#[test]
fn trailing_whitespace_and_case_are_named() {
    assert!(explain(b"a \nb\n", "a\nb").contains("whitespace at the end"), "{}", explain(b"a \nb\n", "a\nb"));
    assert!(explain(b"let Value = 1;\n", "let value = 1;").contains("upper and lower case"));
}

#[test]
fn a_text_that_differs_in_words_is_found_by_its_other_lines() {
    let text = explain(b"zero\nalpha\nbeta\ngamma\n", "alpha\nBETA!\ngamma");
    assert!(text.contains("lines 2-4") && text.contains("its words"), "{text}");
    let text = explain(b"first line\nthe quick brown fox\nlast\n", "the quick brown box");
    assert!(text.contains("line 2"), "{text}");
}

#[test]
fn nothing_similar_is_reported() {
    assert!(explain(b"abc\ndef\n", "0123456789").contains("nothing in the file resembles it"));
    assert!(explain(b"", "x").contains("empty"));
    assert!(explain(b"let x;\n", "     1\tlet x;").contains("line numbers"));
}
