//! The bottom line: the keys that matter now, from the keymap; while a chord is pending, its possible next keys.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::engine::snapshot::{TaskState, TaskView};
use crate::model::Status;
use crate::model::live::Activity;
use crate::text::width;
use crate::theme::Role;
use crate::ui::action::{Action, Context, TABLE};
use crate::ui::detail::Tab;
use crate::ui::draw;
use crate::ui::labels;
use crate::ui::layer::{BoardKind, ChooserAction, Layer, PromptPurpose};
use crate::ui::layout::Pane;
use crate::ui::model::Model;
use crate::ui::msg::Cx;
use crate::ui::transcript::EntryKind;

struct Hint {
    action: Action,
    key: String,
    label: String,
}

impl Hint {
    /// Returns the width including the gap after it.
    fn columns(&self) -> usize {
        width::of(&self.key) + width::of(&self.label) + 3
    }
}

pub fn view(model: &Model, cx: &Cx<'_>, area: Rect, buffer: &mut Buffer) {
    let theme = cx.theme;
    draw::tint(buffer, area, theme.style(Role::Footer));
    if !model.keys.is_empty() {
        let end = draw::text(buffer, area, (1, 0), &format!("{} …", pending_chord(model)), theme.style(Role::Key));
        draw::text(buffer, area, (end - area.x + 2, 0), "Esc cancel", theme.style(Role::Footer));
        return;
    }
    for (hint, x) in place_hints(model, area) {
        let end = draw::text(buffer, area, (x, 0), &hint.key, theme.style(Role::Key));
        draw::text(buffer, area, (end - area.x + 1, 0), &hint.label, theme.style(Role::Footer));
    }
}

/// Returns the action whose hint is at a column of `area`.
pub fn action_at(model: &Model, area: Rect, x: u16) -> Option<Action> {
    let column = usize::from(x.checked_sub(area.x)?);
    let hints = place_hints(model, area).into_iter();
    hints
        .map(|(hint, at)| (hint.action, usize::from(at), hint.columns() - 2))
        .find_map(|(action, at, columns)| (at..at + columns).contains(&column).then_some(action))
}

/// Returns the hints that fit into `area`, with their columns.
fn place_hints(model: &Model, area: Rect) -> Vec<(Hint, u16)> {
    let columns = usize::from(area.width);
    if !model.keys.is_empty() {
        return Vec::new();
    }
    // Palette, help and quit are always visible, on the right.
    let contexts = model.contexts();
    let pinned: &[Action] =
        if model.layers.is_empty() { &[Action::Palette, Action::Help, Action::Quit] } else { &[Action::Back] };
    let pinned = pinned.iter().copied().filter_map(|action| {
        let chord = model.keymap.shown(&contexts, action)?;
        Some(Hint { action, key: key_label(&chord.to_string()), label: action.spec().label.to_owned() })
    });
    let pinned: Vec<_> = pinned.collect();
    let wide: usize = pinned.iter().map(Hint::columns).sum();
    let start = columns.saturating_sub(wide);
    let mut all = fit_hints(hints(model), 1, start);
    all.extend(fit_hints(pinned, start, columns + 2));
    all
}

fn fit_hints(hints: Vec<Hint>, start: usize, end: usize) -> Vec<(Hint, u16)> {
    let mut next = start;
    let mut placed = Vec::new();
    for hint in hints {
        let at = next;
        next += hint.columns();
        if next > end {
            break;
        }
        placed.push((hint, u16::try_from(at).unwrap_or(u16::MAX)));
    }
    placed
}

/// Returns the keys of the pending chord.
fn pending_chord(model: &Model) -> String {
    model.keys.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// Draws the possible next keys of a pending chord above the bottom line.
pub fn following(model: &Model, cx: &Cx<'_>, screen: Rect, buffer: &mut Buffer) {
    if model.keys.is_empty() {
        return;
    }
    let theme = cx.theme;
    let next = model.keymap.following(&model.contexts(), &model.keys);
    let lines: Vec<_> = next.iter().map(|(key, action)| (key_label(&key.to_string()), action.spec().help)).collect();
    let keys = lines.iter().map(|(key, _)| width::of(key)).max().unwrap_or(0);
    let wide = keys + lines.iter().map(|(_, help)| width::of(help)).max().unwrap_or(0) + 6;
    let wide = u16::try_from(wide).unwrap_or(u16::MAX).min(screen.width);
    let high = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX).min(screen.height.saturating_sub(3));
    let area =
        Rect { x: screen.right() - wide, y: screen.bottom().saturating_sub(high + 1), width: wide, height: high };
    draw::clear(buffer, area, theme, Role::Popup);
    let title = Line::from(pending_chord(model));
    let inner = draw::frame(buffer, area, theme, &title, &Line::default());
    for ((key, help), y) in lines.iter().zip(0..inner.height) {
        draw::text(buffer, inner, (1, y), key, theme.style(Role::Key));
        let column = u16::try_from(keys + 3).unwrap_or(u16::MAX);
        let room = usize::from(inner.width.saturating_sub(column + 1));
        draw::text(buffer, inner, (column, y), &draw::fit(help, room, theme.glyphs), theme.style(Role::Text));
    }
}

/// The weights of the keys of an answer field: those that answer, then the one that puts the question off.
const CHOOSE: u8 = 91;
const LATER: u8 = 90;

/// Returns true if the user is in the answer field of a question.
fn answers_card(model: &Model) -> bool {
    model.layers.is_empty() && model.focus == Pane::Composer && model.card().is_some()
}

/// Returns the digits that answer the question in whose field the user is.
fn choice_keys(model: &Model) -> Option<String> {
    let (_, id) = model.card().filter(|_| answers_card(model))?;
    let count = model.project.ask(id)?.1.choices.len().min(9);
    Some(if count == 1 { "1".to_owned() } else { format!("1-{count}") })
}

fn hints(model: &Model) -> Vec<Hint> {
    // The keys of the panes below a layer would only distract.
    let contexts = model.layers.last().map_or_else(|| model.contexts(), |layer| layer.contexts().to_vec());
    let pinned = [Action::Palette, Action::Help, Action::Quit];
    let mut found: Vec<_> = TABLE
        .iter()
        .filter(|entry| entry.weight > 0 && !pinned.contains(&entry.action) && is_useful(entry.action, model))
        .filter_map(|entry| {
            let key = match (entry.action, choice_keys(model)) {
                (Action::Choose, Some(keys)) => keys,
                (Action::Choose, None) => model.keymap.shown(&contexts, Action::Choose).map(|_| "1-9".to_owned())?,
                (action, _) => key_label(&model.keymap.shown(&contexts, action)?.to_string()),
            };
            let label = label(entry.action, model).unwrap_or(entry.label).to_owned();
            let weight = if entry.action == Action::Choose && answers_card(model) { CHOOSE } else { entry.weight };
            Some((weight, Hint { action: entry.action, key, label }))
        })
        .collect();
    if answers_card(model)
        && let Some(chord) = model.keymap.shown(&contexts, Action::Back)
    {
        let (key, label) = (key_label(&chord.to_string()), "later".to_owned());
        found.push((LATER, Hint { action: Action::Back, key, label }));
    }
    found.sort_by(|(one, a), (other, b)| other.cmp(one).then_with(|| a.key.cmp(&b.key)));
    found.into_iter().map(|(_, hint)| hint).collect()
}

/// Returns the label of an action whose meaning depends on the state.
fn label(action: Action, model: &Model) -> Option<&'static str> {
    if action == Action::Resume {
        let task = model.project.task(model.selected())?;
        return (!labels::has_begun(task)).then_some("start");
    }
    if action == Action::Send && answers_card(model) {
        return Some("answer");
    }
    if action == Action::Open && model.layers.is_empty() && model.focus == Pane::Tree && model.card().is_some() {
        return Some("answer");
    }
    let is_beside = model.focus == Pane::Detail && model.side_tab().is_some();
    if action == Action::FocusNext && model.layers.is_empty() && !is_beside {
        return Some(match model.next_pane() {
            Pane::Tree => "tasks",
            Pane::Asks => "questions",
            Pane::Detail => "task",
            Pane::Composer => "write",
        });
    }
    if action == Action::NextAsk && model.settings.read_only.is_some() {
        return Some("questions");
    }
    match (action, model.layers.last()?) {
        (Action::Open, Layer::Board(board)) => Some(match board.kind {
            BoardKind::Agents => "go to task",
            BoardKind::Settings => "change",
        }),
        (Action::Accept, Layer::Choose(chooser)) => Some(match chooser.chosen()?.pick {
            ChooserAction::Act(_) => "run",
            ChooserAction::Colour(..)
            | ChooserAction::Mode(..)
            | ChooserAction::Theme(_)
            | ChooserAction::Model(_)
            | ChooserAction::Select(_)
            | ChooserAction::Profile(_) => "select",
            ChooserAction::BrokenProfile(_) => "show",
            ChooserAction::HandOver { .. } => "hand over",
            ChooserAction::Notice(Some(_)) => "go to task",
            ChooserAction::Notice(None) => "close",
            ChooserAction::AnswerWith(..) => "answer",
            ChooserAction::SendMessage => "send",
            ChooserAction::MoveBelow { .. } => "move here",
            ChooserAction::Project(_) | ChooserAction::HostProject { .. } => "switch",
            ChooserAction::File(_) => "go to file",
            ChooserAction::Compare(_) => "show",
            ChooserAction::CompareFrom(_) => "from here",
            ChooserAction::Sign(_) | ChooserAction::Client | ChooserAction::Nothing => "close",
        }),
        (Action::Accept, Layer::Search(_)) => Some("go to result"),
        (Action::Accept, Layer::Prompt(prompt)) => Some(match prompt.purpose {
            PromptPurpose::Rename(_) => "rename",
            PromptPurpose::Budget(_) | PromptPurpose::ProjectBudget => "set",
            PromptPurpose::Fork { .. } => "fork",
        }),
        (Action::Accept, Layer::Brief(_)) => Some("start"),
        _ => None,
    }
}

/// Returns a key as printed on a keyboard.
pub fn key_label(key: &str) -> String {
    let words: Vec<_> = key.split(' ').map(capitalize_keys).collect();
    words.join(" ")
}

fn capitalize_keys(key: &str) -> String {
    let Some((held, last)) = key.rsplit_once('-').filter(|(held, last)| !held.is_empty() && !last.is_empty()) else {
        return capitalize(key);
    };
    let held: Vec<_> = held.split('-').map(capitalize).collect();
    let last = if last.chars().count() == 1 { last.to_uppercase() } else { capitalize(last) };
    format!("{}-{last}", held.join("-"))
}

/// Capitalizes a named key such as `enter`.
fn capitalize(key: &str) -> String {
    let mut chars = key.chars();
    match (chars.next(), chars.as_str()) {
        (Some(first), rest) if !rest.is_empty() => format!("{}{rest}", first.to_uppercase()),
        _ => key.to_owned(),
    }
}

/// Returns the transcript entry under the cursor, if the transcript is shown.
fn entry_at_cursor(model: &Model) -> Option<&EntryKind> {
    let transcript = model.detail.transcript(model.selected()).filter(|_| model.detail.tab == Tab::Transcript);
    transcript?.cursor_entry().map(|entry| &entry.kind)
}

/// Returns true if a search is active in the open tab.
fn is_searching(model: &Model) -> bool {
    match model.detail.tab {
        Tab::Transcript => {
            model.detail.transcript(model.selected()).is_some_and(|transcript| transcript.search().is_written())
        }
        Tab::Diff | Tab::Description | Tab::Info | Tab::Log => {
            !model.detail.searching && !model.detail.search.is_empty()
        }
    }
}

/// Actions that change something. They are refused in read-only mode.
const MUTATING: &[Action] = &[
    Action::Write,
    Action::Send,
    Action::CycleMode,
    Action::CyclePermissions,
    Action::ChoosePermissions,
    Action::OpenEditor,
    Action::TextNewline,
    Action::Interrupt,
    Action::Resume,
    Action::Withdraw,
    Action::NewTask,
    Action::NewSubtask,
    Action::Rename,
    Action::Describe,
    Action::Merge,
    Action::Verify,
    Action::CatchUp,
    Action::UndoMerge,
    Action::CancelMerge,
    Action::DoMerge,
    Action::TellAgent,
    Action::SolveConflicts,
    Action::GoBack,
    Action::EditResend,
    Action::Fork,
    Action::Choose,
    Action::WriteAnswer,
    Action::Comment,
    Action::KeepComment,
    Action::SendReview,
];

/// Returns true if the action would do something now.
fn is_useful(action: Action, model: &Model) -> bool {
    if model.settings.read_only.is_some() && MUTATING.contains(&action) {
        return false;
    }
    // An empty diff has nothing to comment on, mark or unfold.
    let of_lines = matches!(
        action,
        Action::Comment
            | Action::Seen
            | Action::NextUnseen
            | Action::UnfoldEntry
            | Action::GoToFile
            | Action::SelectLines
    );
    let compared = model.review.comparison().is_some_and(|comparison| !comparison.files.is_empty());
    if of_lines && model.layers.is_empty() && model.detail.tab == Tab::Diff && !compared {
        return false;
    }
    let task = model.project.task(model.selected());
    match action {
        Action::SearchNext | Action::SearchPrevious => is_searching(model),
        Action::NextAsk => {
            let others = model.asks.len() - usize::from(model.card().is_some());
            others > 0 && model.focus != Pane::Asks
        }
        Action::Interrupt => task.is_some_and(TaskView::is_working),
        // A task that sleeps or waits resumes by itself.
        Action::Resume => task.is_some_and(|task| match task.node.status {
            Status::Pending | Status::Failed => !task.alive && task.waits.is_none() && task.node.parent.is_some(),
            Status::InProgress if matches!(task.state(), TaskState::Idle | TaskState::Stuck) => {
                task.node.parent.is_some()
            }
            Status::InProgress => task.activity == Activity::Stopped && task.waits.is_none() && task.asks.is_empty(),
            Status::Draft | Status::Passed | Status::Closed => false,
        }),
        Action::Withdraw => task.is_some_and(|task| task.unread.iter().any(|message| message.from.is_from_user())),
        Action::Choose => {
            model.card().is_some_and(|(_, id)| model.project.ask(id).is_some_and(|(_, ask)| !ask.choices.is_empty()))
        }
        Action::WriteAnswer => false,
        // On the board Enter does the same.
        Action::GoToTask if matches!(model.layers.last(), Some(Layer::Board(_))) => false,
        Action::GoToTask => {
            model.focus != Pane::Detail || entry_at_cursor(model).is_some_and(|kind| kind.related_task().is_some())
        }
        Action::UnfoldEntry => entry_at_cursor(model).is_none_or(EntryKind::folds),
        // A merged branch keeps its diff.
        Action::Merge => task.is_some_and(|task| {
            task.diff
                .is_some_and(|diff| diff.files > 0 && (diff.dirty || task.drift.is_none_or(|drift| drift.ahead > 0)))
        }),
        Action::UndoMerge => task.is_some_and(|task| task.last_merge.is_some()),
        Action::CancelMerge => task.is_some_and(|task| task.queued_merge.is_some()),
        Action::CatchUp => task.is_some_and(|task| task.drift.is_some_and(|drift| drift.behind > 0)),
        Action::TellAgent | Action::SolveConflicts => {
            matches!(model.layers.last(), Some(Layer::Merge(merge)) if merge.has_conflicts())
        }
        Action::DoMerge => !matches!(model.layers.last(), Some(Layer::Merge(merge))
            if merge.ready().is_some_and(|preview| preview.refusal().is_some())),
        Action::Accept => !matches!(model.layers.last(), Some(Layer::Choose(chooser)) if chooser.is_empty()),
        Action::EditResend => matches!(model.layers.last(), Some(Layer::Rewind(picker))
            if picker.chosen().is_some_and(|turn| turn.message.is_some())),
        Action::Fork => matches!(model.layers.last(), Some(Layer::Rewind(_))),
        Action::Verify => matches!(model.layers.last(), Some(Layer::Merge(_))),
        Action::SendReview => model.review.notes().is_some_and(|notes| notes.drafts().next().is_some()),
        Action::CycleMode => task.is_some_and(|task| task.alive),
        // A user who searches one pane learns about searching everywhere.
        Action::SearchAll => model.contexts().first() == Some(&Context::Filter),
        _ => true,
    }
}

#[cfg(test)]
#[path = "hints_tests.rs"]
mod tests;
