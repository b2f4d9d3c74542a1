//! The mouse, for those who turned it on: click to go and to choose, wheel to scroll, drag the divider.

use ratatui::layout::{Position, Rect};

use crate::base::keys::{Mouse, MouseButton, MouseKind};
use crate::ui::action::Action;
use crate::ui::asks;
use crate::ui::layer::{self, Layer};
use crate::ui::layout::{self, Pane, Shape};
use crate::ui::model::Model;
use crate::ui::msg::Cx;
use crate::ui::update::act::{self, Step};
use crate::ui::update::{Out, act_detail, finding, picks};

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

fn row_of(area: Rect, at: Position) -> usize {
    usize::from(at.y - area.y)
}

fn press(model: &mut Model, at: Position, cx: &Cx<'_>, out: &mut Out) {
    if let Some(layer) = model.layers.last_mut() {
        if let Layer::Choose(chooser) = layer
            && let Some(item) = layer::item_at(chooser, model.layout.screen, at)
        {
            chooser.cursor.chosen = item;
            picks::pick(model, cx, out);
        }
        if let Some(Layer::Find(find)) = model.layers.last_mut()
            && let Some(place) = layer::hit_at(find, model.layout.screen, at)
        {
            find.choose(place);
            finding::accept(model, cx);
        }
        return;
    }
    let places = model.layout;
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
        act_detail::click(model, row_of(places.detail, at), cx);
    }
}
