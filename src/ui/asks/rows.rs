//! Questions as rows: two lines each in the list, and the card with the question, its choices and the answer.

use crate::base::{AskId, TaskId, sanitize, text};
use crate::model::Ask;
use crate::model::ask::{AskKind, AskReply, ChoiceId, PermissionRequest, RequestedAction, Subject};
use crate::text::markdown;
use crate::text::wrap::{self, Break};
use crate::text::{Page, Row, Span, width};
use crate::theme::{Glyphs, Role};
use crate::ui::asks::State;
use crate::ui::labels;
use crate::ui::msg::Cx;
use crate::ui::project_state::ProjectState;

/// The maximum rows for the details of a question. The transcript shows all of them.
const DETAIL_ROWS: usize = 12;

/// A row and the question it belongs to.
#[derive(Clone, Debug)]
pub struct AskRow {
    pub ask: AskId,
    pub row: Row,
    /// The cursor column, on the row with the cursor.
    pub cursor: Option<usize>,
    /// The index of the choice, on the row of a choice.
    pub choice: Option<usize>,
}

pub fn rows(state: &State, project: &ProjectState, cx: &Cx<'_>, columns: usize) -> Vec<AskRow> {
    let mut out = Vec::new();
    for (task, id) in state.items() {
        let Some(ask) = project.task(*task).and_then(|view| view.asks.iter().find(|ask| ask.id == *id)) else {
            continue;
        };
        head(state, project, cx, *task, ask, columns, &mut out);
        if !state.is_later(*id) {
            let question = with_count(brief(ask), state, *id);
            let room = columns.saturating_sub(4);
            let shown = width::truncate(&question, room, width::Cut::End, cx.theme.glyphs.ellipsis).into_owned();
            out.push(plain(ask.id, Row::new(vec![Span::decoration("   ", Role::Text), Span::new(shown, Role::Muted)])));
        }
    }
    out
}

/// Adds how many tasks wait for the same answer.
pub fn with_count(question: String, state: &State, id: AskId) -> String {
    match state.equal_to(id).len() {
        0 => question,
        others => format!("{question}  ({} tasks)", others + 1),
    }
}

/// Returns a question in one line. Only agents write Markdown; other questions are plain text.
pub fn brief(ask: &Ask) -> String {
    if ask.kind() == AskKind::Clarify {
        markdown::words(&ask.question)
    } else {
        sanitize::line(&ask.question).into_owned()
    }
}

fn plain(ask: AskId, row: Row) -> AskRow {
    AskRow { ask, row, cursor: None, choice: None }
}

fn head(
    state: &State,
    project: &ProjectState,
    cx: &Cx<'_>,
    task: TaskId,
    ask: &Ask,
    columns: usize,
    out: &mut Vec<AskRow>,
) {
    let glyphs = cx.theme.glyphs;
    let later = state.is_later(ask.id);
    let note = if state.is_sent(ask.id) {
        "sent".to_owned()
    } else if later {
        "later".to_owned()
    } else if let Some(deadline) = ask.deadline {
        labels::remaining(deadline, cx.now)
    } else {
        labels::ask_subject(&ask.subject).to_owned()
    };
    let room = columns.saturating_sub(5 + width::of(&note));
    let title = project.title(task);
    let title = width::truncate(&title, room, width::Cut::End, glyphs.ellipsis).into_owned();
    let gap = columns.saturating_sub(4 + width::of(&title) + width::of(&note));
    let (sign, strong) = if later { (Role::Faint, Role::Faint) } else { (Role::Ask, Role::Strong) };
    out.push(plain(
        ask.id,
        Row::new(vec![
            Span::decoration(" ", Role::Text),
            Span::decoration(glyphs.ask, sign),
            Span::decoration(" ", Role::Text),
            Span::new(title, strong),
            Span::decoration(" ".repeat(gap), Role::Text),
            Span::decoration(note, Role::Faint),
        ]),
    ));
}

/// Returns the rows of a card in at most `height` rows: the question and its details are cut first, the answer never.
pub fn card(state: &State, cx: &Cx<'_>, ask: &Ask, columns: usize, height: usize) -> Vec<AskRow> {
    let mut question = match &ask.subject {
        Subject::Permission(request) => call_rows(state, cx, ask, request, columns),
        _ => question_rows(cx, ask, columns),
    };
    let mut answer = choice_rows(ask, columns);
    if !answer.is_empty() {
        answer.insert(0, plain(ask.id, Row::blank()));
    }
    answer.push(plain(ask.id, Row::blank()));
    field_rows(state, cx.theme.glyphs, ask, columns, &mut answer);
    // Blank rows go before words do.
    if question.len() + answer.len() > height {
        answer.retain(|row| row.cursor.is_some() || row.choice.is_some() || row.row.width() > 0);
    }
    let room = height.saturating_sub(answer.len());
    if question.len() > room {
        let hidden = question.len() - room.saturating_sub(1);
        question.truncate(room.saturating_sub(1));
        if room > 0 {
            let more = format!(
                " {} {} more in the transcript",
                cx.theme.glyphs.ellipsis,
                text::count(hidden, "line", "lines")
            );
            question.push(plain(ask.id, Row::of(more, Role::Faint)));
        }
    }
    let surplus = (question.len() + answer.len()).saturating_sub(height);
    question.into_iter().chain(answer).skip(surplus).collect()
}

/// Returns a call that waits for permission: the command or the change, and why it is asked.
fn call_rows(state: &State, cx: &Cx<'_>, ask: &Ask, request: &PermissionRequest, columns: usize) -> Vec<AskRow> {
    let indent = [Span::decoration(" ", Role::Text)];
    let room = columns.saturating_sub(2);
    let code = |language: &str, text: &str| {
        // A fence is longer than any in the text.
        let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        let rows = markdown::render(&format!("{fence}{language}\n{text}\n{fence}"), Page::new(room, cx.theme.glyphs));
        rows.into_iter().map(|row| Row { spans: indent.iter().cloned().chain(row.spans).collect(), ..row })
    };
    let line = |text: &str, role: Role| {
        let spans = [Span::new(width::visible(text).into_owned(), role)];
        wrap::spans(&spans, columns.saturating_sub(1), &indent, &indent, Break::Words)
    };
    let mut rows = Vec::new();
    match &request.action {
        RequestedAction::Command { command } => rows.extend(code("sh", command)),
        RequestedAction::Edit { diff, .. } if !diff.is_empty() => {
            rows.extend(line(&request.headline(), Role::Strong));
            rows.extend(code("diff", diff.trim_end()));
        }
        RequestedAction::Coordinate { input, .. } | RequestedAction::External { input } => {
            rows.extend(line(&request.headline(), Role::Strong));
            rows.extend(code("json", input));
        }
        RequestedAction::Edit { .. } | RequestedAction::Read { .. } | RequestedAction::Network { .. } => {
            rows.extend(line(&request.headline(), Role::Strong));
        }
    }
    let others = match state.equal_to(ask.id).len() {
        0 => String::new(),
        others => format!("{} tasks wait for this. ", others + 1),
    };
    let hidden = rows.len().saturating_sub(DETAIL_ROWS);
    rows.truncate(DETAIL_ROWS);
    if hidden > 0 {
        let more = format!("{} {}", cx.theme.glyphs.ellipsis, text::count(hidden, "more line", "more lines"));
        rows.extend(line(&more, Role::Faint));
    }
    rows.extend(line(&format!("{others}Asked because: {}.", request.cause), Role::Muted));
    rows.into_iter().map(|row| plain(ask.id, row)).collect()
}

/// Returns the question and its details.
fn question_rows(cx: &Cx<'_>, ask: &Ask, columns: usize) -> Vec<AskRow> {
    let mut out = Vec::new();
    let indent = [Span::decoration(" ", Role::Text)];
    let room = columns.saturating_sub(1);
    let paragraph = |text: &str, role: Role| {
        let visible = width::visible(text);
        let lines = visible.lines().map(|line| vec![Span::new(line.to_owned(), role)]);
        lines.flat_map(|line| wrap::spans(&line, room, &indent, &indent, Break::Words)).collect::<Vec<_>>()
    };
    // Only agents write Markdown; other questions are plain text.
    let prose = |text: &str| {
        let rows = markdown::render(text, Page::new(room.saturating_sub(1), cx.theme.glyphs));
        let indented = |row: Row| Row { spans: indent.iter().cloned().chain(row.spans).collect(), ..row };
        rows.into_iter().map(indented).collect::<Vec<_>>()
    };
    let is_prose = matches!(ask.kind(), AskKind::Clarify | AskKind::Plan);
    let is_plan = ask.kind() == AskKind::Plan;
    let plan = match &ask.subject {
        Subject::Plan(plan) => Some(plan.document()),
        _ => None,
    };
    // A plan has its title.
    let question = match &plan {
        Some(_) => Vec::new(),
        None if is_prose => prose(&ask.question),
        None => paragraph(&ask.question, Role::Text),
    };
    out.extend(question.into_iter().map(|row| plain(ask.id, row)));
    let detail = plan.as_deref().unwrap_or(&ask.detail).trim();
    let detail = if is_prose { prose(detail) } else { paragraph(detail, Role::Muted) };
    if is_prose && !is_plan && !detail.is_empty() {
        out.push(plain(ask.id, Row::blank()));
    }
    let hidden = detail.len().saturating_sub(DETAIL_ROWS);
    out.extend(detail.into_iter().take(DETAIL_ROWS).map(|row| plain(ask.id, row)));
    if hidden > 0 {
        let more =
            format!(" {} {} more in the transcript", cx.theme.glyphs.ellipsis, text::count(hidden, "line", "lines"));
        out.push(plain(ask.id, Row::of(more, Role::Faint)));
    }
    out
}

fn choice_rows(ask: &Ask, columns: usize) -> Vec<AskRow> {
    let mut out = Vec::new();
    for (number, choice) in ask.choices.iter().enumerate() {
        let default = ask.default.as_ref().is_some_and(|default| *default == AskReply::Choice(choice.id.clone()));
        let key = if number < 9 { format!("{}", number + 1) } else { " ".to_owned() };
        let gap = |columns: usize| Span::decoration(" ".repeat(columns), Role::Text);
        let first = [gap(3), Span::decoration(key, Role::Accent), gap(1)];
        let rest = [gap(5)];
        let mut line = vec![Span::new(width::visible(&choice.label).into_owned(), Role::Text)];
        if default {
            line.push(Span::decoration(" (default)", Role::Faint));
        }
        for row in wrap::spans(&line, columns.saturating_sub(1), &first, &rest, Break::Words) {
            out.push(AskRow { ask: ask.id, row, cursor: None, choice: Some(number) });
        }
    }
    out
}

/// Returns the columns that the answer has in a card.
pub fn answer_width(columns: u16) -> usize {
    usize::from(columns).saturating_sub(5).max(1)
}

fn field_rows(state: &State, glyphs: &Glyphs, ask: &Ask, columns: usize, out: &mut Vec<AskRow>) {
    let row = |words: String, prompt: &str, role: Role| {
        Row::new(vec![Span::decoration(format!(" {prompt} "), Role::Accent), Span::new(words, role)])
    };
    let draft = state.draft(ask.id).filter(|draft| !draft.is_empty());
    let Some(draft) = draft else {
        let offers_rule = ask.choices.iter().any(|choice| choice.id == ChoiceId::Project);
        let words = match ask.choices.len() {
            count if offers_rule => format!("1-{count} to choose, e to edit the rule, or say why not"),
            count if ask.kind() == AskKind::Plan => {
                format!("1-{count} to choose, e to edit the plan, or say what to change")
            }
            count if ask.kind() == AskKind::Permission => format!("1-{count} to choose, or say why not"),
            0 => "type your answer".to_owned(),
            1 => "1 to choose, or type your answer".to_owned(),
            count => format!("1-{} to choose, or type your answer", count.min(9)),
        };
        let row = row(words, glyphs.prompt, Role::Placeholder);
        return out.push(AskRow { ask: ask.id, row, cursor: Some(3), choice: None });
    };
    if state.edits_proposal(ask.id) {
        let note = match ask.kind() {
            AskKind::Plan => {
                " Enter approves the plan in this form. Ctrl-G opens it in the editor. Esc leaves it as it was."
            }
            _ => " Enter allows the call and saves this rule for the project. Esc leaves the rule as it was.",
        };
        out.push(plain(ask.id, Row::of(note, Role::Muted)));
    }
    let rows = draft.rows(answer_width(u16::try_from(columns).unwrap_or(u16::MAX)));
    let (cursor_row, column) = rows.place(draft.shown(), draft.cursor());
    let meaning = choice_typed(ask, &draft.content());
    for (number, range) in rows.iter().enumerate() {
        let prompt = if number == 0 { glyphs.prompt } else { " " };
        let shown = draft.shown()[range.clone()].trim_end_matches('\n').replace('\t', " ");
        let mut row = row(width::visible(&shown).into_owned(), prompt, Role::Text);
        if let Some(label) = meaning {
            row.push(Span::decoration(format!("  {} ", glyphs.arrow_right), Role::Faint));
            row.push(Span::decoration(width::visible(label).into_owned(), Role::Muted));
            row.truncate(columns.saturating_sub(1), glyphs.ellipsis);
        }
        let cursor = (number == cursor_row).then_some(3 + column);
        out.push(AskRow { ask: ask.id, row, cursor, choice: None });
    }
}

/// Returns the choice whose number is the whole answer.
fn choice_typed<'a>(ask: &'a Ask, answer: &str) -> Option<&'a str> {
    let number = answer.trim().parse::<usize>().ok()?;
    ask.choices.get(number.checked_sub(1)?).map(|choice| choice.label.as_str())
}

#[cfg(test)]
#[path = "rows_tests.rs"]
mod tests;
