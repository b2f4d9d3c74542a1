//! No message of ours is delivered twice into one conversation.
//!
//! Precisely: among the texts of user turns, take every element that opens with one of our tags and carries a time
//! (`at="…"`). Two such elements that are equal in every byte, tag, time, attributes and body, are the same message.
//! Texts without a tag may repeat: a user may well say "go on" twice, but not in the same second with the same words.

use std::collections::HashSet;

use mxd::model::render::TAGS;

use super::{Findings, Rule};
use crate::support::mock::seen::Seen;

pub fn check(seen: &Seen, found: &mut Findings) {
    let mut known = HashSet::new();
    for message in seen.user_texts().flat_map(messages) {
        if !known.insert(message) {
            let shown: String = message.chars().take(120).collect();
            found.add(Rule::DuplicateMessage, format!("messages: the same message stands there twice: {shown}"));
        }
    }
}

/// Returns the elements of ours in `text`, each from its tag to its end.
fn messages(text: &str) -> Vec<&str> {
    let mut elements = Vec::new();
    let mut rest = text;
    while let Some((start, tag)) = next_tag(rest) {
        let element = &rest[start..];
        let Some(head) = element.find('>') else { break };
        let close = format!("</{tag}>");
        let end = if element[..head].ends_with('/') {
            head + 1
        } else {
            element.find(&close).map_or(element.len(), |at| at + close.len())
        };
        if element[..head].contains(" at=\"") {
            elements.push(&element[..end]);
        }
        rest = &element[end..];
    }
    elements
}

fn next_tag(text: &str) -> Option<(usize, &'static str)> {
    text.match_indices('<').find_map(|(at, _)| {
        let name = &text[at + 1..];
        let tag = TAGS.iter().find(|tag| name.strip_prefix(**tag).is_some_and(|rest| rest.starts_with(' ')))?;
        Some((at, *tag))
    })
}
