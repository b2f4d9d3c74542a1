use super::*;
use crate::base::{MicroUsd, TaskId, Timestamp};
use crate::cli::export::narrative::Outcome;

fn page_of(parts: Vec<PartKind>) -> String {
    let at = Timestamp::from_millis(0);
    let head = TaskSummary {
        project: "<app>".to_owned(),
        task: TaskId::from_ulid(ulid::Ulid::from_parts(1, 1)),
        node: None,
        cost: MicroUsd::ZERO,
        tokens: 0,
    };
    let parts: String = parts.into_iter().map(|kind| part(&Part { at, kind })).collect();
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
fn no_text_breaks_out_of_its_element() {
    let outcome = Outcome { failed: true, millis: 1, text: NASTY.to_owned(), pictures: Vec::new() };
    let pictures = vec![Picture { name: NASTY.to_owned(), data: None }];
    let page = page_of(vec![
        PartKind::Message { author: NASTY.to_owned(), is_user: true, text: NASTY.to_owned(), pictures },
        PartKind::Folded { summary: NASTY.to_owned(), text: NASTY.to_owned() },
        PartKind::Tool { name: NASTY.to_owned(), input: NASTY.to_owned(), outcome: Some(outcome) },
        PartKind::Note(NASTY.to_owned()),
    ]);
    assert!(!page.contains("<script") && !page.contains("<img"), "{page}");
    for tag in ["details", "pre", "section", "main"] {
        let count = |name: &str| tags(&page).iter().filter(|found| **found == name).count();
        assert_eq!(count(tag), count(&format!("/{tag}")), "{tag} in {page}");
    }
    assert!(page.contains("&lt;app&gt;"));
}

#[test]
fn markdown_is_rendered_and_links_are_safe() {
    let html =
        render_markdown("**b** [x](javascript:alert(1)) [y](https://example.org) ![z](https://example.org/i.png)");
    assert!(html.contains("<strong>b</strong>"), "{html}");
    assert!(html.contains("<a href=\"#\">x</a>") && html.contains("<a href=\"https://example.org\">y</a>"), "{html}");
    assert!(html.contains("<a href=\"https://example.org/i.png\">z</a>") && !html.contains("<img"), "{html}");
}

#[test]
fn a_page_loads_nothing() {
    let page = page_of(vec![]);
    assert!(page.contains(POLICY) && page.contains("<style>"));
    for loading in ["<link", "<script", "src=\"http", "url(", "@import"] {
        assert!(!page.contains(loading), "{loading}");
    }
}
