//! Description, info and log as rows.

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
pub fn page_rows(state: &State, task: &TaskView, project: &ProjectState, cx: &Cx<'_>, columns: usize) -> Vec<Row> {
    match state.tab {
        Tab::Description => description(task, cx, columns),
        Tab::Info => info::rows(task, project, &state.tails, cx, columns),
        Tab::Log => log(state, task, cx, columns),
        Tab::Transcript | Tab::Diff => Vec::new(),
    }
}

fn description(task: &TaskView, cx: &Cx<'_>, columns: usize) -> Vec<Row> {
    let page = Page { width: columns, unfolded: true, glyphs: cx.theme.glyphs, zone: cx.zone };
    let mut rows = Vec::new();
    let indent = |rows: Vec<Row>| {
        rows.into_iter().map(|mut row| {
            row.spans.insert(0, Span::decoration("   ", Role::Text));
            row
        })
    };
    if task.node.description.trim().is_empty() {
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
