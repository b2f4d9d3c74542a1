//! What is shown of a place: the text around the words, read from where it is kept.

use std::ops::Range;

use crate::model::search::{Found, Hit, Place, Question};
use crate::model::task::TaskNode;
use crate::model::tree::Tree;
use crate::search::ask::Spot;
use crate::search::index::Trouble;
use crate::search::said::said;
use crate::search::words::Asked;
use crate::store::{Blobs, Sessions};

/// How much of a text is shown before the first of the words and after it, in bytes.
const BEFORE: usize = 60;
const AFTER: usize = 180;

/// Reads what stands at the places. One that no longer has it is left out: the session is right, not the index.
pub fn found(
    spots: Vec<Spot>,
    sessions: &Sessions,
    blobs: &Blobs,
    tree: Option<&Tree>,
    question: &Question,
    asked: &Asked,
) -> Result<Found, Trouble> {
    let mut found = Found::default();
    for spot in spots {
        if found.hits.len() == question.limit {
            found.more = true;
            break;
        }
        let node = tree.and_then(|tree| tree.get(spot.task));
        let text = match spot.event {
            Some(event) => {
                let read = sessions.event_at(spot.task, spot.start, spot.len)?.filter(|read| read.id == event);
                read.and_then(|read| said(&read, blobs).map(|(_, text)| text.into_owned()))
            }
            None => node.and_then(|node| own(node, spot.place, spot.start)),
        };
        let Some(text) = text else { continue };
        let (excerpt, marks) = around(&text, asked);
        found.hits.push(Hit {
            task: spot.task,
            title: node.map(|node| node.title.clone()).unwrap_or_default(),
            event: spot.event,
            place: spot.place,
            at: spot.at,
            excerpt,
            marks,
            rewound: spot.rewound,
        });
    }
    Ok(found)
}

/// Returns a text that a task says of itself: by its number among them.
fn own(node: &TaskNode, place: Place, number: u64) -> Option<String> {
    match place {
        Place::Title => Some(node.title.clone()),
        Place::Description => Some(node.description.clone()),
        _ => {
            let round = usize::try_from(number).ok()?.checked_sub(2)?;
            node.results.get(round).map(|round| round.result.clone())
        }
    }
}

/// Returns the text around the first of the words, on one line, and where words stand in it.
fn around(text: &str, asked: &Asked) -> (String, Vec<Range<usize>>) {
    let first = asked.first(text).unwrap_or(0..0);
    let from = text.floor_char_boundary(first.start.saturating_sub(BEFORE));
    let to = text.ceil_char_boundary(first.end.saturating_add(AFTER).min(text.len()));
    // Whole words, unless that would leave nothing.
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
    let marks = asked.marks(&excerpt);
    (excerpt, marks)
}
