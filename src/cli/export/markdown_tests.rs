use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use super::*;
use crate::base::{MicroUsd, TaskId, Timestamp};
use crate::cli::export::narrative::{Outcome, Part};

fn summary(project: &str) -> TaskSummary {
    TaskSummary {
        project: project.to_owned(),
        task: TaskId::from_ulid(ulid::Ulid::from_parts(1, 1)),
        node: None,
        cost: MicroUsd::ZERO,
        tokens: 0,
    }
}

fn page_of(parts: Vec<PartKind>) -> String {
    let at = Timestamp::from_millis(0);
    let parts: String = parts.into_iter().map(|kind| part(&Part { at, kind })).collect();
    format!("{}{parts}", super::head(&summary("app")))
}

fn message(text: &str) -> PartKind {
    PartKind::Message { author: "agent".to_owned(), is_user: false, text: text.to_owned(), pictures: Vec::new() }
}

fn tool(output: &str) -> PartKind {
    let outcome = Outcome { failed: false, millis: 3, text: output.to_owned(), pictures: Vec::new() };
    PartKind::Tool { name: "bash".to_owned(), input: "command: ls".to_owned(), outcome: Some(outcome) }
}

/// Returns the second-level headings, one per message.
fn headings(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut inside = false;
    for event in Parser::new(page) {
        match event {
            Event::Start(Tag::Heading { level: pulldown_cmark::HeadingLevel::H2, .. }) => {
                inside = true;
                found.push(String::new());
            }
            Event::End(TagEnd::Heading(_)) => inside = false,
            Event::Text(text) if inside => found.last_mut().unwrap().push_str(&text),
            _ => {}
        }
    }
    found
}

#[test]
fn tool_output_is_folded_and_nothing_in_it_ends_the_fold_or_the_block() {
    let nasty = "a\n```\n</details>\n# not a heading\n`````` six\n<script>alert(1)</script>";
    let page = page_of(vec![tool(nasty), message("after")]);
    assert_eq!(headings(&page), ["agent"]);
    let in_code: String = Parser::new(&page)
        .scan(false, |inside, event| {
            match &event {
                Event::Start(Tag::CodeBlock(_)) => *inside = true,
                Event::End(TagEnd::CodeBlock) => *inside = false,
                _ => {}
            }
            Some(match event {
                Event::Text(text) if *inside => text.to_string(),
                _ => String::new(),
            })
        })
        .collect();
    assert!(in_code.contains(nasty), "{page}");
}

#[test]
fn messages_keep_their_markdown_and_lose_their_html() {
    let page =
        page_of(vec![message("**bold** <img src=x onerror=alert(1)> `<b>` and\n\n<details>\nopen\n"), message("next")]);
    assert!(
        page.contains("**bold** &lt;img src=x") && page.contains("`<b>`") && page.contains("&lt;details>"),
        "{page}"
    );
    assert_eq!(headings(&page), ["agent", "agent"]);
}

#[test]
fn an_open_code_block_does_not_swallow_the_next_message() {
    for open in ["```rust\nfn main() {", "~~~~\nx\n~~~", "text\n\n```"] {
        let page = page_of(vec![message(open), message("next")]);
        assert_eq!(headings(&page), ["agent", "agent"], "{open:?}: {page}");
    }
    let closed = "```\nx\n```";
    assert_eq!(safe_markdown(closed), closed);
}

#[test]
fn names_and_titles_are_escaped() {
    let titled = PartKind::Message {
        author: "task \"# a\n## b <x>\"".to_owned(),
        is_user: false,
        text: String::new(),
        pictures: Vec::new(),
    };
    assert_eq!(headings(&page_of(vec![titled])), ["task \"# a ## b <x>\""]);
}
