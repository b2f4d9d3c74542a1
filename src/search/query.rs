//! Queries the index: the locations that have the words, best first.

use std::collections::BTreeSet;

use rusqlite::params_from_iter;
use rusqlite::types::Value;

use crate::base::{EventId, TaskId, Timestamp};
use crate::model::search::{HitKind, SearchQuery};
use crate::model::tree::Tree;
use crate::search::index::{Index, IndexError};
use crate::search::tokenize::ParsedQuery;

/// A location that has the words, before its text is read.
#[derive(Debug)]
pub struct HitLocation {
    pub task: TaskId,
    pub event: Option<EventId>,
    pub place: HitKind,
    pub at: Timestamp,
    /// The offset of the event in the session, or the number of the text among the task's own fields.
    pub start: u64,
    pub len: usize,
    pub rewound: bool,
}

/// Returns the weight of a kind of text relative to the others.
fn weight(place: HitKind) -> f64 {
    match place {
        HitKind::Title => 4.0,
        HitKind::Description | HitKind::Result => 2.0,
        HitKind::Message | HitKind::Answer | HitKind::Question => 2.0,
        HitKind::Summary | HitKind::AgentText => 1.5,
        HitKind::Error => 1.2,
        HitKind::Thinking | HitKind::Call => 0.8,
        HitKind::Output => 0.6,
    }
}

/// The weight of rewound text: it is found, but ranked lower.
const REWOUND: f64 = 0.3;

/// Returns the locations that have the words, best first, a few more than requested.
pub fn hit_locations(
    index: &Index,
    tree: Option<&Tree>,
    query: &SearchQuery,
    parsed: &ParsedQuery,
) -> Result<Vec<HitLocation>, IndexError> {
    if parsed.is_empty() || query.limit == 0 {
        return Ok(Vec::new());
    }
    let weights: Vec<String> =
        HitKind::ALL.iter().map(|place| format!("when {} then {}", *place as i64, weight(*place))).collect();
    let weights = weights.join(" ");
    let wanted = query.below.map(|task| below(tree, task));
    let tasks = wanted
        .as_ref()
        .map_or_else(String::new, |wanted| format!("and t.task in ({})", vec!["?"; wanted.len()].join(", ")));
    let text = format!(
        "select t.task, e.event, e.place, e.at, e.start, e.len, e.rewound,
            bm25(words) * (case e.place {weights} else 1 end) * (case e.rewound when 0 then 1 else {REWOUND} end) as score
        from words join entries e on e.id = words.rowid join tasks t on t.id = e.task
        where words match ? and e.at >= ? and e.at < ? {tasks}
        order by score, e.at desc limit ?"
    );
    let since = query.since.map_or(i64::MIN, Timestamp::as_millis);
    let until = query.until.map_or(i64::MAX, Timestamp::as_millis);
    // Copied conversations are found once, and some locations may be gone.
    let most = query.limit.saturating_mul(2).saturating_add(16);
    let mut values = vec![Value::Text(parsed.expression()), Value::Integer(since), Value::Integer(until)];
    values.extend(wanted.into_iter().flatten().map(|task| Value::Text(task.to_string())));
    values.push(Value::Integer(i64::try_from(most).unwrap_or(i64::MAX)));

    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    let mut statement = index.connection.prepare(&text)?;
    let mut rows = statement.query(params_from_iter(values))?;
    while let Some(row) = rows.next()? {
        let task: String = row.get(0)?;
        let event: Option<String> = row.get(1)?;
        let place: i64 = row.get(2)?;
        let location = (|| {
            Some(HitLocation {
                task: task.parse().ok()?,
                event: event.map(|event| event.parse()).transpose().ok()?,
                place: *HitKind::ALL.get(usize::try_from(place).ok()?)?,
                at: Timestamp::from_millis(row.get(3).ok()?),
                start: u64::try_from(row.get::<_, i64>(4).ok()?).ok()?,
                len: usize::try_from(row.get::<_, i64>(5).ok()?).ok()?,
                rewound: row.get(6).ok()?,
            })
        })();
        let location = location.ok_or_else(|| IndexError::Damaged("an entry cannot be read".to_owned()))?;
        if location.event.is_none_or(|event| seen.insert((event, location.place as u8))) {
            found.push(location);
        }
    }
    Ok(found)
}

/// Returns a task and all its descendants.
fn below(tree: Option<&Tree>, task: TaskId) -> Vec<TaskId> {
    let tasks: Vec<_> = tree.into_iter().flat_map(|tree| tree.walk(task)).map(|node| node.id).collect();
    if tasks.is_empty() { vec![task] } else { tasks }
}
