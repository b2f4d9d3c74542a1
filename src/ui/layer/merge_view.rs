//! Draws the merge dialog.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::base::{sanitize, text};
use crate::engine::review::{Conflict, MergePreview};
use crate::text::wrap::{self, Break};
use crate::text::{Row, Span, width};
use crate::theme::Role;
use crate::ui::action::Action;
use crate::ui::draw;
use crate::ui::labels;
use crate::ui::layer::merge::{self, Merge, STRATEGIES};
use crate::ui::layer::view::{centred, open};
use crate::ui::model::Model;
use crate::ui::msg::Cx;

/// How many conflicts are listed.
const NAMED: usize = 8;

pub fn view(merge: &Merge, model: &Model, cx: &Cx<'_>, screen: Rect, buffer: &mut Buffer) {
    let columns = screen.width.saturating_sub(4).min(86);
    let mut page = Page { rows: Vec::new(), room: usize::from(columns.saturating_sub(6)), cx };
    match &merge.preview {
        None => page.say("Preparing the preview …", Role::Muted),
        Some(Err(problem)) => page.say(problem, Role::Error),
        Some(Ok(preview)) => {
            head(&mut page, preview, cx);
            checks(&mut page, preview, cx);
            if !preview.conflicts.is_empty() {
                resolve_keys(&mut page, model);
            }
            if preview.ahead > 0 {
                strategies(&mut page, merge);
            }
        }
    }
    if let Some(landing) = model.project.task(merge.task).and_then(|task| task.last_merge.as_ref()) {
        page.rows.push(Row::blank());
        let when = labels::elapsed(landing.at, cx.now);
        let key = model.key_of(Action::UndoMerge);
        page.say(&format!("Merged into {} {when} ago; {key} to undo.", sanitize::line(&landing.target)), Role::Muted);
    }
    if let Some(queued) = model.project.task(merge.task).and_then(|task| task.queued_merge.as_ref()) {
        page.rows.push(Row::blank());
        let key = model.key_of(Action::CancelMerge);
        let (title, target) = (model.project.title(queued.host), sanitize::line(&queued.target));
        page.say(&format!("Queued: merges into {target} when \"{title}\" pauses; {key} to cancel."), Role::Waiting);
    }
    if let Some(problem) = &merge.problem {
        page.rows.push(Row::blank());
        // Do not repeat a reason that is listed above: there may be no room for it.
        let is_listed = merge.ready().is_some_and(|preview| preview.dirty.iter().any(|side| side.reason == *problem));
        let sign = cx.theme.glyphs.failed;
        let words = if is_listed { format!("Not merged: fix the items marked {sign} first.") } else { problem.clone() };
        page.say(&words, Role::Error);
    }
    if let Some(busy) = merge.busy {
        page.rows.push(Row::blank());
        page.say(busy, Role::Working);
    }
    let rows = u16::try_from(page.rows.len() + 4).unwrap_or(u16::MAX);
    let area = centred(screen, columns, rows);
    let inner = open(area, &format!("merge {}", model.project.title(merge.task)), cx, buffer);
    let list = Rect {
        x: inner.x + 2,
        y: inner.y + 1,
        width: inner.width.saturating_sub(3),
        height: inner.height.saturating_sub(1),
    };
    // The last rows matter most: cut at the top.
    let hidden = page.rows.len().saturating_sub(usize::from(list.height));
    for (row, y) in page.rows.iter().skip(hidden).zip(0..list.height) {
        draw::line(buffer, list, y, &row.line(cx.theme));
    }
}

struct Page<'a> {
    rows: Vec<Row>,
    room: usize,
    cx: &'a Cx<'a>,
}

impl Page<'_> {
    fn say(&mut self, words: &str, role: Role) {
        self.marked(None, words, role);
    }

    /// Adds text after a glyph.
    fn marked(&mut self, sign: Option<(&'static str, Role)>, words: &str, role: Role) {
        let (first, rest) = match sign {
            Some((sign, role)) => {
                (vec![Span::decoration(format!("{sign} "), role)], vec![Span::decoration("  ", Role::Text)])
            }
            None => (Vec::new(), Vec::new()),
        };
        for line in width::visible(words).lines() {
            let line = [Span::new(line.to_owned(), role)];
            self.rows.extend(wrap::spans(&line, self.room, &first, &rest, Break::Words));
        }
    }

    fn good(&mut self, words: &str) {
        self.marked(Some((self.cx.theme.glyphs.passed, Role::Ok)), words, Role::Text);
    }

    fn bad(&mut self, words: &str) {
        self.marked(Some((self.cx.theme.glyphs.failed, Role::Error)), words, Role::Text);
    }

    fn open(&mut self, words: &str) {
        self.marked(Some((self.cx.theme.glyphs.pending, Role::Warn)), words, Role::Text);
    }
}

fn head(page: &mut Page<'_>, preview: &MergePreview, cx: &Cx<'_>) {
    let arrow = cx.theme.glyphs.arrow_right;
    let mut row = Row::new(vec![
        Span::new(sanitize::line(&preview.branch).into_owned(), Role::Accent),
        Span::decoration(format!(" {arrow} "), Role::Muted),
        Span::new(sanitize::line(&preview.target).into_owned(), Role::Accent),
    ]);
    row.truncate(page.room, cx.theme.glyphs.ellipsis);
    page.rows.push(row);
    let files = text::count(preview.files, "file", "files");
    page.rows.push(Row::new(vec![
        Span::new(format!("{}, {files} ", text::count(preview.ahead, "commit", "commits")), Role::Text),
        Span::new(format!(" +{}", preview.added), Role::DiffPlus),
        Span::new(format!(" -{}", preview.removed), Role::DiffMinus),
    ]));
    page.rows.push(Row::blank());
}

fn checks(page: &mut Page<'_>, preview: &MergePreview, cx: &Cx<'_>) {
    let target = sanitize::line(&preview.target).into_owned();
    if preview.ahead == 0 {
        page.open(&format!("nothing to merge: {target} has all commits"));
    }
    match preview.behind {
        0 => page.good(&format!("up to date with {target}")),
        behind => page.open(&format!("{} behind {target}", text::count(behind, "commit", "commits"))),
    }
    if preview.dirty.is_empty() {
        page.good("no uncommitted changes on either side");
    }
    for side in &preview.dirty {
        page.bad(&side.reason);
    }
    if preview.conflicts.is_empty() {
        page.good("no conflicts");
    } else {
        page.bad(&format!("conflicts in {}", text::count(preview.conflicts.len(), "file", "files")));
        for conflict in preview.conflicts.iter().take(NAMED) {
            self::conflict(page, conflict, cx);
        }
        let more = preview.conflicts.len().saturating_sub(NAMED);
        if more > 0 {
            page.say(&format!("    and {more} more"), Role::Muted);
        }
    }
    receipt(page, preview, cx);
    match &preview.checkout {
        Some(path) => page.say(&format!("  your checkout {} will be updated", path.display()), Role::Muted),
        None => page.say(&format!("  {target} is not checked out: only the branch moves"), Role::Muted),
    }
}

fn receipt(page: &mut Page<'_>, preview: &MergePreview, cx: &Cx<'_>) {
    let Some(command) = &preview.verify else {
        return page.say("  not verified: no `verify` command is set", Role::Muted);
    };
    let command = sanitize::line(command);
    let Some(receipt) = &preview.receipt else {
        return page.open(&format!("`{command}` has not run yet: it runs before the merge"));
    };
    let when = format!("{} ago, took {}", labels::elapsed(receipt.at, cx.now), labels::duration(receipt.duration_ms));
    match (receipt.passed(), preview.fresh) {
        (true, true) => page.good(&format!("`{command}` passed {when}")),
        (true, false) => {
            page.open(&format!("`{command}` passed {when}, but the work has changed: it runs again first"));
        }
        (false, _) => {
            page.bad(&format!("`{command}` failed {when}"));
            let last: Vec<&str> = receipt.output.trim_end().lines().rev().take(4).collect();
            for line in last.iter().rev() {
                page.say(&format!("    {line}"), Role::Muted);
            }
        }
    }
}

fn conflict(page: &mut Page<'_>, conflict: &Conflict, cx: &Cx<'_>) {
    let path = width::visible(&conflict.path.to_string_lossy()).replace('\n', " ");
    let why = conflict.kind.description();
    let room = page.room.saturating_sub(width::of(why) + 8);
    let name = width::truncate(&path, room, width::Cut::Middle, cx.theme.glyphs.ellipsis).into_owned();
    page.rows.push(Row::new(vec![
        Span::decoration("    ", Role::Text),
        Span::new(name, Role::DiffFile),
        Span::decoration(format!("  {why}"), Role::Muted),
    ]));
}

/// Adds the keys that resolve the conflicts.
fn resolve_keys(page: &mut Page<'_>, model: &Model) {
    let (agent, editor) = (model.key_of(Action::TellAgent), model.key_of(Action::SolveConflicts));
    page.say(&format!("  {agent}: let the agent resolve, {editor}: resolve in $EDITOR"), Role::Muted);
}

fn strategies(page: &mut Page<'_>, merge: &Merge) {
    let glyphs = page.cx.theme.glyphs;
    page.rows.push(Row::blank());
    for (at, strategy) in STRATEGIES.iter().enumerate() {
        let (word, means) = merge::describe(*strategy);
        let chosen = at == merge.selected;
        let sign = if chosen { glyphs.selected } else { " " };
        page.rows.push(Row::new(vec![
            Span::decoration(format!("{sign} "), Role::Accent),
            Span::new(
                width::pad(word, 10, width::Align::Left, glyphs.ellipsis),
                if chosen { Role::Strong } else { Role::Text },
            ),
            Span::decoration(means, Role::Muted),
        ]));
    }
}
