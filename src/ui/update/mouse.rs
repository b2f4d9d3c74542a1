//! The mouse, for those who turned it on: click to go and to choose, wheel to scroll, drag the divider.

use ratatui::layout::{Position, Rect};

use crate::base::keys::{Mouse, MouseButton, MouseKind};
use crate::ui::action::Action;
use crate::ui::layer::{self, Hit, Layer};
use crate::ui::layout::{self, Pane, Shape};
use crate::ui::model::Model;
use crate::ui::msg::Cx;
use crate::ui::tabs::{self, Goal};
use crate::ui::update::act::{self, Step};
use crate::ui::update::{Out, act_asks, act_composer, act_detail, finding, picks};
use crate::ui::{asks, composer, hints};

/// The rows that one notch of the wheel moves.
const NOTCH: isize = 3;

pub fn mouse(model: &mut Model, mouse: Mouse, cx: &Cx<'_>, out: &mut Out) {
    let at = Position::new(mouse.column, mouse.row);
    match mouse.kind {
        MouseKind::ScrollUp => wheel(model, at, -NOTCH, cx),
        MouseKind::ScrollDown => wheel(model, at, NOTCH, cx),
        MouseKind::Press(MouseButton::Left) => press(model, at, cx, out),
        MouseKind::Drag(MouseButton::Left) if model.dragging => {
            model.left = Some(layout::left_width(cx.size.0, Some(mouse.column.saturating_add(1))));
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
        act_detail::step(model, Step::Rows(by), cx);
    }
}

fn press_layer(model: &mut Model, at: Position, cx: &Cx<'_>, out: &mut Out) {
    let Some(top) = model.layers.last() else { return };
    match layer::hit(top, model, model.layout.screen, at) {
        Hit::Line(line) => match model.layers.last_mut() {
            Some(Layer::Choose(chooser)) => {
                chooser.cursor.chosen = line;
                picks::pick(model, cx, out);
            }
            Some(Layer::Find(find)) => {
                find.cursor.chosen = line;
                finding::accept(model);
            }
            Some(Layer::Board(board)) => {
                board.cursor.chosen = line;
                act::act(model, Action::Open, None, cx, out);
            }
            Some(Layer::Prompt(_) | Layer::Confirm(_) | Layer::Merge(_) | Layer::Rewind(_)) | None => {}
        },
        Hit::Yes => act::act(model, Action::Yes, None, cx, out),
        Hit::No => act::act(model, Action::No, None, cx, out),
        Hit::Nothing => {}
        // What was being written stays; everything else is left by a click beside it.
        Hit::Outside => {
            if !matches!(model.layers.last(), Some(Layer::Prompt(_) | Layer::Find(_))) {
                model.layers.pop();
            }
        }
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
            act::act(model, action, None, cx, out);
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
                act_composer::accept(model, cx, out);
            }
            return;
        }
        model.composer.popup = None;
    }
    if let Some(goal) = tabs::goal_at(model, cx, at) {
        match goal {
            Goal::Tasks => model.focus = Pane::Tree,
            Goal::Asks => model.focus = Pane::Asks,
            Goal::Side(tab) => {
                model.detail.show(tab);
                model.focus = Pane::Detail;
            }
        }
        return;
    }
    if (places.header.contains(at) || places.strip.contains(at)) && !model.asks.is_empty() {
        return act_asks::next(model, cx);
    }
    if places.shape == Shape::Wide && places.left.width > 0 && at.x + 1 >= places.left.right() && at.x <= places.right.x
    {
        model.dragging = true;
    } else if places.tree.contains(at) {
        model.focus = Pane::Tree;
        model.tree.select_row(model.tree.top() + row_of(places.tree, at));
    } else if places.asks.contains(at) {
        if model.focus != Pane::Asks {
            model.came_from = model.focus;
        }
        model.focus = Pane::Asks;
        let rows = asks::rows(&model.asks, &model.world, cx, usize::from(places.asks.width));
        let Some(row) = rows.get(model.asks.top + row_of(places.asks, at)) else { return };
        let digit = row.choice.and_then(|choice| char::from_digit(u32::try_from(choice + 1).ok()?, 10));
        match digit.filter(|_| model.asks.is_open()) {
            Some(digit) => act::act(model, Action::Choose, Some(crate::base::keys::Key::char(digit)), cx, out),
            None => model.asks.open(row.ask),
        }
    } else if places.composer.contains(at) {
        model.focus = Pane::Composer;
    } else if places.detail.contains(at) {
        model.focus = Pane::Detail;
        act_detail::click(model, at, cx);
    }
}
