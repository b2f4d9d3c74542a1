//! Runs after every message: makes positions valid, requests missing data, updates title and notifications. Cheap when
//! nothing changed, because it runs for every delta.

use crate::base::{sanitize, text};
use crate::model::Status;
use crate::ui::detail::Tab;
use crate::ui::effect::{Drafts, Effect};
use crate::ui::layer::{BoardKind, ChooserAction, Layer};
use crate::ui::layout::{self, Columns, LayoutRequest, Pane, Shape};
use crate::ui::model::{Model, NotifiedCounts};
use crate::ui::msg::Cx;
use crate::ui::transcript::PAGE;
use crate::ui::update::{Out, SETTINGS, actions, quit, search};
use crate::ui::{asks, composer, detail, tree};

pub fn reconcile(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    model.asks.sync(&model.project);
    if model.focus != Pane::Composer {
        // The place of the composer belongs to the selected task again.
        model.asks.close();
    }
    if !model.asks.is_opened() && model.layers.is_empty() {
        model.layers = std::mem::take(&mut model.set_aside);
    }
    let card = model.card();
    model.asks.note_card(card.map(|(_, id)| id), cx.now);
    if model.focus == Pane::Asks && model.asks.is_empty() {
        model.focus = model.return_focus;
    }
    place(model, cx);
    let height = tree_height(model);
    model.tree.sync(&model.project, height);
    board(model);
    quit::update_hand_over(model);
    theme(model, out);
    actions::rewind::request_preview(model, out);
    load(model, out);
    search::go_to_sought_event(model, cx);
    actions::detail::check_count(model, cx);
    drafts(model, out);
    position(model, out);
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
    let zoom = model.zoom && matches!(model.focus, Pane::Detail | Pane::Composer);
    let wanted = match (zoom, model.side) {
        (true, _) => Columns::Task,
        (false, true) => Columns::All,
        (false, false) => Columns::SidebarAndTask,
    };
    let mut request = LayoutRequest { left: model.left, columns: wanted, ..LayoutRequest::default() };
    let (left, right) = if wide {
        let widths = layout::widths(columns, &request);
        (layout::left_width(columns, model.left), widths.task)
    } else {
        (columns, columns)
    };
    let rows =
        if model.asks.is_empty() { 0 } else { asks::rows(&model.asks, &model.project, cx, usize::from(left)).len() };
    let stuck_reason = model.stuck_reason();
    let task = model.project.task(model.tree.selected());
    let card = model.card().and_then(|(_, id)| model.project.ask(id));
    let composer = match card {
        Some((_, ask)) => asks::card_rows(&model.asks, cx, ask, usize::from(right), usize::from(cx.size.1)).len(),
        None => usize::from(composer::height(&model.composer, task, stuck_reason.as_deref(), right)),
    };
    request.asks = u16::try_from(rows).unwrap_or(u16::MAX);
    request.asking = card.is_some();
    request.composer = u16::try_from(composer).unwrap_or(u16::MAX);
    request.notices = model.toasts.height(columns);
    request.has_tasks = model.project.len() > 1;
    request.news = tree::news_rows(model, left);
    request.shown = model.focus;
    model.layout = layout::layout(cx.size, &request);
    scroll_asks(model, cx);
}

/// Keeps the selected question visible, its end first: the answer is there.
fn scroll_asks(model: &mut Model, cx: &Cx<'_>) {
    let area = model.layout.asks;
    if area.is_empty() {
        return;
    }
    let rows = asks::rows(&model.asks, &model.project, cx, usize::from(area.width));
    let height = usize::from(area.height);
    let chosen = model.asks.chosen().map(|(_, id)| id);
    let first = rows.iter().position(|row| Some(row.ask) == chosen).unwrap_or(0);
    let last = rows.iter().rposition(|row| Some(row.ask) == chosen).unwrap_or(0);
    let lowest = (last + 1).saturating_sub(height);
    let top = model.asks.top.clamp(lowest.min(first), first.max(lowest));
    model.asks.top = top.min(rows.len().saturating_sub(height));
}

/// Updates the lines of a board.
fn board(model: &mut Model) {
    let Some(Layer::Board(board)) = model.layers.last_mut() else { return };
    match board.kind {
        BoardKind::Agents => board.sync(&model.project),
        BoardKind::Settings => board.len = SETTINGS.len(),
    }
    board.cursor.chosen = board.cursor.chosen.min(board.len.saturating_sub(1));
}

/// Shows the theme that is selected in the list of themes, else the one of the settings.
fn theme(model: &mut Model, out: &mut Out) {
    let offered = match model.layers.last() {
        Some(Layer::Choose(chooser)) => chooser.chosen().and_then(|item| match &item.pick {
            ChooserAction::Theme(name) => Some(name),
            _ => None,
        }),
        _ => None,
    };
    let name = offered.unwrap_or(&model.settings.theme);
    if *name != model.shown_theme {
        model.shown_theme.clone_from(name);
        out.effect(Effect::ShowTheme);
    }
}

/// Requests what the open tab needs.
fn load(model: &mut Model, out: &mut Out) {
    let task = model.tree.selected();
    if model.layout.shape == Shape::Tiny || model.project.task(task).is_none() {
        return;
    }
    let tab = model.detail.tab;
    let transcript = model.detail.open_transcript(task);
    if transcript.wants_newest() {
        out.effect(Effect::LoadPage { task, before: None, count: PAGE });
    }
    let near = match tab {
        Tab::Transcript => transcript.is_near_top(),
        Tab::Log => model.detail.top < 20,
        Tab::Diff | Tab::Description | Tab::Info => false,
    };
    let transcript = model.detail.open_transcript(task);
    if let Some((before, count)) = transcript.wants_sought() {
        out.effect(Effect::LoadPage { task, before: Some(before), count });
    } else if let Some(before) = transcript.wants_older(near) {
        out.effect(Effect::LoadPage { task, before: Some(before), count: PAGE });
    }
    if model.shows(Tab::Diff)
        && let Some(request) = model.review.wants(task)
    {
        out.effect(Effect::LoadDiff { task, request });
    }
}

/// Returns the area of the rows of the open tab.
pub fn detail_area(model: &Model) -> ratatui::layout::Rect {
    area_of(model, model.detail.tab)
}

/// Returns the area of the rows of a tab.
pub fn area_of(model: &Model, tab: Tab) -> ratatui::layout::Rect {
    let area = model.layout.of(tab == Tab::Transcript);
    let Some(task) = model.project.task(model.selected()) else { return area };
    let (area, _) = detail::split_foot(&model.detail, tab, task, area);
    match model.detail.transcript(task.node.id).filter(|_| tab == Tab::Transcript) {
        Some(transcript) => detail::summary::split(task, &model.project, transcript, area).0,
        None => area,
    }
}

fn drafts(model: &mut Model, out: &mut Out) {
    let changed = [model.composer.take_changed(), model.asks.take_changed(), model.brief.take_changed()];
    if changed.contains(&true) {
        let brief = model.brief.text().to_owned();
        let drafts = Drafts { messages: model.composer.written(), answers: model.asks.written(), brief };
        out.effect(Effect::SaveDrafts { drafts });
    }
    notes(model, out);
}

/// Saves the position when another task is selected. The app saves it again at the end.
fn position(model: &mut Model, out: &mut Out) {
    if model.saved_path.first() != Some(&model.selected()) {
        let position = model.position();
        model.saved_path.clone_from(&position.path);
        out.effect(Effect::SavePosition { position });
    }
}

/// Saves review notes and seen marks.
pub fn notes(model: &mut Model, out: &mut Out) {
    if let Some(notes) = model.review.take_unsaved() {
        out.effect(Effect::SaveReviews { notes });
    }
    if let Some((task, seen)) = model.review.take_seen() {
        out.effect(Effect::SaveSeen { task, seen });
    }
}

/// Updates the terminal title: open questions, running agents, failures, project.
fn title(model: &mut Model, out: &mut Out) {
    let total = model.project.total();
    let counts = [("?", total.asks), ("●", total.working), ("✗", total.count(Status::Failed))];
    let counts = counts.iter().filter(|(_, count)| *count > 0).map(|(sign, count)| format!("{sign} {count} "));
    let title = format!("{}{}", counts.collect::<String>(), project(model));
    if title != model.title {
        model.title.clone_from(&title);
        out.effect(Effect::SetTitle { title });
    }
}

/// Lets the wheel scroll where no text is written, even if the mouse is not captured.
fn wheel(model: &mut Model, out: &mut Out) {
    let writing = model.contexts().iter().any(|context| context.is_text_input());
    let on = !model.settings.mouse && !writing;
    if on != model.wheel {
        model.wheel = on;
        out.effect(Effect::WheelAsArrows { on });
    }
}

/// Sends one notification while the terminal is unfocused: for a new Ask, else a failure, else when all agents stop.
fn notify(model: &mut Model, out: &mut Out) {
    let fresh: Vec<_> = model.asks.items().iter().filter(|(_, ask)| !model.notified.contains(ask)).copied().collect();
    model.notified.extend(fresh.iter().map(|(_, ask)| *ask));
    let total = model.project.total();
    let now = NotifiedCounts { working: total.working, failed: total.count(Status::Failed) };
    let before = std::mem::replace(&mut model.notified_counts, now);
    if model.terminal_focused {
        return;
    }
    let asked = fresh.last().and_then(|(task, id)| model.project.ask(*id).map(|(_, ask)| (*task, ask)));
    let (title, body) = if let Some((task, ask)) = asked {
        (model.project.title(task), text::headline(&crate::ui::asks::brief(ask), 160))
    } else if now.failed > before.failed {
        (project(model), format!("{} failed", text::count(now.failed, "task", "tasks")))
    } else if now.working == 0 && before.working > 0 {
        (project(model), "All agents have stopped".to_owned())
    } else {
        return;
    };
    out.effect(Effect::Notify { title, body });
}

fn project(model: &Model) -> String {
    sanitize::line(&model.project.info.name).into_owned()
}
