//! The screen before there is anything to show. The theme is not known yet, so it uses the terminal's own colours.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::base::sanitize;

/// Draws `words` in the middle of the screen.
pub fn view_splash(words: &str, frame: &mut Frame<'_>) {
    let area = frame.area();
    let words = sanitize::line(words);
    let wide = u16::try_from(crate::text::width::of(&words)).unwrap_or(u16::MAX).min(area.width);
    let place = Rect { x: area.x + (area.width - wide) / 2, y: area.y + area.height / 2, width: wide, height: 1 };
    if area.height > 0 {
        frame.buffer_mut().set_stringn(place.x, place.y, words, usize::from(wide), Style::new());
    }
}
