//! Carrying out actions. The match is exhaustive: an action that nobody handles does not compile.

use crate::base::keys::Key;
use crate::engine::command::{Command, StopScope};
use crate::engine::update::Level;
use crate::ui::action::{Action, Context};
use crate::ui::detail::Tab;
use crate::ui::effect::{Effect, Purpose};
use crate::ui::field::Field;
use crate::ui::layer::{Board, BoardKind, Deed, Layer};
use crate::ui::layout::{self, Pane};
use crate::ui::model::{Expect, Model};
use crate::ui::msg::Cx;
use crate::ui::update::{
    Out, act_asks, act_composer, act_detail, act_merge, act_review, act_rewind, act_tree, ending, finding, go_to,
    input, picks,
};

/// What works also while a layer lies over the panes.
const ABOVE_ALL: &[Action] =
    &[Action::Cancel, Action::Suspend, Action::Redraw, Action::Quit, Action::Palette, Action::Help, Action::SearchAll];

/// Does what `action` says. `key` is the one that asked for it, if a key did.
pub fn act(model: &mut Model, action: Action, key: Option<Key>, cx: &Cx<'_>, out: &mut Out) {
    // What lies on top has the keys: nothing behind it moves.
    if let Some(layer) = model.layers.last() {
        let contexts = action.entry().contexts;
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
            model.came_from = model.focus;
            model.focus = Pane::Composer;
        }
        Action::NextAsk => act_asks::next(model, cx),
        Action::Palette | Action::Help => {
            // One list at a time: the newer takes the place of the older.
            if matches!(model.layers.last(), Some(Layer::Choose(_) | Layer::Find(_))) {
                model.layers.pop();
            }
            if action == Action::Help { picks::open_help(model) } else { picks::open_palette(model) }
        }
        Action::SearchAll => finding::open(model, cx, out),
        Action::Back => back(model),
        Action::NextTask => model.tree.step(1),
        Action::PreviousTask => model.tree.step(-1),
        Action::ShowTranscript => show(model, Tab::Transcript),
        Action::ShowDiff => {
            if !act_merge::show_diff(model) && !act_rewind::show_diff(model, out) {
                act_asks::look_at_work(model);
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
        Action::Interrupt => out.command(model, Command::Interrupt { task }, Expect::Plain(None), cx),
        Action::Stop => ending::stop(model, StopScope::Task(task), cx, out),
        Action::StopSubtree => ending::stop(model, StopScope::Subtree(task), cx, out),
        Action::StopAll => ending::stop(model, StopScope::All, cx, out),
        Action::Resume => out.command(model, Command::Resume { task }, Expect::Plain(None), cx),
        Action::Compact => {
            out.command(model, Command::Compact { task }, Expect::Plain(Some("a summary is being made")), cx);
        }
        Action::Withdraw => act_composer::withdraw(model, cx, out),
        Action::Cancel => ending::cancel(model, cx, out),
        Action::SetUp => ending::leave_for(model, "Set up anew?", Effect::SetUp, out),
        Action::Suspend => out.effect(Effect::Suspend),
        Action::Redraw => out.effect(Effect::Redraw),
        Action::Quit => ending::quit(model, cx, out),

        Action::Down => step(model, Step::Rows(1), cx),
        Action::Up => step(model, Step::Rows(-1), cx),
        Action::PageDown | Action::ScrollDown => step(model, Step::Pages(1), cx),
        Action::PageUp | Action::ScrollUp => step(model, Step::Pages(-1), cx),
        Action::Top => step(model, Step::Start, cx),
        Action::Bottom => step(model, Step::End, cx),
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
        | Action::CostColumn => act_tree::act(model, action, cx, out),
        Action::FoldToggle | Action::FoldAll | Action::UnfoldAll => match model.focus {
            Pane::Tree => act_tree::act(model, action, cx, out),
            Pane::Asks | Pane::Detail | Pane::Composer => act_detail::act(model, action, cx, out),
        },

        Action::Merge
        | Action::DoMerge
        | Action::SolveConflicts
        | Action::MergeBase
        | Action::TellAgent
        | Action::Verify
        | Action::CatchUp
        | Action::UndoMerge
        | Action::CancelMerge => act_merge::act(model, action, cx, out),
        Action::Rewind | Action::RewindWhat | Action::GoBack | Action::Redo | Action::Fork | Action::EditResend => {
            act_rewind::act(model, action, cx, out);
        }

        Action::Choose => act_asks::choose(model, key, cx, out),
        Action::WriteAnswer => model.asks.write(),
        Action::Later => model.asks.put_aside(),
        Action::GoToTask => go_to_other(model, cx),

        Action::NextEntry
        | Action::PreviousEntry
        | Action::NextTurn
        | Action::PreviousTurn
        | Action::NextError
        | Action::PreviousError
        | Action::NextSaid
        | Action::PreviousSaid
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
        | Action::Reload => act_detail::act(model, action, cx, out),
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
            // From the palette it means the diff, whatever is open.
            if model.detail.tab != Tab::Diff {
                show(model, Tab::Diff);
            }
            act_review::act(model, action, cx, out);
        }

        Action::Send => match model.focus {
            Pane::Asks => act_asks::send(model, cx, out),
            Pane::Tree | Pane::Detail | Pane::Composer => act_composer::send(model, cx, out),
        },
        Action::CycleMode => model.composer.cycle_mode(),
        Action::OpenEditor => open_editor(model, out),
        Action::Accept => accept(model, Accepted::Plain, cx, out),
        Action::AcceptTab => act_composer::accept(model, cx, out),
        Action::AcceptDraft => accept(model, Accepted::Draft, cx, out),
        Action::ChooseProfile => picks::open_profiles(model),
        Action::Yes => yes(model, cx, out),
        Action::No => {
            model.layers.pop();
        }

        Action::TextUp => act_composer::vertical(model, -1),
        Action::TextDown => act_composer::vertical(model, 1),
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

/// How a line was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepted {
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
    model.came_from = model.focus;
    model.focus = panes[next];
    model.composer.popup = None;
}

fn back(model: &mut Model) {
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
        Pane::Asks if model.asks.is_writing() => model.asks.stop_writing(),
        Pane::Asks if model.asks.is_open() => {
            model.asks.close();
            model.focus = model.came_from;
        }
        Pane::Asks => model.focus = Pane::Tree,
        Pane::Detail => {
            if !act_detail::back(model) {
                model.focus = Pane::Tree;
            }
        }
        Pane::Composer => {
            let from = std::mem::take(&mut model.came_from);
            model.focus = if from == Pane::Composer || from == Pane::Asks { Pane::Tree } else { from };
        }
    }
}

fn show(model: &mut Model, tab: Tab) {
    model.detail.show(tab);
    if model.focus == Pane::Tree && cx_is_narrow(model) {
        model.focus = Pane::Detail;
    }
}

/// Where only one pane fits, showing something means going there.
fn cx_is_narrow(model: &Model) -> bool {
    model.layout.shape == layout::Shape::Tabs
}

fn widen(model: &mut Model, by: i16, cx: &Cx<'_>) {
    let now = layout::left_width(cx.size.0, model.left);
    model.left = Some(layout::left_width(cx.size.0, Some(now.saturating_add_signed(by))));
}

/// How far to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Rows(isize),
    /// Halves of what is seen.
    Pages(isize),
    Start,
    End,
}

impl Step {
    /// Returns the step in rows where `height` are seen.
    pub fn rows(self, height: usize) -> isize {
        match self {
            Self::Rows(by) => by,
            Self::Pages(by) => by * isize::try_from((height / 2).max(1)).unwrap_or(1),
            Self::Start => -(isize::MAX / 2),
            Self::End => isize::MAX / 2,
        }
    }
}

fn step(model: &mut Model, step: Step, cx: &Cx<'_>) {
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
        // Paging in the composer reads on above it.
        Pane::Detail | Pane::Composer => act_detail::step(model, step, cx),
    }
}

fn open(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    if let Some(Layer::Board(board)) = model.layers.last().cloned() {
        return picks::open_board_line(model, &board, cx, out);
    }
    match model.focus {
        Pane::Tree => {
            model.came_from = Pane::Tree;
            model.focus = Pane::Detail;
        }
        Pane::Asks if model.asks.is_open() => model.asks.write(),
        Pane::Asks => model.asks.open_chosen(),
        Pane::Detail | Pane::Composer => {}
    }
}

fn go_to_other(model: &mut Model, cx: &Cx<'_>) {
    if let Some(Layer::Board(board)) = model.layers.last() {
        if let Some(task) = board.tasks.get(board.cursor.chosen).copied() {
            model.layers.clear();
            go_to(model, task);
        }
        return;
    }
    let task = match model.focus {
        Pane::Asks => model.asks.chosen().map(|(task, _)| task),
        Pane::Tree | Pane::Detail | Pane::Composer => act_detail::other_side(model, cx),
    };
    match task {
        Some(task) if model.world.task(task).is_some() => {
            go_to(model, task);
            model.focus = Pane::Detail;
        }
        Some(_) => model.toasts.say(Level::Info, "that task is gone", cx.now),
        None => model.toasts.say(Level::Info, "this entry belongs to no other task", cx.now),
    }
}

fn open_editor(model: &mut Model, out: &mut Out) {
    let task = model.selected();
    if model.focus == Pane::Detail && model.is_commenting() {
        return act_review::open_editor(model, out);
    }
    if model.focus == Pane::Asks {
        if let Some((_, id)) = model.asks.chosen() {
            let text = model.asks.draft(id).map(Field::content).unwrap_or_default();
            out.effect(Effect::OpenEditor { purpose: Purpose::Answer(id), text });
        }
        return;
    }
    let text = model.composer.draft(task).map(|draft| draft.field.content()).unwrap_or_default();
    out.effect(Effect::OpenEditor { purpose: Purpose::Message(task), text });
}

fn accept(model: &mut Model, how: Accepted, cx: &Cx<'_>, out: &mut Out) {
    match model.layers.last() {
        Some(Layer::Choose(_)) => return picks::pick(model, cx, out),
        Some(Layer::Find(_)) => return finding::accept(model),
        Some(Layer::Prompt(_)) => return picks::prompted(model, how, cx, out),
        Some(Layer::Confirm(_) | Layer::Board(_) | Layer::Merge(_) | Layer::Rewind(_)) => return,
        None => {}
    }
    match model.focus {
        Pane::Tree => model.tree.filtering = false,
        Pane::Detail => act_detail::accept_search(model, cx),
        Pane::Composer => act_composer::accept(model, cx, out),
        Pane::Asks => {}
    }
}

fn yes(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    let Some(Layer::Confirm(confirm)) = model.layers.pop() else { return };
    match confirm.deed {
        Deed::Command(command) => {
            act_rewind::done(model);
            out.command(model, command, Expect::Plain(Some("done")), cx);
        }
        Deed::Quit => ending::leave(model, cx, out),
        Deed::Leave(effect) => out.effect(effect),
    }
}
