//! How entries look: rows of roles at a width. Pure; what it gives depends on nothing but the entry and [`Page`].
//!
//! Every row opens with a gutter of three columns: one for the cursor, one for the sign of the entry, one of air. What
//! is folded is one row; unfolding never shows more than a bounded number of rows, and says where the rest is.

mod prose;
mod tool;

use crate::base::{sanitize, text};
use crate::model::ask::{AnsweredBy, Ask, AskKind};
use crate::model::event::{CompactTrigger, ErrorNote, Verdict};
use crate::text::width::{self, Cut};
use crate::text::wrap::{self, Break};
use crate::text::{Row, Span};
use crate::theme::{Glyphs, Role};
use crate::ui::transcript::entry::{Entry, Kind, Reached, Tone};
use crate::ui::words;

/// The most bytes of a line of which no more than a row is seen.
pub(super) const ROW: usize = 2_000;
/// The most bytes of a notice that are laid out.
const NOTICE: usize = 8 * 1024;

pub use prose::{last_printed, markdown_page, plain, prose};
pub use tool::{Open, open, shown_name, subject, verb};

/// The columns before what an entry says.
pub const GUTTER: usize = 3;

/// Where and how entries are laid out.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    pub width: usize,
    pub unfolded: bool,
    pub glyphs: &'static Glyphs,
    pub zone: &'a jiff::tz::TimeZone,
}

impl Page<'_> {
    /// Returns the columns that text has.
    pub fn room(&self) -> usize {
        self.width.saturating_sub(GUTTER + 1).max(1)
    }
}

/// Returns the rows of an entry.
pub fn rows(entry: &Entry, page: &Page<'_>) -> Vec<Row> {
    let mut rows = match &entry.kind {
        Kind::Said { text, images, reached, .. } => said(entry, text, images.len(), *reached, page),
        Kind::Text { text } => gutter(prose(text, page), " ", Role::Agent),
        Kind::Thinking { text, hidden } => thinking(text, *hidden, page),
        Kind::Tool(tool) => tool::rows(tool, page),
        Kind::Letter { name, text, reply, .. } => letter(name, text, *reply, page),
        Kind::Completion { title, verdict, text, .. } => {
            outcome(*verdict, &format!("\"{title}\" {}", verdict_word(*verdict)), text, page)
        }
        Kind::Done { verdict, text } => outcome(*verdict, verdict_word(*verdict), text, page),
        Kind::Ask { ask, answer, withdrawn } => {
            let mut rows = question(ask, answer.is_none() && withdrawn.is_none(), page);
            if let Some(answer) = answer {
                let by = match answer.by {
                    AnsweredBy::Person => "you",
                    AnsweredBy::Timeout => "nobody answered in time",
                };
                rows.extend(under(&format!("{by}: {}", answer.text), Role::User, page));
            }
            // One that was answered is withdrawn as well, when the answer has reached the agent.
            if let Some(reason) = withdrawn.as_ref().filter(|_| answer.is_none()) {
                rows.extend(under(&format!("no longer asked: {reason}"), Role::Muted, page));
            }
            rows
        }
        Kind::Compaction { trigger, done } => compaction(*trigger, done.as_ref(), page),
        Kind::Error(note) => error(note, page),
        Kind::Separator { text } => {
            vec![rule(&format!("{} {}", words::time_of_day(entry.at, page.zone), text), page)]
        }
        Kind::Notice { tone, text, more } => notice(*tone, text, more, page),
        Kind::Writing { name, bytes } => {
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

/// Returns what stands between an entry and the one before it: air, and the day where it changed.
pub fn lead(before: Option<&Entry>, entry: &Entry, page: &Page<'_>) -> Vec<Row> {
    let Some(before) = before else { return Vec::new() };
    let mut rows = Vec::new();
    if !words::same_day(before.at, entry.at, page.zone) {
        rows.push(Row::blank());
        rows.push(rule(&words::day(entry.at, page.zone), page));
        rows.push(Row::blank());
    } else if before.kind.sort().is_none() || before.kind.sort() != entry.kind.sort() {
        rows.push(Row::blank());
    }
    rows
}

/// Puts the gutter before rows, with a sign on the first.
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

/// Returns one row with a sign, and something at the right end of it.
pub fn one_line(sign: &'static str, role: Role, left: Vec<Span>, right: Vec<Span>, page: &Page<'_>) -> Vec<Row> {
    let right_width: usize = right.iter().map(Span::width).sum();
    let room = page.room().saturating_sub(right_width + usize::from(right_width > 0) * 2);
    let mut row = Row::new(left);
    row.truncate(room.max(1), page.glyphs.ellipsis);
    let gap = page.room().saturating_sub(row.width() + right_width);
    if right_width > 0 {
        row.push(Span::decoration(" ".repeat(gap), Role::Text));
        row.spans.extend(right);
    }
    gutter(vec![row], sign, role)
}

/// Returns a text below the first line of an entry, one step in.
fn under(text: &str, role: Role, page: &Page<'_>) -> Vec<Row> {
    gutter(plain(text, role, page.room()), " ", Role::Text)
}

fn rule(text: &str, page: &Page<'_>) -> Row {
    let text = width::truncate(text, page.room().saturating_sub(8), Cut::End, page.glyphs.ellipsis).into_owned();
    let line = page.glyphs.rule;
    let after = page.room().saturating_sub(width::of(&text) + 4);
    Row::new(vec![
        Span::decoration("   ", Role::Text),
        Span::decoration(format!("{} ", line.repeat(2)), Role::Separator),
        Span::new(text, Role::Muted),
        Span::decoration(format!(" {}", line.repeat(after)), Role::Separator),
    ])
}

fn said(entry: &Entry, text: &str, images: usize, reached: Reached, page: &Page<'_>) -> Vec<Row> {
    let role = match reached {
        Reached::Sent | Reached::Read => Role::User,
        Reached::Withdrawn => Role::Strike,
    };
    let mut head = vec![Span::decoration("you ", Role::User)];
    head.push(Span::decoration(words::time_of_day(entry.at, page.zone), Role::Muted));
    match reached {
        Reached::Sent => head.push(Span::decoration(" not read yet", Role::Waiting)),
        Reached::Withdrawn => head.push(Span::decoration(" taken back", Role::Muted)),
        Reached::Read => {}
    }
    if images > 0 {
        head.push(Span::decoration(format!(" {}", text::count(images, "picture", "pictures")), Role::Muted));
    }
    let text_role = if reached == Reached::Withdrawn { Role::Strike } else { Role::Text };
    let mut rows = vec![Row::new(head)];
    rows.extend(plain(text, text_role, page.room()));
    gutter_all(rows, |_| (page.glyphs.quote_bar, role))
}

fn thinking(text: &str, hidden: bool, page: &Page<'_>) -> Vec<Row> {
    if hidden {
        return one_line(
            page.glyphs.dot,
            Role::Thinking,
            vec![Span::new("thought, not shown", Role::Thinking)],
            Vec::new(),
            page,
        );
    }
    if page.unfolded {
        let mut rows = vec![Row::of("thinking", Role::Thinking)];
        rows.extend(prose::long(text.trim(), Role::Thinking, page));
        return gutter(rows, page.glyphs.unfolded, Role::Thinking);
    }
    let headline = text.trim_start().lines().next().unwrap_or_default();
    let headline = sanitize::line(text::prefix(headline, ROW)).into_owned();
    let left = vec![Span::decoration("thinking  ", Role::Thinking), Span::new(headline, Role::Thinking)];
    one_line(page.glyphs.folded, Role::Thinking, left, Vec::new(), page)
}

fn letter(name: &str, text: &str, reply: bool, page: &Page<'_>) -> Vec<Row> {
    let mut head = vec![Span::decoration("from ", Role::Muted), Span::new(name.to_owned(), Role::Message)];
    if reply {
        head.push(Span::decoration("  wants an answer", Role::Waiting));
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
    let mut rows = if ask.kind() == AskKind::Clarify {
        prose(&ask.question, page)
    } else {
        plain(&ask.question, if pending { Role::Strong } else { Role::Text }, page.room())
    };
    let detail = ask.detail.trim();
    if ask.kind() == AskKind::Clarify && !detail.is_empty() {
        // What agents write is Markdown.
        rows.push(Row::blank());
        rows.extend(prose(detail, page));
        if pending && !ask.choices.is_empty() {
            rows.push(Row::blank());
        }
    } else {
        rows.extend(plain(detail, Role::Muted, page.room()));
    }
    if pending {
        for (number, choice) in ask.choices.iter().enumerate() {
            let key = [Span::decoration(format!("{} ", number + 1), Role::Key)];
            let rest = [Span::decoration("  ", Role::Text)];
            let choice = [Span::new(sanitize::line(&choice.label).into_owned(), Role::Text)];
            rows.extend(wrap::spans(&choice, page.room(), &key, &rest, Break::Words));
        }
    }
    gutter(rows, page.glyphs.ask, role)
}

fn compaction(
    trigger: Option<CompactTrigger>,
    done: Option<&crate::ui::transcript::entry::Summary>,
    page: &Page<'_>,
) -> Vec<Row> {
    let why = match trigger {
        Some(CompactTrigger::Threshold) | None => "",
        Some(CompactTrigger::Manual) => ", as you asked",
        Some(CompactTrigger::Overflow) => ", because it was too long",
    };
    let Some(done) = done else {
        let text = format!("summarising the conversation{why}");
        return one_line(page.glyphs.dot, Role::Working, vec![Span::new(text, Role::Notice)], Vec::new(), page);
    };
    let text = format!("summarised{why}");
    let right =
        vec![Span::new(format!("{} to {} tokens", words::tokens(done.before), words::tokens(done.after)), Role::Muted)];
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
        let wait = words::duration(attempt.wait_ms);
        let text = format!("tried again after {wait}, {} of {} times", attempt.number, attempt.of);
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
    // What is behind it says the rest; where nothing is, every word is said here.
    let text = sanitize::line(text::prefix(text, NOTICE)).into_owned();
    let mut rows = if more.is_empty() {
        gutter(fold(plain(&text, role, page.room()), 4, page), sign, role)
    } else {
        one_line(sign, role, vec![Span::new(text, role)], Vec::new(), page)
    };
    if page.unfolded && !more.is_empty() {
        rows.extend(gutter(prose::told(more, Role::Muted, page), " ", Role::Text));
    }
    rows
}

/// Cuts rows to `most` while folded, and says how many there are.
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
#[path = "lay_tests.rs"]
mod tests;
