//! Draws the brief of a new task: the text, and below it who works on it.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::text::width;
use crate::theme::Role;
use crate::ui::action::Action;
use crate::ui::composer;
use crate::ui::draw;
use crate::ui::layer::Brief;
use crate::ui::layer::view::{centred, open};
use crate::ui::model::Model;
use crate::ui::msg::Cx;

const COLUMNS: u16 = 84;
/// The rows of the text if the screen has room.
const TEXT_ROWS: u16 = 10;
/// The frame, a blank row, and the row below the text.
const OTHER_ROWS: u16 = 4;

/// Returns the area of the dialog.
pub fn frame(screen: Rect) -> Rect {
    centred(screen, COLUMNS, TEXT_ROWS + OTHER_ROWS)
}

/// Returns the columns of the text.
pub fn text_width(screen: Rect) -> usize {
    usize::from(frame(screen).width.saturating_sub(5)).max(1)
}

pub fn view(brief: &Brief, model: &Model, cx: &Cx<'_>, screen: Rect, buffer: &mut Buffer) -> Option<Position> {
    let theme = cx.theme;
    let inner = open(frame(screen), &brief.title, cx, buffer);
    let text =
        Rect { x: inner.x + 2, width: inner.width.saturating_sub(3), height: inner.height.saturating_sub(2), ..inner };
    let foot =
        Rect { x: inner.x + 2, width: inner.width.saturating_sub(3), height: 1, y: inner.bottom().saturating_sub(1) };
    draw_foot(brief, model, cx, foot, buffer);
    if brief.field.is_empty() {
        let lines = ["What should be done? The first line is the title.", "The lines below it describe the task."];
        for (line, y) in lines.into_iter().zip(0..) {
            let line = draw::fit(line, usize::from(text.width), theme.glyphs);
            draw::text(buffer, text, (0, y), &line, theme.style(Role::Placeholder));
        }
        return Some(Position::new(text.x, text.y));
    }
    composer::draw_field(&brief.field, cx, true, text_width(screen), text, buffer)
}

fn draw_foot(brief: &Brief, model: &Model, cx: &Cx<'_>, area: Rect, buffer: &mut Buffer) {
    let theme = cx.theme;
    if let Some(problem) = brief.problem {
        draw::text(buffer, area, (0, 0), problem, theme.style(Role::Error));
        return;
    }
    let keys =
        format!("{} starts it, {} saves a draft", model.key_of(Action::Accept), model.key_of(Action::AcceptDraft));
    let taken = draw::right(buffer, area, 0, &keys, theme.style(Role::Faint));
    let end = draw::text(buffer, area, (0, 0), "profile  ", theme.style(Role::Muted)).saturating_sub(area.x);
    let room = usize::from(area.width.saturating_sub(end + taken + 2));
    let name = width::visible(&profile_name(brief, model)).into_owned();
    let name = draw::fit(&name, room, theme.glyphs);
    draw::text(buffer, area, (end, 0), &name, theme.style(Role::Text));
}

/// Returns the name of the chosen profile, or that of the default.
fn profile_name(brief: &Brief, model: &Model) -> String {
    let profiles = &model.project.info.profiles;
    let default = || profiles.iter().find(|profile| profile.is_default).map(|profile| profile.name.clone());
    match &brief.profile {
        Some(name) => name.clone(),
        None => match (default(), model.project.info.selection.as_str()) {
            (Some(name), _) => format!("{name} (default)"),
            (None, "ask") => "you choose when it starts".to_owned(),
            (None, "inherit") => "that of the task above".to_owned(),
            (None, "") => format!("{} (default)", crate::model::task::DEFAULT_PROFILE),
            (None, broken) => format!("{broken} (cannot be used)"),
        },
    }
}
