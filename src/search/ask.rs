//! Asks the index: which places have the words, best first.

use std::collections::BTreeSet;

use rusqlite::params_from_iter;
use rusqlite::types::Value;

use crate::base::{EventId, TaskId, Timestamp};
use crate::model::search::{Place, Question};
use crate::model::tree::Tree;
use crate::search::index::{Index, Trouble};
use crate::search::words::Asked;

/// A place that has the words, before its text is looked at.
#[derive(Debug)]
pub struct Spot {
    pub task: TaskId,
    pub event: Option<EventId>,
    pub place: Place,
    pub at: Timestamp,
    /// Where the line of the event stands in the session; or which text of the task's own it is.
    pub start: u64,
    pub len: usize,
    pub rewound: bool,
}

/// How much a place weighs against the others when the words stand in both.
fn weight(place: Place) -> f64 {
    match place {
        Place::Title => 4.0,
        Place::Description | Place::Result => 2.0,
        Place::Message | Place::Answer | Place::Question => 2.0,
        Place::Summary | Place::Said => 1.5,
        Place::Error => 1.2,
        Place::Thinking | Place::Call => 0.8,
        Place::Output => 0.6,
    }
}

/// What was rewound counts for less, and is still found.
const REWOUND: f64 = 0.3;

/// Returns the places that have the words, best first, a few more than are wanted.
pub fn places(index: &Index, tree: Option<&Tree>, question: &Question, asked: &Asked) -> Result<Vec<Spot>, Trouble> {
    if asked.is_empty() || question.limit == 0 {
        return Ok(Vec::new());
    }
    let weights: Vec<String> =
        Place::ALL.iter().map(|place| format!("when {} then {}", *place as i64, weight(*place))).collect();
    let weights = weights.join(" ");
    let wanted = question.below.map(|task| below(tree, task));
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
    let since = question.since.map_or(i64::MIN, Timestamp::as_millis);
    let until = question.until.map_or(i64::MAX, Timestamp::as_millis);
    // A conversation that was copied is found once, and some places may have gone since.
    let most = question.limit.saturating_mul(2).saturating_add(16);
    let mut values = vec![Value::Text(asked.expression()), Value::Integer(since), Value::Integer(until)];
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
        let spot = (|| {
            Some(Spot {
                task: task.parse().ok()?,
                event: event.map(|event| event.parse()).transpose().ok()?,
                place: *Place::ALL.get(usize::try_from(place).ok()?)?,
                at: Timestamp::from_millis(row.get(3).ok()?),
                start: u64::try_from(row.get::<_, i64>(4).ok()?).ok()?,
                len: usize::try_from(row.get::<_, i64>(5).ok()?).ok()?,
                rewound: row.get(6).ok()?,
            })
        })();
        let spot = spot.ok_or_else(|| Trouble::Damaged("an entry cannot be read".to_owned()))?;
        if spot.event.is_none_or(|event| seen.insert((event, spot.place as u8))) {
            found.push(spot);
        }
    }
    Ok(found)
}

/// Returns a task and everything below it.
fn below(tree: Option<&Tree>, task: TaskId) -> Vec<TaskId> {
    let tasks: Vec<_> = tree.into_iter().flat_map(|tree| tree.walk(task)).map(|node| node.id).collect();
    if tasks.is_empty() { vec![task] } else { tasks }
}
