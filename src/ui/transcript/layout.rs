//! Lays out entries as styled rows. Pure: the rows depend only on the entry and [`Page`].
//!
//! Every row starts with a gutter of three columns: cursor, glyph, gap. A folded entry is one row; an unfolded entry
//! has a bounded number of rows and names the place of the rest.

mod prose;
mod tool;

use crate::base::{sanitize, text};
use crate::model::ask::{AnsweredBy, Ask, AskKind, Subject};
use crate::model::event::{CompactTrigger, ErrorNote, Verdict};
use crate::text::width::{self, Cut};
use crate::text::wrap::{self, Break};
use crate::text::{MEASURE, Row, Span};
use crate::theme::{Glyphs, Role};
use crate::ui::labels;
use crate::ui::transcript::entry::{DeliveryState, Entry, EntryKind, Tone};

/// The maximum bytes of a text that is shown in one row.
pub(super) const ROW: usize = 2_000;
/// The maximum bytes of a notice.
const NOTICE: usize = 8 * 1024;

pub use prose::{last_output, markdown_page, plain, prose};
pub use tool::{PendingCall, call_line, pending_call, shown_name, subject, verb};

/// The columns of the gutter.
pub const GUTTER: usize = 3;

/// The parameters of a layout.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    pub width: usize,
    pub unfolded: bool,
    pub glyphs: &'static Glyphs,
    pub zone: &'a jiff::tz::TimeZone,
}

impl Page<'_> {
    /// Returns the columns available for text. Between it and the scroll bar is a gap.
    pub fn room(&self) -> usize {
        self.width.saturating_sub(GUTTER + 2).max(1)
    }

    /// Returns the columns of a line with something at its right end: wider, and nobody would read them together.
    pub fn line_room(&self) -> usize {
        self.room().min(MEASURE)
    }

    /// Returns the columns of such a line with its gutter.
    pub fn line_width(&self) -> u16 {
        u16::try_from(GUTTER + self.line_room()).unwrap_or(u16::MAX)
    }
}

pub fn rows(entry: &Entry, page: &Page<'_>) -> Vec<Row> {
    let mut rows = match &entry.kind {
        EntryKind::UserMessage { text, images, delivery, .. } => {
            user_message(entry, text, images.len(), *delivery, page)
        }
        EntryKind::Text { text } => gutter(prose(text, page), " ", Role::Agent),
        EntryKind::Thinking { text, hidden } => thinking(text, *hidden, page),
        EntryKind::Tool(tool) => tool::rows(tool, page),
        EntryKind::TaskMessage { name, text, reply, .. } => task_message(name, text, *reply, page),
        EntryKind::Completion { title, verdict, text, .. } => {
            outcome(*verdict, &format!("\"{title}\" {}", verdict_word(*verdict)), text, page)
        }
        EntryKind::Done { verdict, text } => outcome(*verdict, verdict_word(*verdict), text, page),
        EntryKind::Ask { ask, answer, withdrawn } => {
            let mut rows = question(ask, answer.is_none() && withdrawn.is_none(), page);
            if let Some(answer) = answer {
                let by = match answer.by {
                    AnsweredBy::User => "you",
                    AnsweredBy::Timeout => "no answer in time, default used",
                    AnsweredBy::Task => "the task above",
                    AnsweredBy::Rule => "decided without you",
                };
                rows.extend(under(&format!("{by}: {}", answer.text), Role::User, page));
            }
            // An answered question is also withdrawn, once the agent has the answer.
            if let Some(reason) = withdrawn.as_ref().filter(|_| answer.is_none()) {
                rows.extend(under(&format!("question dropped: {reason}"), Role::Muted, page));
            }
            rows
        }
        EntryKind::Compaction { trigger, done } => compaction(*trigger, done.as_ref(), page),
        EntryKind::Error(note) => error(note, page),
        EntryKind::Separator { text } => {
            let time = labels::time_of_day(entry.at, page.zone);
            vec![time_line(&if text.is_empty() { time } else { format!("{text}  {time}") }, page)]
        }
        EntryKind::Notice { tone, text, more } => notice(*tone, text, more, page),
        EntryKind::Writing { name, bytes } => {
            let text = format!("writing {} {}", verb(name), text::size(*bytes));
            one_line(page.glyphs.dot, Role::Working, vec![Span::new(text, Role::Muted)], Vec::new(), page)
        }
    };
    if entry.undone {
        for span in rows.iter_mut().flat_map(|row| &mut row.spans) {
            span.ink.over = Some(Role::Faint);
        }
    }
    rows
}

/// Returns the rows between an entry and the one before it: a blank row, or the date if it changed.
pub fn lead(before: Option<&Entry>, entry: &Entry, page: &Page<'_>) -> Vec<Row> {
    let Some(before) = before else { return Vec::new() };
    let mut rows = Vec::new();
    if !labels::same_day(before.at, entry.at, page.zone) {
        rows.push(Row::blank());
        rows.push(time_line(&labels::day(entry.at, page.zone), page));
        rows.push(Row::blank());
    } else if before.kind.line_group().is_none() || before.kind.line_group() != entry.kind.line_group() {
        rows.push(Row::blank());
    }
    rows
}

/// Prepends the gutter, with a glyph on the first row.
pub fn gutter(rows: Vec<Row>, sign: &'static str, role: Role) -> Vec<Row> {
    gutter_all(rows, |at| if at == 0 { (sign, role) } else { (" ", Role::Text) })
}

fn gutter_all(mut rows: Vec<Row>, sign: impl Fn(usize) -> (&'static str, Role)) -> Vec<Row> {
    for (at, row) in rows.iter_mut().enumerate() {
        let (sign, role) = sign(at);
        let head = [Span::decoration(" ", Role::Text), Span::decoration(sign, role), Span::decoration(" ", Role::Text)];
        row.spans.splice(0..0, head);
    }
    rows
}

/// Returns one row with a glyph on the left and spans on the right.
pub fn one_line(sign: &'static str, role: Role, left: Vec<Span>, right: Vec<Span>, page: &Page<'_>) -> Vec<Row> {
    let right_width: usize = right.iter().map(Span::width).sum();
    let room = page.line_room().saturating_sub(right_width + usize::from(right_width > 0) * 2);
    let mut row = Row::new(left);
    row.truncate(room.max(1), page.glyphs.ellipsis);
    let gap = page.line_room().saturating_sub(row.width() + right_width);
    if right_width > 0 {
        row.push(Span::decoration(" ".repeat(gap), Role::Text));
        row.spans.extend(right);
    }
    gutter(vec![row], sign, role)
}

/// Returns text below the first row of an entry.
fn under(text: &str, role: Role, page: &Page<'_>) -> Vec<Row> {
    gutter(plain(text, role, page.room()), " ", Role::Text)
}

/// Returns a row with a time and what began then, at the right end.
fn time_line(text: &str, page: &Page<'_>) -> Row {
    let text = width::truncate(text, page.line_room(), Cut::End, page.glyphs.ellipsis).into_owned();
    let gap = page.line_room().saturating_sub(width::of(&text));
    Row::new(vec![Span::decoration(" ".repeat(GUTTER + gap), Role::Text), Span::new(text, Role::Separator)])
}

fn user_message(entry: &Entry, text: &str, images: usize, delivery: DeliveryState, page: &Page<'_>) -> Vec<Row> {
    let role = match delivery {
        DeliveryState::Sent | DeliveryState::Read => Role::User,
        DeliveryState::Withdrawn => Role::Strike,
    };
    let mut head = vec![Span::decoration("You ", Role::User)];
    head.push(Span::decoration(labels::time_of_day(entry.at, page.zone), Role::Muted));
    match delivery {
        DeliveryState::Sent => head.push(Span::decoration(" queued", Role::Waiting)),
        DeliveryState::Withdrawn => head.push(Span::decoration(" withdrawn", Role::Muted)),
        DeliveryState::Read => {}
    }
    if images > 0 {
        head.push(Span::decoration(format!(" {}", text::count(images, "image", "images")), Role::Muted));
    }
    let text_role = if delivery == DeliveryState::Withdrawn { Role::Strike } else { Role::Text };
    let mut rows = vec![Row::new(head)];
    rows.extend(plain(text, text_role, page.room()));
    let rows = gutter_all(rows, |_| (page.glyphs.quote_bar, role));
    rows.into_iter().map(|row| row.on(Role::UserBg)).collect()
}

fn thinking(text: &str, hidden: bool, page: &Page<'_>) -> Vec<Row> {
    if hidden {
        return one_line(
            page.glyphs.dot,
            Role::Thinking,
            vec![Span::new("thinking (hidden)", Role::Thinking)],
            Vec::new(),
            page,
        );
    }
    if page.unfolded {
        let mut rows = vec![Row::of("thinking", Role::Thinking)];
        rows.extend(prose::long_text(text.trim(), Role::Thinking, page));
        return gutter(rows, page.glyphs.unfolded, Role::Thinking);
    }
    let headline = text.trim_start().lines().next().unwrap_or_default();
    let headline = sanitize::line(text::prefix(headline, ROW)).into_owned();
    let left = vec![Span::decoration("thinking  ", Role::Thinking), Span::new(headline, Role::Thinking)];
    one_line(page.glyphs.folded, Role::Thinking, left, Vec::new(), page)
}

fn task_message(name: &str, text: &str, reply: bool, page: &Page<'_>) -> Vec<Row> {
    let mut head = vec![Span::decoration("from ", Role::Muted), Span::new(name.to_owned(), Role::Message)];
    if reply {
        head.push(Span::decoration("  expects a reply", Role::Waiting));
    }
    let mut rows = vec![Row::new(head)];
    rows.extend(fold(prose(text, page), 6, page));
    gutter(rows, page.glyphs.arrow_left, Role::Message)
}

fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Passed => "done",
        Verdict::Failed => "failed",
    }
}

fn outcome(verdict: Verdict, head: &str, text: &str, page: &Page<'_>) -> Vec<Row> {
    let (sign, role) = match verdict {
        Verdict::Passed => (page.glyphs.passed, Role::Ok),
        Verdict::Failed => (page.glyphs.failed, Role::Error),
    };
    let mut rows = vec![Row::of(head.to_owned(), role)];
    rows.extend(fold(prose(text, page), 8, page));
    gutter(rows, sign, role)
}

fn question(ask: &Ask, pending: bool, page: &Page<'_>) -> Vec<Row> {
    let role = if pending { Role::Ask } else { Role::Muted };
    let mut rows = match &ask.subject {
        Subject::Plan(plan) => prose(&plan.document(), page),
        Subject::Clarify => prose(&ask.question, page),
        _ => plain(&ask.question, if pending { Role::Strong } else { Role::Text }, page.room()),
    };
    let detail = ask.detail.trim();
    let is_prose = matches!(ask.kind(), AskKind::Clarify | AskKind::Plan);
    if is_prose && !detail.is_empty() {
        // Agents write Markdown.
        rows.push(Row::blank());
        rows.extend(prose(detail, page));
    } else {
        rows.extend(plain(detail, Role::Muted, page.room()));
    }
    if pending && is_prose && (ask.kind() == AskKind::Plan || !detail.is_empty()) && !ask.choices.is_empty() {
        rows.push(Row::blank());
    }
    if pending {
        for (number, choice) in ask.choices.iter().enumerate() {
            let key = [Span::decoration(format!("{} ", number + 1), Role::Key)];
            let rest = [Span::decoration("  ", Role::Text)];
            let choice = [Span::new(sanitize::line(&choice.label).into_owned(), Role::Text)];
            rows.extend(wrap::spans(&choice, page.room(), &key, &rest, Break::Words));
        }
    }
    let rows = gutter(rows, page.glyphs.ask, role);
    if pending { rows.into_iter().map(|row| row.on(Role::Card)).collect() } else { rows }
}

fn compaction(
    trigger: Option<CompactTrigger>,
    done: Option<&crate::ui::transcript::entry::Summary>,
    page: &Page<'_>,
) -> Vec<Row> {
    let why = match trigger {
        Some(CompactTrigger::Threshold) | None => "",
        Some(CompactTrigger::Manual) => ", on request",
        Some(CompactTrigger::Overflow) => ", because it was too long for the model",
    };
    let Some(done) = done else {
        let text = format!("summarising the conversation{why}");
        return one_line(page.glyphs.dot, Role::Working, vec![Span::new(text, Role::Notice)], Vec::new(), page);
    };
    let text = format!("summarised{why}");
    let right = vec![Span::new(
        format!("{} to {} tokens", labels::tokens(done.before), labels::tokens(done.after)),
        Role::Muted,
    )];
    let sign = if page.unfolded { page.glyphs.unfolded } else { page.glyphs.folded };
    let mut rows = one_line(sign, Role::Notice, vec![Span::new(text, Role::Notice)], right, page);
    if page.unfolded {
        rows.extend(gutter(prose(&done.text, page), " ", Role::Text));
    }
    rows
}

fn error(note: &ErrorNote, page: &Page<'_>) -> Vec<Row> {
    let mut rows = plain(&note.message, Role::Error, page.room());
    if let Some(attempt) = note.attempt {
        let wait = labels::duration(attempt.wait_ms);
        let text = format!("retried after {wait} (attempt {} of {})", attempt.number, attempt.of);
        rows.extend(plain(&text, Role::Muted, page.room()));
    }
    gutter(rows, page.glyphs.failed, Role::Error)
}

fn notice(tone: Tone, text: &str, more: &str, page: &Page<'_>) -> Vec<Row> {
    let role = match tone {
        Tone::Quiet => Role::Notice,
        Tone::Warn => Role::Warn,
        Tone::Error => Role::Error,
    };
    let sign = match (more.is_empty(), page.unfolded) {
        (true, _) => page.glyphs.dot,
        (false, true) => page.glyphs.unfolded,
        (false, false) => page.glyphs.folded,
    };
    // With details the first line is enough; without, show the whole text.
    let text = sanitize::line(text::prefix(text, NOTICE)).into_owned();
    let mut rows = if more.is_empty() {
        gutter(fold(plain(&text, role, page.room()), 4, page), sign, role)
    } else {
        one_line(sign, role, vec![Span::new(text, role)], Vec::new(), page)
    };
    if page.unfolded && !more.is_empty() {
        rows.extend(gutter(prose::long_prose(more, Role::Muted, page), " ", Role::Text));
    }
    rows
}

/// Cuts folded rows to `most` and adds how many are hidden.
fn fold(mut rows: Vec<Row>, most: usize, page: &Page<'_>) -> Vec<Row> {
    if !page.unfolded && rows.len() > most + 1 {
        let hidden = rows.len() - most;
        rows.truncate(most);
        let more = format!("{} {} more", page.glyphs.ellipsis, text::count(hidden, "line", "lines"));
        rows.push(Row::new(vec![Span::decoration(more, Role::Faint)]));
    }
    rows
}

#[cfg(test)]
#[path = "layout_tests.rs"]
mod tests;
