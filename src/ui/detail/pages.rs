//! Description, info and log as rows.

use crate::base::text;
use crate::engine::snapshot::TaskView;
use crate::model::event::Verdict;
use crate::text::{Row, Span, width};
use crate::theme::Role;
use crate::ui::detail::{State, Tab, info};
use crate::ui::labels;
use crate::ui::msg::Cx;
use crate::ui::project_state::ProjectState;
use crate::ui::transcript::{self, Page};

/// Returns all rows of a read-only tab.
pub fn page_rows(
    state: &State,
    tab: Tab,
    task: &TaskView,
    project: &ProjectState,
    cx: &Cx<'_>,
    columns: usize,
) -> Vec<Row> {
    match tab {
        Tab::Description => description(task, project, cx, columns),
        Tab::Info => info::rows(task, project, &state.tails, cx, columns),
        Tab::Log => log(state, task, cx, columns),
        Tab::Transcript | Tab::Diff => Vec::new(),
    }
}

fn description(task: &TaskView, project: &ProjectState, cx: &Cx<'_>, columns: usize) -> Vec<Row> {
    let page = Page { width: columns, unfolded: true, glyphs: cx.theme.glyphs, zone: cx.zone };
    let mut rows = Vec::new();
    let indent = |rows: Vec<Row>| {
        rows.into_iter().map(|mut row| {
            row.spans.insert(0, Span::decoration("   ", Role::Text));
            row
        })
    };
    let has_plan = !task.node.children.is_empty();
    if task.node.description.trim().is_empty() && !has_plan {
        rows.extend(indent(vec![
            Row::of("No description.", Role::Muted),
            Row::of("Press e to write one in $EDITOR.", Role::Faint),
        ]));
    } else {
        rows.extend(indent(transcript::prose(&task.node.description, &page)));
    }
    for round in task.node.results.iter().rev() {
        let (word, role) = match round.verdict {
            Verdict::Passed => ("passed", Role::Ok),
            Verdict::Failed => ("failed", Role::Error),
        };
        let when = format!("{} {}", labels::day(round.at, cx.zone), labels::time_of_day(round.at, cx.zone));
        rows.push(Row::blank());
        rows.extend(indent(vec![Row::new(vec![Span::new(word, role), Span::new(format!("  {when}"), Role::Muted)])]));
        rows.extend(indent(transcript::prose(&round.result, &page)));
    }
    if has_plan {
        if !rows.is_empty() {
            rows.push(Row::blank());
        }
        rows.push(Row::new(vec![Span::decoration("   ", Role::Text), Span::new("Subtasks", Role::Heading)]));
        let children = task.node.children.iter().filter_map(|id| project.task(*id));
        children.for_each(|child| rows.extend(subtask(child, project, cx, columns)));
    }
    rows
}

/// The bytes of a description or a result in the list of subtasks.
const PLAN_BYTES: usize = 1_000;
/// The rows of a subtask's description in the list of subtasks.
const PLAN_ROWS: usize = 3;

/// Returns a subtask in a few rows: its state and changes, the beginning of its description, and what came of it.
fn subtask(task: &TaskView, project: &ProjectState, cx: &Cx<'_>, columns: usize) -> Vec<Row> {
    let glyphs = cx.theme.glyphs;
    let (sign, role) = labels::state(task, false, glyphs);
    let mut head = Row::new(vec![
        Span::decoration("   ", Role::Text),
        Span::new(format!("{sign} "), role),
        Span::new(project.title(task.node.id), Role::Strong),
    ]);
    if let Some(diff) = task.diff.filter(|diff| diff.files > 0) {
        head.push(Span::new(format!("  +{}", diff.added), Role::DiffPlus));
        head.push(Span::new(format!(" -{}", diff.removed), Role::DiffMinus));
    }
    let doing = labels::doing(task);
    if !doing.is_empty() {
        head.push(Span::new(format!("  {doing}"), role));
    }
    head.truncate(columns.saturating_sub(1), glyphs.ellipsis);
    let room = columns.saturating_sub(7).max(1);
    let about = transcript::plain(text::prefix(task.node.description.trim(), PLAN_BYTES), Role::Muted, room);
    let about = about.into_iter().filter(|row| row.width() > 0).take(PLAN_ROWS);
    let result = task.node.results.last().map(|result| result.result.trim()).filter(|result| !result.is_empty());
    let result = result.map(|result| transcript::plain(text::prefix(result, PLAN_BYTES), Role::Text, room));
    let below = about.chain(result.into_iter().flatten().take(PLAN_ROWS)).map(|mut row| {
        row.spans.insert(0, Span::decoration("     ", Role::Text));
        row
    });
    let mut rows = vec![Row::blank(), head];
    rows.extend(below);
    rows
}

fn log(state: &State, task: &TaskView, cx: &Cx<'_>, columns: usize) -> Vec<Row> {
    let Some(transcript) = state.transcript(task.node.id) else { return Vec::new() };
    let lines = transcript.log().iter().map(|line| {
        let mut row = Row::new(vec![
            Span::decoration("   ", Role::Text),
            Span::new(labels::time_of_day(line.at, cx.zone), Role::Muted),
            Span::new(format!("  {}  ", width::pad(&line.kind, 18, width::Align::Left, "…")), Role::Tool),
            Span::new(line.summary.clone(), Role::Text),
        ]);
        row.truncate(columns.saturating_sub(1), cx.theme.glyphs.ellipsis);
        row
    });
    lines.collect()
}
