//! Carries out actions. The match is exhaustive: an unhandled action does not compile.

pub(super) mod asks;
pub(super) mod composer;
pub(super) mod detail;
pub(super) mod merge;
pub(super) mod review;
pub(super) mod rewind;
pub(super) mod tree;

use crate::engine::command::{Command, StopScope};
use crate::engine::update::Level;
use crate::ui::action::{Action, Context};
use crate::ui::detail::Tab;
use crate::ui::effect::{EditPurpose, Effect};
use crate::ui::field::Field;
use crate::ui::layer::{Board, BoardKind, ConfirmedAction, Layer};
use crate::ui::layout::{self, Pane};
use crate::ui::model::{Model, PendingReply};
use crate::ui::msg::Cx;
use crate::ui::update::{Out, go_to, input, pickers, quit, search};

/// Actions that also work while a layer is open.
const ABOVE_ALL: &[Action] =
    &[Action::Cancel, Action::Suspend, Action::Redraw, Action::Quit, Action::Palette, Action::Help, Action::SearchAll];

/// Carries out `action`.
pub fn act(model: &mut Model, action: Action, cx: &Cx<'_>, out: &mut Out) {
    // The topmost layer has the keys: nothing behind it reacts.
    if let Some(layer) = model.layers.last() {
        let contexts = action.spec().contexts;
        let belongs = layer.contexts().iter().any(|context| contexts.contains(context));
        if contexts.contains(&Context::Anywhere) && !belongs && !ABOVE_ALL.contains(&action) {
            return;
        }
    }
    let task = model.selected();
    match action {
        Action::FocusNext => focus_step(model, 1),
        Action::FocusPrevious => focus_step(model, -1),
        Action::Write => {
            model.return_focus = model.focus;
            model.focus = Pane::Composer;
        }
        Action::NextAsk => asks::next(model, cx),
        Action::Palette | Action::Help => {
            // One list at a time: the new one replaces the old one.
            if matches!(model.layers.last(), Some(Layer::Choose(_) | Layer::Search(_))) {
                model.layers.pop();
            }
            if action == Action::Help { pickers::open_help(model) } else { pickers::open_palette(model) }
        }
        Action::SearchAll => search::open(model, cx, out),
        Action::Back => back(model, cx),
        Action::NextTask => model.tree.step(1),
        Action::PreviousTask => model.tree.step(-1),
        Action::ShowTranscript => show(model, Tab::Transcript),
        Action::ShowDiff => {
            if !merge::show_diff(model) && !rewind::show_diff(model, out) {
                asks::show_task(model);
                show(model, Tab::Diff);
            }
        }
        Action::ShowDescription => show(model, Tab::Description),
        Action::ShowInfo => show(model, Tab::Info),
        Action::ShowLog => show(model, Tab::Log),
        Action::Dashboard => model.layers.push(Layer::Board(Board::new(BoardKind::Agents))),
        Action::Settings => model.layers.push(Layer::Board(Board::new(BoardKind::Settings))),
        Action::Projects => out.effect(Effect::ListProjects),
        Action::Zoom => model.zoom = !model.zoom,
        Action::Wider => widen(model, 4, cx),
        Action::Narrower => widen(model, -4, cx),
        Action::Interrupt => out.command(model, Command::Interrupt { task }, PendingReply::Plain(None), cx),
        Action::Stop => quit::stop(model, StopScope::Task(task), cx, out),
        Action::StopSubtree => quit::stop(model, StopScope::Subtree(task), cx, out),
        Action::StopAll => quit::stop(model, StopScope::All, cx, out),
        Action::Resume => out.command(model, Command::Resume { task }, PendingReply::Plain(None), cx),
        Action::Compact => {
            out.command(
                model,
                Command::Compact { task },
                PendingReply::Plain(Some("Summarising the conversation")),
                cx,
            );
        }
        Action::Withdraw => composer::withdraw(model, cx, out),
        Action::Cancel => quit::cancel(model, cx, out),
        Action::SetUp => quit::leave_for(model, "Set up again?", Effect::SetUp, out),
        Action::Suspend => out.effect(Effect::Suspend),
        Action::Redraw => out.effect(Effect::Redraw),
        Action::Quit => quit::quit(model, cx, out),

        Action::Down => step(model, Movement::Rows(1), cx),
        Action::Up => step(model, Movement::Rows(-1), cx),
        Action::PageDown | Action::ScrollDown => step(model, Movement::Pages(1), cx),
        Action::PageUp | Action::ScrollUp => step(model, Movement::Pages(-1), cx),
        Action::Top => step(model, Movement::Start, cx),
        Action::Bottom => step(model, Movement::End, cx),
        Action::Open => open(model, cx, out),

        Action::NewTask
        | Action::NewSubtask
        | Action::Fold
        | Action::Unfold
        | Action::Rename
        | Action::Describe
        | Action::MoveTask
        | Action::MoveUp
        | Action::MoveDown
        | Action::Colour
        | Action::Budget
        | Action::ToggleDraft
        | Action::CloseTask
        | Action::DeleteTask
        | Action::ResetTask
        | Action::RestoreTask
        | Action::Filter
        | Action::FilterMode
        | Action::Sort
        | Action::CostColumn => tree::act(model, action, cx, out),
        Action::FoldToggle | Action::FoldAll | Action::UnfoldAll => match model.focus {
            Pane::Tree => tree::act(model, action, cx, out),
            Pane::Asks | Pane::Detail | Pane::Composer => detail::act(model, action, cx, out),
        },

        Action::Merge
        | Action::DoMerge
        | Action::SolveConflicts
        | Action::MergeBase
        | Action::TellAgent
        | Action::Verify
        | Action::CatchUp
        | Action::UndoMerge
        | Action::CancelMerge => merge::act(model, action, cx, out),
        Action::Rewind | Action::RewindWhat | Action::GoBack | Action::Redo | Action::Fork | Action::EditResend => {
            rewind::act(model, action, cx, out);
        }

        Action::Choose | Action::WriteAnswer => asks::open_chosen(model),
        Action::Later => asks::defer(model, cx),
        Action::GoToTask => go_to_related_task(model, cx),

        Action::NextEntry
        | Action::PreviousEntry
        | Action::NextTurn
        | Action::PreviousTurn
        | Action::NextError
        | Action::PreviousError
        | Action::NextUserMessage
        | Action::PreviousUserMessage
        | Action::UnfoldEntry
        | Action::Follow
        | Action::Search
        | Action::SearchNext
        | Action::SearchPrevious
        | Action::CopyEntry
        | Action::CopyCode
        | Action::SelectLines
        | Action::CopySelection
        | Action::OpenPager
        | Action::Background
        | Action::NextFile
        | Action::PreviousFile
        | Action::Reload => detail::act(model, action, cx, out),
        Action::NextHunk
        | Action::PreviousHunk
        | Action::NextUnseen
        | Action::PreviousUnseen
        | Action::NextComment
        | Action::PreviousComment
        | Action::GoToFile
        | Action::Seen
        | Action::SeenFile
        | Action::Comment
        | Action::RemoveComment
        | Action::SendReview
        | Action::KeepComment
        | Action::Compare
        | Action::SideBySide
        | Action::IgnoreSpaces
        | Action::MoreContext
        | Action::LessContext => {
            // From the palette it means the diff, whatever tab is open.
            if model.detail.tab != Tab::Diff {
                show(model, Tab::Diff);
            }
            review::act(model, action, cx, out);
        }

        Action::Send if model.card().is_some() => asks::send(model, cx, out),
        Action::Send => composer::send(model, cx, out),
        Action::CycleMode => model.composer.cycle_mode(),
        Action::OpenEditor => open_editor(model, out),
        Action::Accept => accept(model, AcceptMode::Plain, cx, out),
        Action::AcceptTab => composer::accept(model, cx, out),
        Action::AcceptDraft => accept(model, AcceptMode::Draft, cx, out),
        Action::ChooseProfile => pickers::open_profiles(model),
        Action::Yes => confirm(model, cx, out),
        Action::No => {
            model.layers.pop();
        }

        Action::TextUp => composer::move_vertically(model, -1),
        Action::TextDown => composer::move_vertically(model, 1),
        Action::TextLeft
        | Action::TextRight
        | Action::TextWordLeft
        | Action::TextWordRight
        | Action::TextHome
        | Action::TextEnd
        | Action::TextStart
        | Action::TextFinish
        | Action::TextNewline
        | Action::TextBackspace
        | Action::TextDelete
        | Action::TextDeleteWord
        | Action::TextDeleteToStart
        | Action::TextDeleteToEnd
        | Action::TextYank
        | Action::TextUndo
        | Action::TextRedo => {
            if let Some(edit) = input::edit_of(action) {
                input::edit(model, edit, cx, out);
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcceptMode {
    Plain,
    Draft,
}

fn focus_step(model: &mut Model, by: isize) {
    let mut panes = vec![Pane::Tree];
    if !model.asks.is_empty() {
        panes.push(Pane::Asks);
    }
    panes.extend([Pane::Detail, Pane::Composer]);
    let here = panes.iter().position(|pane| *pane == model.focus).unwrap_or(0);
    let len = panes.len();
    let next = here.checked_add_signed(by).unwrap_or(len - 1) % len;
    model.return_focus = model.focus;
    model.focus = panes[next];
    model.composer.popup = None;
}

fn back(model: &mut Model, cx: &Cx<'_>) {
    if model.layers.pop().is_some() {
        return;
    }
    if model.composer.popup.take().is_some() {
        return;
    }
    match model.focus {
        Pane::Tree => {
            if !model.tree.clear_filter() {
                model.toasts.dismiss();
            }
        }
        Pane::Asks => model.focus = Pane::Tree,
        Pane::Detail => {
            if !detail::back(model) {
                model.focus = Pane::Tree;
            }
        }
        Pane::Composer if model.card().is_some() => asks::defer(model, cx),
        Pane::Composer => {
            let from = std::mem::take(&mut model.return_focus);
            model.focus = if from == Pane::Composer || from == Pane::Asks { Pane::Tree } else { from };
        }
    }
}

fn show(model: &mut Model, tab: Tab) {
    model.detail.show(tab);
    if model.focus == Pane::Tree && is_narrow(model) {
        model.focus = Pane::Detail;
    }
}

/// On a narrow screen, showing a tab also focuses it.
fn is_narrow(model: &Model) -> bool {
    model.layout.shape == layout::Shape::Tabs
}

fn widen(model: &mut Model, by: i16, cx: &Cx<'_>) {
    let now = layout::left_width(cx.size.0, model.left);
    model.left = Some(layout::left_width(cx.size.0, Some(now.saturating_add_signed(by))));
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Movement {
    Rows(isize),
    /// Half pages.
    Pages(isize),
    Start,
    End,
}

impl Movement {
    /// Returns the step in rows for `height` visible rows.
    pub fn rows(self, height: usize) -> isize {
        match self {
            Self::Rows(by) => by,
            Self::Pages(by) => by * isize::try_from((height / 2).max(1)).unwrap_or(1),
            Self::Start => -(isize::MAX / 2),
            Self::End => isize::MAX / 2,
        }
    }
}

fn step(model: &mut Model, step: Movement, cx: &Cx<'_>) {
    let height = |area: ratatui::layout::Rect| usize::from(area.height);
    if let Some(layer) = model.layers.last_mut() {
        return layer.step(step.rows(height(model.layout.screen) / 2));
    }
    if let Some(popup) = model.composer.popup.as_mut().filter(|_| model.focus == Pane::Composer) {
        return popup.cursor.step(step.rows(8), popup.offers.len());
    }
    match model.focus {
        Pane::Tree => model.tree.step(step.rows(height(model.layout.tree))),
        Pane::Asks => model.asks.step(step.rows(height(model.layout.asks))),
        // Paging in the composer scrolls the detail above it.
        Pane::Detail | Pane::Composer => detail::step(model, step, cx),
    }
}

fn open(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    if let Some(Layer::Board(board)) = model.layers.last().cloned() {
        return pickers::open_board_line(model, &board, cx, out);
    }
    match model.focus {
        Pane::Tree => {
            model.return_focus = Pane::Tree;
            model.focus = Pane::Detail;
        }
        Pane::Asks => asks::open_chosen(model),
        Pane::Detail | Pane::Composer => {}
    }
}

fn go_to_related_task(model: &mut Model, cx: &Cx<'_>) {
    if let Some(Layer::Board(board)) = model.layers.last() {
        if let Some(task) = board.tasks.get(board.cursor.chosen).copied() {
            model.layers.clear();
            go_to(model, task);
        }
        return;
    }
    let task = match model.focus {
        Pane::Asks => model.asks.chosen().map(|(task, _)| task),
        Pane::Tree | Pane::Detail | Pane::Composer => detail::related_task(model, cx),
    };
    match task {
        Some(task) if model.project.task(task).is_some() => {
            go_to(model, task);
            model.focus = Pane::Detail;
        }
        Some(_) => model.toasts.say(Level::Info, "The task no longer exists", cx.now),
        None => model.toasts.say(Level::Info, "This entry refers to no other task", cx.now),
    }
}

fn open_editor(model: &mut Model, out: &mut Out) {
    let task = model.selected();
    if model.focus == Pane::Detail && model.is_commenting() {
        return review::open_editor(model, out);
    }
    if let Some((_, id)) = model.card() {
        let text = model.asks.draft(id).map(Field::content).unwrap_or_default();
        return out.effect(Effect::OpenEditor { purpose: EditPurpose::Answer(id), text });
    }
    let text = model.composer.draft(task).map(|draft| draft.field.content()).unwrap_or_default();
    out.effect(Effect::OpenEditor { purpose: EditPurpose::Message(task), text });
}

fn accept(model: &mut Model, how: AcceptMode, cx: &Cx<'_>, out: &mut Out) {
    match model.layers.last() {
        Some(Layer::Choose(_)) => return pickers::pick(model, cx, out),
        Some(Layer::Search(_)) => return search::accept(model),
        Some(Layer::Prompt(_)) => return pickers::submit_prompt(model, how, cx, out),
        Some(Layer::Confirm(dialog)) if dialog.is_yes_default() => return confirm(model, cx, out),
        Some(Layer::Confirm(_)) => {
            model.layers.pop();
            return;
        }
        Some(Layer::Board(_) | Layer::Merge(_) | Layer::Rewind(_)) => return,
        None => {}
    }
    match model.focus {
        Pane::Tree => model.tree.filtering = false,
        Pane::Detail => detail::accept_search(model, cx),
        Pane::Composer => composer::accept(model, cx, out),
        Pane::Asks => {}
    }
}

fn confirm(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    let Some(Layer::Confirm(confirm)) = model.layers.pop() else { return };
    match confirm.action {
        ConfirmedAction::Command(command) => {
            rewind::close_picker(model);
            out.command(model, command, PendingReply::Plain(Some("Done")), cx);
        }
        ConfirmedAction::Quit => quit::quit_now(model, cx, out),
        ConfirmedAction::Leave(effect) => out.effect(effect),
    }
}
