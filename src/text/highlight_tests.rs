use proptest::prelude::*;

use super::*;

fn roles(language: &str, text: &str) -> Vec<(String, Role)> {
    let parts = lines(Language::named(language).unwrap(), text);
    let named = text.lines().zip(parts.iter()).flat_map(|(line, parts)| {
        parts.iter().map(|(range, role)| (line[range.clone()].trim().to_owned(), *role)).collect::<Vec<_>>()
    });
    named.filter(|(word, _)| !word.is_empty()).collect()
}

fn role_of(language: &str, text: &str, word: &str) -> Role {
    let roles = roles(language, text);
    roles.iter().find(|(part, _)| part == word).unwrap_or_else(|| panic!("no `{word}` in {roles:?}")).1
}

#[test]
fn languages_are_found_by_name_path_and_first_line() {
    for word in
        ["rust", "rs", "Rust", "rust,ignore", "python", "ts", "tsx", "bash", "shell", "c++", "toml", "dockerfile"]
    {
        assert!(Language::named(word).is_some(), "{word}");
    }
    assert_eq!(Language::named("rust,no_run").unwrap().name(), "Rust");
    assert_eq!(Language::named("no-such-language"), None);
    assert_eq!(Language::named(""), None);
    assert_eq!(Language::of_path("src/main.rs").unwrap().name(), "Rust");
    assert_eq!(Language::of_path("a/Makefile").unwrap().name(), "Makefile");
    assert_eq!(Language::of_path("a/Cargo.lock").map(Language::name), Some("TOML"));
    assert_eq!(Language::of_path("notes"), None);
    assert!(Language::of_first_line("#!/bin/bash\n").is_some());
}

#[test]
fn parts_of_code_have_their_roles() {
    let code = "// note\nfn main() {\n    let x: u32 = 42;\n    println!(\"hi\\n\");\n}";
    assert_eq!(role_of("rust", code, "// note"), Role::SyntaxComment);
    assert_eq!(role_of("rust", code, "fn"), Role::SyntaxKeyword);
    assert_eq!(role_of("rust", code, "main"), Role::SyntaxFunction);
    assert_eq!(role_of("rust", code, "u32"), Role::SyntaxKeyword);
    assert_eq!(role_of("rust", code, "42"), Role::SyntaxNumber);
    assert_eq!(role_of("rust", code, "\\n"), Role::SyntaxEscape);
    assert_eq!(role_of("python", "def f(a):\n    return None", "def"), Role::SyntaxKeyword);
    assert_eq!(role_of("json", "{\"a\": true}", "true"), Role::SyntaxConstant);
}

#[test]
fn highlighting_depends_on_earlier_lines() {
    let roles = roles("rust", "/* a\n b\n*/ let");
    assert_eq!(roles[1], ("b".to_owned(), Role::SyntaxComment));
    assert_eq!(roles.last().unwrap(), &("let".to_owned(), Role::SyntaxKeyword));
}

#[test]
fn very_long_lines_and_texts_are_plain() {
    let mut highlighter = Highlighter::new(Language::named("rust").unwrap());
    assert_eq!(highlighter.line("let")[0].1, Role::SyntaxKeyword);
    let long = "let ".repeat(MAX_LINE);
    assert_eq!(highlighter.line(&long), [(0..long.len(), Role::Text)]);
    assert_eq!(highlighter.line("let"), [(0..3, Role::Text)], "the state after a long line is unknown");
}

#[test]
fn the_same_block_is_highlighted_once() {
    let language = Language::named("rust").unwrap();
    let code = "fn the_same_block_is_coloured_once() {}";
    assert!(Rc::ptr_eq(&lines(language, code), &lines(language, code)));
}

#[test]
fn the_cache_stays_within_its_bounds() {
    let mut memo = Memo { entries: Vec::new(), bytes: 0, growing: Vec::new() };
    for n in 0..10u64 {
        memo.keep(("x", n, Memo::MAX_BYTES / 3), &Rc::from([]));
    }
    assert!(memo.bytes <= Memo::MAX_BYTES && memo.entries.len() == 3);
    assert!(memo.find(("x", 9, Memo::MAX_BYTES / 3)).is_some());
    assert!(memo.find(("x", 0, Memo::MAX_BYTES / 3)).is_none());
}

#[test]
fn a_block_that_grows_is_coloured_like_the_whole() {
    let text = "/* one\ntwo */\nlet x = \"a\nb\";\nfn f() {}\n";
    for end in 0..=text.len() {
        let language = Language::named("rust").unwrap();
        let mut highlighter = Highlighter::new(language);
        let fresh: Vec<Parts> = text[..end].lines().map(|line| highlighter.line(line)).collect();
        assert_eq!(*lines(language, &text[..end]), fresh, "{end}");
        assert_eq!(lines_from(language, &text[..end], 2), fresh.get(2..).unwrap_or_default(), "{end}");
        lines(language, "let another = 1;\n");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn parts_cover_their_line_without_gap(text in "(?s).{0,200}", language in 0usize..4) {
        let language = Language::named(["rust", "python", "markdown", "html"][language]).unwrap();
        let text = crate::text::width::visible(&text);
        for (line, parts) in text.lines().zip(lines(language, &text).iter()) {
            let mut at = 0;
            for (range, _) in parts {
                prop_assert_eq!(range.start, at);
                prop_assert!(line.is_char_boundary(range.end));
                at = range.end;
            }
            prop_assert_eq!(at, line.len());
        }
    }
}

#[test]
fn no_part_ends_within_a_grapheme() {
    let rust = Language::named("rust").unwrap();
    let line = "0  0𛅤a®a<Aꟕ0𑃰A👩\u{200d}👩\u{200d}👧text e\u{301}";
    let parts = &lines(rust, line)[0];
    let ends: Vec<usize> = line.grapheme_indices(true).map(|(at, grapheme)| at + grapheme.len()).collect();
    assert!(parts.iter().all(|(range, _)| ends.contains(&range.end)), "{parts:?} in {ends:?}");
    assert_eq!(parts.iter().map(|(range, _)| range.len()).sum::<usize>(), line.len());
}
