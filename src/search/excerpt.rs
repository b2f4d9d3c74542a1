//! Reads the text of hits from the sessions and cuts the excerpt around the words.

use std::ops::Range;

use crate::model::search::{Hit, HitKind, SearchQuery, SearchResults};
use crate::model::task::TaskNode;
use crate::model::tree::Tree;
use crate::search::extract::searchable_text;
use crate::search::index::IndexError;
use crate::search::query::HitLocation;
use crate::search::tokenize::ParsedQuery;
use crate::store::{Blobs, Sessions};

/// The number of bytes shown before and after the first word.
const BEFORE: usize = 60;
const AFTER: usize = 180;

/// Reads the events of hits. A hit whose event is gone is left out: the session is authoritative, not the index.
pub fn read_hits(
    locations: Vec<HitLocation>,
    sessions: &Sessions,
    blobs: &Blobs,
    tree: Option<&Tree>,
    query: &SearchQuery,
    parsed: &ParsedQuery,
) -> Result<SearchResults, IndexError> {
    let mut found = SearchResults::default();
    for location in locations {
        if found.hits.len() == query.limit {
            found.more = true;
            break;
        }
        let node = tree.and_then(|tree| tree.get(location.task));
        let text = match location.event {
            Some(event) => {
                let read =
                    sessions.event_at(location.task, location.start, location.len)?.filter(|read| read.id == event);
                read.and_then(|read| searchable_text(&read, blobs).map(|(_, text)| text.into_owned()))
            }
            None => node.and_then(|node| task_text(node, location.place, location.start)),
        };
        let Some(text) = text else { continue };
        let (excerpt, marks) = around(&text, parsed);
        found.hits.push(Hit {
            task: location.task,
            title: node.map(|node| node.title.clone()).unwrap_or_default(),
            event: location.event,
            place: location.place,
            at: location.at,
            excerpt,
            marks,
            rewound: location.rewound,
        });
    }
    Ok(found)
}

/// Returns the text of a task's own fields by its number.
fn task_text(node: &TaskNode, place: HitKind, number: u64) -> Option<String> {
    match place {
        HitKind::Title => Some(node.title.clone()),
        HitKind::Description => Some(node.description.clone()),
        _ => {
            let round = usize::try_from(number).ok()?.checked_sub(2)?;
            node.results.get(round).map(|round| round.result.clone())
        }
    }
}

/// Returns one line of text around the first word, and the ranges of the words in it.
fn around(text: &str, parsed: &ParsedQuery) -> (String, Vec<Range<usize>>) {
    let first = parsed.first(text).unwrap_or(0..0);
    let from = text.floor_char_boundary(first.start.saturating_sub(BEFORE));
    let to = text.ceil_char_boundary(first.end.saturating_add(AFTER).min(text.len()));
    // Cuts between words, unless that would leave nothing.
    let from = match text[from..first.start].find(char::is_whitespace) {
        Some(space) if from > 0 => from + space,
        _ => from,
    };
    let to = match text[first.end..to].rfind(char::is_whitespace) {
        Some(space) if to < text.len() => first.end + space,
        _ => to,
    };
    let middle = text[from..to].split_whitespace().collect::<Vec<_>>().join(" ");
    let excerpt = format!(
        "{}{middle}{}",
        if text[..from].trim().is_empty() { "" } else { "…" },
        if text[to..].trim().is_empty() { "" } else { "…" }
    );
    let marks = parsed.marks(&excerpt);
    (excerpt, marks)
}
