//! Frames while many agents write at once: all of what came since the last frame is taken in, and one is drawn.

use mxd::base::{TaskId, Timestamp};
use mxd::engine::snapshot::TaskView;
use mxd::engine::update::Update;
use mxd::model::live::Activity;
use mxd::model::{Live, Status, TaskNode};
use mxd::ui::Msg;

use crate::report::{Report, Row, Target, Unit};
use crate::transcript::{FRAME, ScreenFixture, snapshot};
use crate::{Outcome, fixture};

const WRITERS: usize = 20;
/// A minute of frames, as often as the engine may cause them.
const FRAMES: usize = 30 * 60;
/// What an agent writes between two frames, at a hundred tokens a second.
const PIECE: usize = 13;

/// What an agent writes: prose, a list and code, again and again.
const WORDS: &str = "The parser reads **one line** at a time, so a torn line costs nothing but itself.\n\n\
    - it keeps what it has read\n- it says where it stopped\n\n\
    ```rust\nfn next(&mut self) -> Option<Line> {\n    self.lines.next().map(Line::parse)\n}\n```\n\n";

pub fn measure(report: &mut Report) -> Outcome {
    let what = format!("streaming, {WRITERS} agents at 100 tokens a second, 200x60: longest frame");
    if !report.wants(&what) {
        return Ok(());
    }
    let ids = fixture::ids();
    let mut tree = snapshot(&ids);
    let writers: Vec<TaskId> = (0..WRITERS).map(|_| TaskId::fresh(&ids)).collect();
    for (number, id) in writers.iter().enumerate() {
        let node = TaskNode::new(*id, format!("Writer {number}"), "engineer", Timestamp::EPOCH);
        let node = TaskNode { parent: Some(tree.root), status: Status::InProgress, ..node };
        tree.tasks.push(TaskView { alive: true, activity: Activity::Streaming, ..TaskView::of(node) });
    }
    tree.tasks[0].node.children.clone_from(&writers);
    let mut stage = ScreenFixture::of(tree, Vec::new())?;
    // The first of them is looked at.
    stage.press("esc j")?;
    let words = WORDS.as_bytes();
    for frame in 0..FRAMES {
        let piece = (0..PIECE).map(|at| char::from(words[(frame * PIECE + at) % words.len()])).collect::<String>();
        stage.frame_of(writers.iter().map(|task| {
            let live = Live::TextDelta { text: piece.clone() };
            Msg::Engine(Update::Live { task: *task, live })
        }))?;
    }
    let longest = stage.longest() as f64;
    report.add(&Row::of_counts(what, Unit::NanosPerCall, longest, FRAME, "8 ms", Target::AtMost(1.0)))
}
