//! After every message: places are made valid, what is missing is asked for, title and notifications are brought up
//! to date. Cheap when nothing changed, because it runs for every delta.

use crate::base::{sanitize, text};
use crate::model::Status;
use crate::ui::detail::Tab;
use crate::ui::effect::Effect;
use crate::ui::layer::{BoardKind, Layer};
use crate::ui::layout::{self, Pane, Shape, Wish};
use crate::ui::model::{Model, Seen};
use crate::ui::msg::Cx;
use crate::ui::transcript::PAGE;
use crate::ui::update::{Out, SETTINGS, act_detail, act_rewind, finding};
use crate::ui::{asks, composer, detail, tree};

pub fn settle(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    model.asks.settle(&model.world);
    if model.focus == Pane::Asks && model.asks.is_empty() {
        model.focus = model.came_from;
    }
    place(model, cx);
    let height = tree_height(model);
    model.tree.settle(&model.world, height);
    board(model);
    act_rewind::settle(model, out);
    load(model, out);
    finding::arrive(model, cx);
    act_detail::check_count(model, cx);
    drafts(model, out);
    title(model, out);
    wheel(model, out);
    notify(model, out);
}

fn tree_height(model: &Model) -> usize {
    tree::list_height(&model.tree, model.layout.tree)
}

fn place(model: &mut Model, cx: &Cx<'_>) {
    let columns = cx.size.0;
    let wide = columns >= layout::WIDE;
    let left = if wide { layout::left_width(columns, model.left).saturating_sub(2) } else { columns };
    let right = if wide { columns.saturating_sub(left + 5) } else { columns };
    let rows =
        if model.asks.is_empty() { 0 } else { asks::rows(&model.asks, &model.world, cx, usize::from(left)).len() };
    let plight = model.plight();
    let task = model.world.task(model.tree.selected());
    let wish = Wish {
        asks: u16::try_from(rows).unwrap_or(u16::MAX),
        asking: model.focus == Pane::Asks && model.asks.is_open(),
        composer: composer::height(&model.composer, task, plight.as_deref(), right),
        left: model.left,
        zoom: model.zoom && matches!(model.focus, Pane::Detail | Pane::Composer),
        shown: model.focus,
    };
    model.layout = layout::layout(cx.size, &wish);
    scroll_asks(model, cx);
}

/// Keeps the chosen question in sight, its end first: that is where the answer is.
fn scroll_asks(model: &mut Model, cx: &Cx<'_>) {
    let area = model.layout.asks;
    if area.is_empty() {
        return;
    }
    let rows = asks::rows(&model.asks, &model.world, cx, usize::from(area.width));
    let height = usize::from(area.height);
    let chosen = model.asks.chosen().map(|(_, id)| id);
    let first = rows.iter().position(|row| Some(row.ask) == chosen).unwrap_or(0);
    let last = rows.iter().rposition(|row| Some(row.ask) == chosen).unwrap_or(0);
    let lowest = (last + 1).saturating_sub(height);
    let top = model.asks.top.clamp(lowest.min(first), first.max(lowest));
    model.asks.top = top.min(rows.len().saturating_sub(height));
}

/// Brings the lines of a board up to date.
fn board(model: &mut Model) {
    let Some(Layer::Board(board)) = model.layers.last_mut() else { return };
    match board.kind {
        BoardKind::Agents => {
            let world = &model.world;
            let lively = world.walk(world.root()).filter(|id| {
                world.task(*id).is_some_and(|task| task.is_working() || task.waits.is_some() || !task.asks.is_empty())
            });
            board.tasks = lively.collect();
            board.len = board.tasks.len();
        }
        BoardKind::Settings => board.len = SETTINGS.len(),
    }
    board.cursor.chosen = board.cursor.chosen.min(board.len.saturating_sub(1));
}

/// Asks for what the open tab needs and is not here.
fn load(model: &mut Model, out: &mut Out) {
    let task = model.tree.selected();
    if model.layout.shape == Shape::Tiny || model.world.task(task).is_none() {
        return;
    }
    let tab = model.detail.tab;
    let transcript = model.detail.look_at(task);
    if transcript.wants_newest() {
        out.effect(Effect::LoadPage { task, before: None, count: PAGE });
    }
    let near = match tab {
        Tab::Transcript => transcript.is_near_top(),
        Tab::Log => model.detail.top < 20,
        Tab::Diff | Tab::Description | Tab::Info => false,
    };
    let transcript = model.detail.look_at(task);
    if let Some((before, count)) = transcript.wants_sought() {
        out.effect(Effect::LoadPage { task, before: Some(before), count });
    } else if let Some(before) = transcript.wants_older(near) {
        out.effect(Effect::LoadPage { task, before: Some(before), count: PAGE });
    }
    if tab == Tab::Diff
        && let Some(request) = model.review.wants(task)
    {
        out.effect(Effect::LoadDiff { task, request });
    }
}

/// Returns where the rows of the detail are drawn.
pub fn detail_area(model: &Model) -> ratatui::layout::Rect {
    let area = model.layout.detail;
    match model.world.task(model.selected()) {
        Some(task) => detail::split_foot(&model.detail, task, area).0,
        None => area,
    }
}

fn drafts(model: &mut Model, out: &mut Out) {
    if let Some(drafts) = model.composer.take_unsaved() {
        out.effect(Effect::SaveDrafts { drafts });
    }
    notes(model, out);
}

/// Keeps what was seen and said in reviews.
pub fn notes(model: &mut Model, out: &mut Out) {
    if let Some(notes) = model.review.take_unsaved() {
        out.effect(Effect::SaveReviews { notes });
    }
    if let Some((task, seen)) = model.review.take_seen() {
        out.effect(Effect::SaveSeen { task, seen });
    }
}

/// Says in the title of the terminal what the header says, what needs the person first.
fn title(model: &mut Model, out: &mut Out) {
    let total = model.world.total();
    let counts = [("?", total.asks), ("●", total.working), ("✗", total.count(Status::Failed))];
    let counts = counts.iter().filter(|(_, count)| *count > 0).map(|(sign, count)| format!("{sign} {count} "));
    let title = format!("{}{}", counts.collect::<String>(), project(model));
    if title != model.title {
        model.title.clone_from(&title);
        out.effect(Effect::SetTitle { title });
    }
}

/// Where nothing is written the wheel scrolls, also without the mouse being captured.
fn wheel(model: &mut Model, out: &mut Out) {
    let writing = model.contexts().iter().any(|context| context.types());
    let on = !model.settings.mouse && !writing;
    if on != model.wheel {
        model.wheel = on;
        out.effect(Effect::WheelAsArrows { on });
    }
}

/// Tells the person what happened while they look elsewhere: a new Ask first, then a failure, then that all is quiet.
/// Each is told once.
fn notify(model: &mut Model, out: &mut Out) {
    let fresh: Vec<_> = model.asks.items().iter().filter(|(_, ask)| !model.notified.contains(ask)).copied().collect();
    model.notified.extend(fresh.iter().map(|(_, ask)| *ask));
    let total = model.world.total();
    let now = Seen { working: total.working, failed: total.count(Status::Failed) };
    let before = std::mem::replace(&mut model.seen, now);
    if model.watched {
        return;
    }
    let asked = fresh.last().and_then(|(task, id)| model.world.ask(*id).map(|(_, ask)| (*task, ask)));
    let (title, body) = if let Some((task, ask)) = asked {
        (model.world.title(task), text::headline(&crate::ui::asks::brief(ask), 160))
    } else if now.failed > before.failed {
        (project(model), format!("{} failed", text::count(now.failed, "task", "tasks")))
    } else if now.working == 0 && before.working > 0 {
        (project(model), "no agent is at work any more".to_owned())
    } else {
        return;
    };
    out.effect(Effect::Notify { title, body });
}

fn project(model: &Model) -> String {
    sanitize::line(&model.world.project.name).into_owned()
}
