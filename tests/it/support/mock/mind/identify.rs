//! Which conversation a request belongs to.
//!
//! In this order: the header, the test's own rule, the markers of forks (anywhere in the user's texts, the deepest fork
//! first, for a fork carries its parents' markers too), the other markers in the first user turn, then in the system
//! prompt. Two markers at one level are a violation: a request that went to the wrong queue would be hard to understand.

use crate::support::mock::http::HttpRequest;
use crate::support::mock::rules::{Findings, Rule};
use crate::support::mock::script::{Conversation, MAIN, Script};
use crate::support::mock::seen::Seen;

pub fn conversation(script: &Script, request: &HttpRequest, seen: &Seen, found: &mut Findings) -> String {
    let by_header = script.identify_header.as_ref().and_then(|header| request.header(header)).map(str::to_owned);
    let by_rule = || script.identify.as_ref().and_then(|rule| (rule.0)(seen));
    by_header.or_else(by_rule).or_else(|| by_marker(script, seen, found)).unwrap_or_else(|| MAIN.to_owned())
}

fn by_marker(script: &Script, seen: &Seen, found: &mut Findings) -> Option<String> {
    let deepest = script.conversations.iter().map(|c| depth(script, c)).max().unwrap_or(0);
    for level in (1..=deepest).rev() {
        let forks = script.conversations.iter().filter(|c| depth(script, c) == level);
        let named = forks.filter(|c| seen.user_texts().any(|text| text.contains(c.known_by())));
        if let Some(name) = single(named, found) {
            return Some(name);
        }
    }
    let roots = || script.conversations.iter().filter(|c| c.fork_of.is_none());
    let in_first_turn = roots().filter(|c| seen.first_user_texts().any(|text| text.contains(c.known_by())));
    single(in_first_turn, found).or_else(|| single(roots().filter(|c| seen.system_text.contains(c.known_by())), found))
}

fn single<'a>(mut named: impl Iterator<Item = &'a Conversation>, found: &mut Findings) -> Option<String> {
    let first = named.next()?;
    for other in named {
        found.add(
            Rule::AmbiguousConversation,
            format!(
                "the request has the marker of {:?} and of {:?}: give one of them a marker that only it has",
                first.name, other.name
            ),
        );
    }
    Some(first.name.clone())
}

fn depth(script: &Script, conversation: &Conversation) -> usize {
    let mut depth = 0;
    let mut at = conversation;
    while let Some(parent) = &at.fork_of {
        depth += 1;
        match script.conversations.iter().find(|c| c.name == *parent) {
            // A script that forks in a circle has no roots; the count ends it.
            Some(parent) if depth <= script.conversations.len() => at = parent,
            Some(_) | None => break,
        }
    }
    depth
}
