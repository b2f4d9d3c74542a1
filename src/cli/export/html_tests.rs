use super::*;
use crate::base::{MicroUsd, TaskId, Timestamp};
use crate::cli::export::story::Outcome;

fn page_of(parts: Vec<What>) -> String {
    let at = Timestamp::from_millis(0);
    let head = TaskSummary {
        project: "<app>".to_owned(),
        task: TaskId::from_ulid(ulid::Ulid::from_parts(1, 1)),
        node: None,
        cost: MicroUsd::ZERO,
        tokens: 0,
    };
    let parts: String = parts.into_iter().map(|what| part(&Part { at, what })).collect();
    format!("{}{parts}{END}", super::head(&head))
}

const NASTY: &str = "</pre></details><script>alert(1)</script><img src=x onerror='a'>\"&amp;";

/// Returns every tag of a page, by its name.
fn tags(page: &str) -> Vec<&str> {
    let names =
        page.split('<').skip(1).filter_map(|rest| rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '/').next());
    names.collect()
}

#[test]
fn no_text_gets_out_of_its_place() {
    let outcome = Outcome { failed: true, millis: 1, text: NASTY.to_owned(), pictures: Vec::new() };
    let pictures = vec![Picture { name: NASTY.to_owned(), data: None }];
    let page = page_of(vec![
        What::Said { who: NASTY.to_owned(), by_person: true, text: NASTY.to_owned(), pictures },
        What::Folded { summary: NASTY.to_owned(), text: NASTY.to_owned() },
        What::Tool { name: NASTY.to_owned(), input: NASTY.to_owned(), outcome: Some(outcome) },
        What::Note(NASTY.to_owned()),
    ]);
    assert!(!page.contains("<script") && !page.contains("<img"), "{page}");
    for tag in ["details", "pre", "section", "main"] {
        let count = |name: &str| tags(&page).iter().filter(|found| **found == name).count();
        assert_eq!(count(tag), count(&format!("/{tag}")), "{tag} in {page}");
    }
    assert!(page.contains("&lt;app&gt;"));
}

#[test]
fn markdown_is_shown_as_such_and_addresses_are_harmless() {
    let html = rendered("**b** [x](javascript:alert(1)) [y](https://example.org) ![z](https://example.org/i.png)");
    assert!(html.contains("<strong>b</strong>"), "{html}");
    assert!(html.contains("<a href=\"#\">x</a>") && html.contains("<a href=\"https://example.org\">y</a>"), "{html}");
    assert!(html.contains("<a href=\"https://example.org/i.png\">z</a>") && !html.contains("<img"), "{html}");
}

#[test]
fn a_page_needs_nothing_from_anywhere() {
    let page = page_of(vec![]);
    assert!(page.contains(POLICY) && page.contains("<style>"));
    for loading in ["<link", "<script", "src=\"http", "url(", "@import"] {
        assert!(!page.contains(loading), "{loading}");
    }
}
