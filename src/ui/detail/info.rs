//! The info tab as rows.

use crate::base::{sanitize, text};
use crate::engine::snapshot::{TaskView, Wait};
use crate::model::fold::Part;
use crate::model::message::MessageSource;
use crate::model::task::Recurring;
use crate::model::tool_names as names;
use crate::text::wrap::{self, Break};
use crate::text::{Row, Span, width};
use crate::theme::Role;
use crate::ui::detail::Tails;
use crate::ui::labels;
use crate::ui::msg::Cx;
use crate::ui::project_state::ProjectState;
use crate::ui::stuck;
use crate::ui::transcript::{self, Page};

/// Wide enough for a process name.
const LABEL: usize = 13;

/// The rows of process output.
const TAIL_ROWS: usize = 8;

pub fn rows(task: &TaskView, project: &ProjectState, tails: &Tails, cx: &Cx<'_>, columns: usize) -> Vec<Row> {
    let mut page = Sheet { rows: Vec::new(), columns, cx };
    let node = &task.node;
    page.heading("task");
    page.line("status", if task.is_merged() { "passed, merged" } else { node.status.label() });
    page.line("doing", doing(task, project, cx));
    page.some("number", node.number.map(|number| number.to_string()).as_deref());
    page.line("id", node.id.to_string());
    match (&node.profile, node.overrides.is_empty()) {
        (Some(profile), true) => page.line("profile", sanitize::line(profile)),
        (Some(profile), false) => {
            let differs = node.overrides.describe();
            page.line("profile", sanitize::line(&format!("{profile} + {differs}")));
        }
        (None, _) if node.is_folder() => {}
        (None, _) => page.line("profile", "none yet: you choose when it starts"),
    }
    if let Some(mode) = task.mode {
        page.line("mode", format!("{mode}: {}", labels::mode(mode)));
    }
    page.some("branch", node.branch.as_deref());
    page.some("worktree", node.worktree.as_ref().map(|path| path.display().to_string()).as_deref());
    page.some("folder", task.cwd.as_deref());
    match node.recurring {
        Recurring::None => {}
        Recurring::Reset => page.line("recurring", "each run starts with an empty conversation"),
        Recurring::Continue => page.line("recurring", "each run continues the conversation"),
    }
    if let Some(diff) = task.diff {
        let dirty = if diff.dirty { ", uncommitted changes" } else { "" };
        let files = text::count(diff.files, "file", "files");
        page.line("changed", format!("{files}, +{} -{}{dirty}", diff.added, diff.removed));
    }
    work(&mut page, task, project, cx);
    model(&mut page, task);
    money(&mut page, task, project);
    permissions(&mut page, task);
    if !task.processes.is_empty() {
        page.heading("processes");
        for process in &task.processes {
            page.line(&process.id, text::headline(&sanitize::line(&process.command), COMMAND));
            page.tail(tails.of(node.id, &process.id));
        }
    }
    if !task.unread.is_empty() {
        page.heading("unread messages");
        for message in &task.unread {
            let who = match &message.from {
                from if from.is_from_user() => "you",
                MessageSource::TaskMessage { .. }
                | MessageSource::TaskComplete { .. }
                | MessageSource::CrossProject { .. } => "task",
                _ => "matrix",
            };
            page.line(who, text::headline(&sanitize::line(&message.body), 200));
        }
    }
    page.rows
}

fn doing(task: &TaskView, project: &ProjectState, cx: &Cx<'_>) -> String {
    let what = match &task.waits {
        Some(Wait::Slot { ahead }) => format!("queued, {ahead} ahead"),
        Some(Wait::Setup { step }) => format!("setting up the worktree: {}", sanitize::line(step)),
        Some(Wait::Task { task }) => format!("waiting for \"{}\"", project.title(*task)),
        Some(Wait::Stalled { .. }) => {
            format!("stuck: {}", stuck::brief(task, project).unwrap_or_default())
        }
        Some(Wait::Idle) => "idle: the agent ended its turn without calling done".to_owned(),
        Some(Wait::Process { command, .. }) => format!("waiting for its process: {}", sanitize::line(command)),
        Some(Wait::Silence { since }) => format!("no response from the model for {}", labels::elapsed(*since, cx.now)),
        None => labels::activity(task.activity).to_owned(),
    };
    match task.since.filter(|_| task.waits.is_none()) {
        Some(since) => format!("{what} for {}", labels::elapsed(since, cx.now)),
        None => what,
    }
}

/// Adds the state of the branch: drift, conflicts, verification, merges, reviews.
fn work(page: &mut Sheet<'_>, task: &TaskView, project: &ProjectState, cx: &Cx<'_>) {
    let nothing =
        task.drift.is_none() && task.clashes.is_empty() && task.receipt.is_none() && task.last_merge.is_none();
    if nothing && task.reviews == 0 && task.queued_merge.is_none() {
        return;
    }
    page.heading("work");
    if let Some(drift) = task.drift {
        let (ahead, behind) =
            (text::count(drift.ahead, "commit", "commits"), text::count(drift.behind, "commit", "commits"));
        page.line("distance", format!("{ahead} ahead, {behind} behind the target branch"));
    }
    for clash in &task.clashes {
        let files: Vec<_> = clash.files.iter().map(|file| sanitize::line(file)).collect();
        page.line("conflicts", format!("with \"{}\" in {}", project.title(clash.with), files.join(", ")));
    }
    if let Some(receipt) = &task.receipt {
        let verdict = if receipt.passed() { "passed" } else { "failed" };
        let (when, took) = (labels::elapsed(receipt.at, cx.now), labels::duration(receipt.duration_ms));
        page.line("verify", format!("{verdict} {when} ago, took {took}: {}", sanitize::line(&receipt.command)));
    }
    if let Some(queued) = &task.queued_merge {
        let (target, title) = (sanitize::line(&queued.target), project.title(queued.host));
        page.line("merge", format!("queued into {target}, waiting for \"{title}\" to pause"));
    }
    if let Some(landing) = &task.last_merge {
        let when = labels::elapsed(landing.at, cx.now);
        page.line("merged", format!("into {} {when} ago", sanitize::line(&landing.target)));
    }
    if task.reviews > 0 {
        page.line("reviews", text::count(usize::try_from(task.reviews).unwrap_or(usize::MAX), "round", "rounds"));
    }
}

fn model(page: &mut Sheet<'_>, task: &TaskView) {
    page.heading("model");
    page.some("model", task.model.as_deref());
    page.line("turns", task.turns.to_string());
    if let Some(context) = task.context() {
        let full = if context.window == 0 { 0.0 } else { context.tokens as f64 / context.window as f64 };
        let words = format!("{} of {}", labels::tokens(context.tokens), labels::tokens(context.window));
        page.gauge("context", full, &words);
        for (part, tokens) in task.usage.breakdown.shares(context.tokens) {
            page.share(part_label(part), tokens, context.tokens);
        }
    }
    let tokens = task.usage.tokens();
    if tokens.context() > 0 {
        let hit = tokens.cache_read as f64 / tokens.context() as f64;
        page.gauge("cache", hit, &format!("{:.0} % cache hits", hit * 100.0));
    }
}

fn part_label(part: Part) -> &'static str {
    match part {
        Part::Instructions => "instructions",
        Part::Tools => "tool descriptions",
        Part::Summary => "summary",
        Part::Messages => "messages",
        Part::Words => "agent text and thinking",
        Part::Calls => "tool calls",
        Part::Results => "tool results",
    }
}

fn permissions(page: &mut Sheet<'_>, task: &TaskView) {
    let Some(per_hundred) = task.permissions.per_hundred() else { return };
    page.heading("permission");
    let calls = text::count(usize::try_from(task.permissions.calls).unwrap_or(usize::MAX), "call", "calls");
    page.line("asked", format!("{} in {calls} ({per_hundred:.1} per 100)", task.permissions.asked));
    if let Some(last) = &task.permissions.last {
        let verdict = if last.note.granted { "allowed" } else { "refused" };
        let tool = names::display_name(&last.tool).into_owned();
        page.line(
            "last",
            format!("{} {verdict}: {}", sanitize::line(&tool), sanitize::line(&last.note.by.to_string())),
        );
    }
}

fn money(page: &mut Sheet<'_>, task: &TaskView, project: &ProjectState) {
    page.heading("cost");
    let bound = if task.usage.is_lower_bound() { " at least (some prices are unknown)" } else { "" };
    page.line("this task", format!("{}{bound}", task.usage.cost()));
    let sum = project.sum(task.node.id);
    if sum.tasks > 1 {
        page.line("with subtasks", format!("{} in {}", sum.cost, text::count(sum.tasks, "task", "tasks")));
    }
    if let Some(budget) = task.node.budget {
        let full = if budget.0 == 0 { 1.0 } else { sum.cost.0 as f64 / budget.0 as f64 };
        page.gauge("budget", full, &format!("{} of {budget}", sum.cost));
    }
    for (model, totals) in &task.usage.by_model {
        let words = format!(
            "{}, {} in, {} out, {}",
            totals.cost,
            labels::tokens(totals.tokens.context()),
            labels::tokens(totals.tokens.output),
            text::count(usize::try_from(totals.responses).unwrap_or(usize::MAX), "response", "responses")
        );
        page.line("", format!("{}: {words}", sanitize::line(model)));
    }
}

/// The maximum characters of a command.
const COMMAND: usize = 400;

/// The columns of a gauge.
const CELLS: usize = 20;

struct Sheet<'a> {
    rows: Vec<Row>,
    columns: usize,
    cx: &'a Cx<'a>,
}

impl Sheet<'_> {
    fn heading(&mut self, words: &str) {
        if !self.rows.is_empty() {
            self.rows.push(Row::blank());
        }
        self.rows.push(Row::new(vec![Span::decoration("   ", Role::Text), Span::new(words.to_owned(), Role::Heading)]));
    }

    fn label(label: &str) -> Vec<Span> {
        let label = width::pad(label, LABEL, width::Align::Left, "…");
        vec![Span::decoration("   ", Role::Text), Span::new(label, Role::Muted), Span::new(" ", Role::Muted)]
    }

    fn line(&mut self, label: &str, value: impl Into<String>) {
        // A cut path or reason is useless: wrap it.
        let value = [Span::new(width::visible(&value.into()).into_owned(), Role::Text)];
        let columns = self.columns.saturating_sub(1);
        let below = [Span::decoration(" ".repeat(LABEL + 4), Role::Text)];
        self.rows.extend(wrap::spans(&value, columns, &Self::label(label), &below, Break::Words));
    }

    fn some(&mut self, label: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.line(label, sanitize::line(value));
        }
    }

    /// Adds a line with the share of a part in the gauge above it.
    fn share(&mut self, what: &str, tokens: u64, whole: u64) {
        let percent = (tokens as f64 / whole.max(1) as f64 * 100.0).round();
        let count = width::pad(&labels::tokens(tokens), 8, width::Align::Right, "…");
        let mut spans = Self::label("");
        spans.push(Span::new(count, Role::Text));
        spans.push(Span::new(format!("{percent:>5} %  "), Role::Muted));
        spans.push(Span::new(what.to_owned(), Role::Muted));
        let mut row = Row::new(spans);
        row.truncate(self.columns.saturating_sub(1), self.cx.theme.glyphs.ellipsis);
        self.rows.push(row);
    }

    /// Adds the last lines of process output.
    fn tail(&mut self, printed: &str) {
        let glyphs = self.cx.theme.glyphs;
        let page = Page { width: self.columns.saturating_sub(LABEL + 4), unfolded: false, glyphs, zone: self.cx.zone };
        for row in transcript::last_output(printed, TAIL_ROWS, &page) {
            let mut spans = Self::label("");
            spans.push(Span::decoration(format!("{} ", glyphs.tree_down), Role::Faint));
            spans.extend(row.spans);
            self.rows.push(Row::new(spans));
        }
    }

    fn gauge(&mut self, label: &str, full: f64, words: &str) {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and CELLS")]
        let filled = (full.clamp(0.0, 1.0) * CELLS as f64).round() as usize;
        let glyphs = &self.cx.theme.glyphs;
        let block = glyphs.bar.last().copied().unwrap_or("#");
        let role = if full >= 0.8 && label != "cache" { Role::GaugeHigh } else { Role::Gauge };
        let mut spans = Self::label(label);
        spans.push(Span::decoration(block.repeat(filled), role));
        spans.push(Span::decoration(glyphs.bar_empty.repeat(CELLS - filled), Role::GaugeEmpty));
        spans.push(Span::new(format!(" {words}"), Role::Text));
        let mut row = Row::new(spans);
        row.truncate(self.columns.saturating_sub(1), glyphs.ellipsis);
        self.rows.push(row);
    }
}
