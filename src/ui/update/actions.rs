//! Carries out actions. The match is exhaustive: an unhandled action does not compile.

pub(super) mod asks;
pub(super) mod brief;
pub(super) mod composer;
pub(super) mod detail;
pub(super) mod merge;
pub(super) mod modes;
pub(super) mod review;
pub(super) mod rewind;
pub(super) mod tree;

use crate::base::Timestamp;
use crate::engine::command::{Command, StopScope};
use crate::engine::update::Level;
use crate::ui::action::{Action, Context};
use crate::ui::detail::Tab;
use crate::ui::effect::{EditPurpose, Effect};
use crate::ui::field::Field;
use crate::ui::layer::{Board, BoardKind, Confirm, ConfirmedAction, Layer};
use crate::ui::layout::{self, Pane};
use crate::ui::model::{Model, PendingReply};
use crate::ui::msg::Cx;
use crate::ui::update::{Out, go_to, input, pickers, quit, search};

/// Actions that also work while a layer is open.
const ABOVE_ALL: &[Action] = &[
    Action::Cancel,
    Action::Suspend,
    Action::Redraw,
    Action::Quit,
    Action::Palette,
    Action::Help,
    Action::SearchAll,
    Action::NextAsk,
];

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
    // Esc twice is Esc twice in a row.
    let escaped_at = model.escaped_at.take();
    match action {
        Action::FocusNext => focus_step(model, 1),
        Action::FocusPrevious => focus_step(model, -1),
        Action::Write => {
            model.return_focus = model.focus;
            model.focus = Pane::Composer;
        }
        Action::FocusTasks => model.focus = Pane::Tree,
        Action::WriteGuide => composer::write_guide(model, cx, out),
        Action::NextAsk => asks::next(model, cx),
        Action::Palette | Action::Help => {
            // One list at a time: the new one replaces the old one.
            if matches!(model.layers.last(), Some(Layer::Choose(_) | Layer::Search(_))) {
                model.layers.pop();
            }
            if action == Action::Help { pickers::open_help(model, cx) } else { pickers::open_palette(model) }
        }
        Action::SearchAll => search::open(model, cx, out),
        Action::Back => back(model, escaped_at, cx, out),
        Action::NextTask => model.tree.step(1),
        Action::PreviousTask => model.tree.step(-1),
        Action::ShowTranscript => show(model, Tab::Transcript),
        Action::ShowDiff => {
            if !merge::show_diff(model) && !rewind::show_diff(model, out) {
                asks::show_task(model);
                act_on_diff(model);
            }
        }
        Action::ShowDescription => show(model, Tab::Description),
        Action::ShowInfo => show(model, Tab::Info),
        Action::ShowLog => show(model, Tab::Log),
        Action::Notices => pickers::open_notices(model, cx),
        Action::Dashboard => model.layers.push(Layer::Board(Board::new(BoardKind::Agents))),
        Action::Settings => model.layers.push(Layer::Board(Board::new(BoardKind::Settings))),
        Action::ChooseModel => pickers::open_models(model, out),
        Action::ChooseTheme => pickers::open_themes(model),
        Action::Projects => out.effect(Effect::ListProjects),
        Action::Zoom => model.zoom = !model.zoom,
        Action::ThirdColumn => toggle_side(model, cx),
        Action::ShowConflict => show_conflict(model, cx),
        Action::Legend => pickers::open_legend(model, cx),
        Action::NextColumn => step_column(model, 1),
        Action::PreviousColumn => step_column(model, -1),
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
        Action::SetUp => quit::leave_for(model, "Set up again?", Effect::SetUp { retry: None }, out),
        Action::Suspend => out.effect(Effect::Suspend),
        Action::Redraw => out.effect(Effect::Redraw),
        Action::Quit => quit::quit(model, cx, out),
        Action::Detach => quit::detach(model, cx, out),
        Action::KeepWorking => quit::keep_working(model, cx, out),
        Action::StopAgents => quit::stop_and_leave(model, cx, out),
        Action::InterruptRest => quit::interrupt_rest(model, cx, out),
        Action::RestartEngine => quit::restart_engine(model, cx, out),
        Action::Who => pickers::open_clients(model, cx),

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
        | Action::ChoosePermissions
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
        Action::Send if model.suggestion().is_none() && composer::take_example(model, 1) => {}
        Action::Send => composer::send(model, cx, out),
        Action::CycleMode => model.composer.cycle_mode(),
        Action::CyclePermissions => modes::cycle(model, cx, out),
        Action::OpenEditor => open_editor(model, out),
        Action::Accept => accept(model, AcceptMode::Plain, cx, out),
        Action::AcceptTab => composer::accept(model, cx, out),
        Action::AcceptDraft => accept(model, AcceptMode::Draft, cx, out),
        Action::Profiles => pickers::open_who(model),
        Action::HandOver => pickers::open_handover(model, cx),
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
    // With a third column the transcript and the page beside it are two places to be in.
    let pages = match model.side_tab() {
        Some(page) => vec![Tab::Transcript, page],
        None => vec![model.detail.tab],
    };
    let mut stops = vec![(Pane::Tree, None)];
    if !model.asks.is_empty() {
        stops.push((Pane::Asks, None));
    }
    stops.extend(pages.into_iter().map(|tab| (Pane::Detail, Some(tab))));
    stops.push((Pane::Composer, None));
    let is_here =
        |(pane, tab): &(Pane, Option<Tab>)| *pane == model.focus && tab.is_none_or(|tab| tab == model.detail.tab);
    let here = stops.iter().position(is_here).unwrap_or(0);
    let len = stops.len();
    let (pane, tab) = stops[here.checked_add_signed(by).unwrap_or(len - 1) % len];
    model.return_focus = model.focus;
    model.focus = pane;
    if let Some(tab) = tab {
        model.detail.show(tab);
    }
    model.composer.popup = None;
}

/// Shows or hides the third column. A page that was open there is replaced by the transcript.
fn toggle_side(model: &mut Model, cx: &Cx<'_>) {
    if cx.size.0 < layout::THREE {
        let words = format!("A third column needs a screen of {} columns", layout::THREE);
        return model.toasts.say(Level::Info, words, cx.now);
    }
    model.side = !model.side;
    if !model.side {
        model.detail.show(Tab::Transcript);
    }
}

/// Shows the diff of the next task, in tree order, whose branch conflicts with another one.
fn show_conflict(model: &mut Model, cx: &Cx<'_>) {
    let project = &model.project;
    let conflicting: Vec<_> = project
        .walk(project.root())
        .filter(|id| project.task(*id).is_some_and(|task| !task.clashes.is_empty()))
        .collect();
    let here = conflicting.iter().position(|id| *id == model.selected());
    let next = here.map_or(0, |here| (here + 1) % conflicting.len().max(1));
    match conflicting.get(next).copied() {
        Some(task) => {
            go_to(model, task);
            act_on_diff(model);
        }
        None => model.toasts.say(Level::Info, "No branches conflict", cx.now),
    }
}

/// Shows the diff of the selected task with the focus in it.
fn act_on_diff(model: &mut Model) {
    show(model, Tab::Diff);
    // The keys of the diff act on it at once, not on the tree.
    if model.focus != Pane::Detail {
        model.return_focus = model.focus;
        model.focus = Pane::Detail;
    }
}

fn step_column(model: &mut Model, by: isize) {
    if let Some(Layer::Board(board)) = model.layers.last_mut() {
        board.step_column(by);
    }
}

/// How long after Esc in an empty composer a second Esc opens the rewind dialog.
const ESC_TWICE: std::time::Duration = std::time::Duration::from_millis(600);

/// Goes back one step. `escaped_at` is when Esc left the empty composer, if it was the last action.
fn back(model: &mut Model, escaped_at: Option<Timestamp>, cx: &Cx<'_>, out: &mut Out) {
    if model.layers.pop().is_some() {
        return;
    }
    if escaped_at.is_some_and(|at| cx.now < at.later(ESC_TWICE)) {
        return rewind::act(model, Action::Rewind, cx, out);
    }
    if model.composer.popup.take().is_some() {
        return;
    }
    // A notice never takes the key from what is below it.
    model.toasts.dismiss();
    match model.focus {
        Pane::Tree => drop(model.tree.clear_filter()),
        Pane::Asks => model.focus = Pane::Tree,
        Pane::Detail => {
            if !detail::back(model) {
                model.focus = Pane::Tree;
            }
        }
        Pane::Composer if model.card().is_some() => asks::defer(model, cx),
        Pane::Composer => {
            model.escaped_at = Some(cx.now).filter(|_| !model.composer.has_text(model.selected()));
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
        Pane::Tree => match model.card() {
            // A question is what the task is about now.
            Some((_, id)) => asks::open(model, id),
            None => {
                model.return_focus = Pane::Tree;
                model.focus = Pane::Detail;
            }
        },
        Pane::Asks => asks::open_chosen(model),
        Pane::Detail | Pane::Composer => {}
    }
}

fn go_to_related_task(model: &mut Model, cx: &Cx<'_>) {
    if let Some(Layer::Board(board)) = model.layers.last() {
        if let Some(task) = board.chosen() {
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
    if let Some(Layer::Brief(brief)) = model.layers.last() {
        return out.effect(Effect::OpenEditor { purpose: EditPurpose::Brief, text: brief.field.content() });
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
        Some(Layer::Prompt(_)) => return pickers::submit_prompt(model, cx, out),
        Some(Layer::Brief(_)) => return brief::submit(model, how, cx, out),
        Some(Layer::Confirm(Confirm { action: ConfirmedAction::KeepOrStop(_), .. })) => {
            return quit::keep_working(model, cx, out);
        }
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
            let words = match &command {
                Command::CatchUp { .. } => "Asked the agent to update from the parent branch",
                Command::Close { task } => tree::closed_words(model, *task),
                _ => "Done",
            };
            out.command(model, command, PendingReply::Plain(Some(words)), cx);
        }
        ConfirmedAction::Quit => quit::quit_now(model, cx, out),
        ConfirmedAction::Leave(effect) => out.effect(effect),
        action @ (ConfirmedAction::KeepOrStop(_) | ConfirmedAction::Interrupt) => {
            model.layers.push(Layer::Confirm(Confirm { action, ..confirm }));
        }
    }
}
