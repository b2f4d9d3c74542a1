use super::*;

#[test]
fn indentation_is_named_with_both_lines() {
    let said = explain(b"fn a() {\n\tlet x = 1;\n}\n", "    let x = 1;");
    assert!(said.contains("line 2, which differs in indentation (tabs against spaces)"), "{said}");
    assert!(said.contains(r#""\tlet x = 1;""#) && said.contains(r#""    let x = 1;""#), "{said}");
}

#[test]
fn crlf_is_named() {
    let said = explain(b"one\r\ntwo\r\nthree\r\n", "one\ntwo");
    assert!(said.contains("lines 1-2") && said.contains("the file has CRLF"), "{said}");
}

#[test]
fn quotes_are_named() {
    let said = explain("say \u{201c}hi\u{201d}\n".as_bytes(), "say \"hi\"");
    assert!(said.contains("line 1, which differs in quotes"), "{said}");
}

#[test]
fn trailing_whitespace_and_case_are_named() {
    assert!(explain(b"a \nb\n", "a\nb").contains("whitespace at the end"), "{}", explain(b"a \nb\n", "a\nb"));
    assert!(explain(b"let Value = 1;\n", "let value = 1;").contains("upper and lower case"));
}

#[test]
fn a_text_that_differs_in_words_is_found_by_its_other_lines() {
    let said = explain(b"zero\nalpha\nbeta\ngamma\n", "alpha\nBETA!\ngamma");
    assert!(said.contains("lines 2-4") && said.contains("its words"), "{said}");
    let said = explain(b"first line\nthe quick brown fox\nlast\n", "the quick brown box");
    assert!(said.contains("line 2"), "{said}");
}

#[test]
fn nothing_alike_is_said_plainly() {
    assert!(explain(b"abc\ndef\n", "0123456789").contains("nothing in the file resembles it"));
    assert!(explain(b"", "x").contains("empty"));
    assert!(explain(b"let x;\n", "     1\tlet x;").contains("line numbers"));
}
