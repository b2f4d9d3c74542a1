//! Handles the mouse, if enabled: click to focus and select, wheel to scroll, drag the divider.

use ratatui::layout::{Position, Rect};

use crate::base::keys::{Mouse, MouseButton, MouseKind};
use crate::ui::action::Action;
use crate::ui::layer::{self, ConfirmedAction, Layer, LayerHit};
use crate::ui::layout::{self, Pane, Shape};
use crate::ui::model::Model;
use crate::ui::msg::Cx;
use crate::ui::tabs::{self, TabTarget};
use crate::ui::update::actions::{self, Movement};
use crate::ui::update::{Out, pickers, search};
use crate::ui::{asks, composer, hints, tree};

/// The rows per notch of the wheel.
const NOTCH: isize = 3;

pub fn mouse(model: &mut Model, mouse: Mouse, cx: &Cx<'_>, out: &mut Out) {
    let at = Position::new(mouse.column, mouse.row);
    match mouse.kind {
        MouseKind::ScrollUp => wheel(model, at, -NOTCH, cx),
        MouseKind::ScrollDown => wheel(model, at, NOTCH, cx),
        MouseKind::Press(MouseButton::Left) => press(model, at, cx, out),
        MouseKind::Drag(MouseButton::Left) if model.dragging => {
            model.left = Some(layout::left_width(cx.size.0, Some(mouse.column)));
        }
        MouseKind::Release(_) => model.dragging = false,
        MouseKind::Press(_)
        | MouseKind::Drag(_)
        | MouseKind::Moved
        | MouseKind::ScrollLeft
        | MouseKind::ScrollRight => {}
    }
}

fn wheel(model: &mut Model, at: Position, by: isize, cx: &Cx<'_>) {
    if let Some(layer) = model.layers.last_mut() {
        return layer.step(by);
    }
    if model.layout.tree.contains(at) {
        model.tree.step(by);
    } else if model.layout.asks.contains(at) {
        model.asks.step(by.signum());
    } else {
        actions::detail::step(model, Movement::Rows(by), cx);
    }
}

fn press_layer(model: &mut Model, at: Position, cx: &Cx<'_>, out: &mut Out) {
    let Some(top) = model.layers.last() else { return };
    match layer::hit(top, model, cx, model.layout.screen, at) {
        LayerHit::Line(line) => match model.layers.last_mut() {
            Some(Layer::Choose(chooser)) => {
                chooser.cursor.chosen = line;
                pickers::pick(model, cx, out);
            }
            Some(Layer::Search(find)) => {
                find.cursor.chosen = line;
                search::accept(model);
            }
            Some(Layer::Board(board)) => {
                board.cursor.chosen = line;
                actions::act(model, Action::Open, cx, out);
            }
            Some(Layer::Prompt(_) | Layer::Brief(_) | Layer::Confirm(_) | Layer::Merge(_) | Layer::Rewind(_))
            | None => {}
        },
        LayerHit::Button(action) => actions::act(model, action, cx, out),
        LayerHit::Nothing => {}
        // A click outside closes a layer, unless text is being written in it.
        LayerHit::Outside => {
            let stays = match model.layers.last() {
                Some(Layer::Prompt(_) | Layer::Brief(_) | Layer::Search(_)) => true,
                Some(Layer::Confirm(confirm)) => confirm.action == ConfirmedAction::Interrupt,
                _ => false,
            };
            if !stays {
                model.layers.pop();
            }
        }
    }
}

/// Answers with a clicked choice.
fn press_card(model: &mut Model, at: Position, cx: &Cx<'_>, out: &mut Out) {
    let area = model.layout.composer;
    let Some((_, ask)) = model.card().and_then(|(_, id)| model.project.ask(id)) else { return };
    let rows = asks::card_rows(&model.asks, cx, ask, usize::from(area.width), usize::from(area.height));
    if let Some(choice) = rows.get(row_of(area, at)).and_then(|row| row.choice) {
        actions::asks::choose(model, choice + 1, cx, out);
    }
}

fn row_of(area: Rect, at: Position) -> usize {
    usize::from(at.y - area.y)
}

fn press(model: &mut Model, at: Position, cx: &Cx<'_>, out: &mut Out) {
    let places = model.layout;
    if places.shape == Shape::Tiny {
        return;
    }
    if places.hints.contains(at) {
        if let Some(action) = hints::action_at(model, places.hints, at.x) {
            model.keys.clear();
            actions::act(model, action, cx, out);
        }
        return;
    }
    if !model.layers.is_empty() {
        return press_layer(model, at, cx, out);
    }
    if let Some(popup) = &mut model.composer.popup {
        let area = composer::popup_area(popup, places.screen, places.composer);
        if area.contains(at) {
            let inner = usize::from(area.height.saturating_sub(2));
            let top = (popup.cursor.chosen + 1).saturating_sub(inner);
            let line = usize::from(at.y).checked_sub(usize::from(area.y) + 1).filter(|line| *line < inner);
            if let Some(offer) = line.map(|line| top + line).filter(|offer| *offer < popup.offers.len()) {
                popup.cursor.chosen = offer;
                actions::composer::accept(model, cx, out);
            }
            return;
        }
        model.composer.popup = None;
    }
    if let Some(target) = tabs::target_at(model, at) {
        match target {
            TabTarget::Tasks => model.focus = Pane::Tree,
            TabTarget::Asks => model.focus = Pane::Asks,
            TabTarget::Tab(tab) => {
                model.detail.show(tab);
                model.focus = Pane::Detail;
            }
        }
        return;
    }
    if (places.header.contains(at) || places.strip.contains(at)) && !model.asks.is_empty() {
        return actions::asks::next(model, cx);
    }
    if places.divider.contains(at) {
        model.dragging = true;
    } else if places.tree.contains(at) {
        model.focus = Pane::Tree;
        if let Some(row) = tree::row_at(&model.tree, &model.project, &model.live_lines, places.tree, at) {
            model.tree.select_row(row);
        }
    } else if places.asks.contains(at) {
        let rows = asks::rows(&model.asks, &model.project, cx, usize::from(places.asks.width));
        let row = rows.get(model.asks.top + row_of(places.asks, at));
        match row.map(|row| row.ask) {
            Some(ask) => actions::asks::open(model, ask),
            None => model.focus = Pane::Asks,
        }
    } else if places.composer.contains(at) {
        model.focus = Pane::Composer;
        press_card(model, at, cx, out);
    } else if places.detail.contains(at) {
        model.focus = Pane::Detail;
        actions::detail::click(model, at, cx);
    }
}
