//! What is shown: two buffers, the difference between them, and the bytes of one frame.
//!
//! A frame is one piece: it begins and ends a synchronized update, so that terminals which know them show it at once.
//! A frame that changes nothing has no bytes. Touches no device.

use std::convert::Infallible;

use crossterm::terminal::{BeginSynchronizedUpdate, EndSynchronizedUpdate};
use ratatui::Frame;
use ratatui::backend::{Backend, ClearType, WindowSize};
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::{Position, Rect, Size};

use super::ansi::ansi;
use super::canvas::Canvas;

pub(super) struct Screen {
    terminal: ratatui::Terminal<Wishes>,
    canvas: Canvas,
    /// What the terminal shows; unknown at first, and after anybody else wrote to it.
    shown: Option<Buffer>,
}

impl Screen {
    pub(super) fn new(columns: u16, rows: u16) -> Self {
        let wishes = Wishes { size: Size::new(columns, rows), cursor: None, is_cursor_wanted: false };
        let Ok(terminal) = ratatui::Terminal::new(wishes);
        Self { terminal, canvas: Canvas::new(), shown: None }
    }

    pub(super) fn resize(&mut self, columns: u16, rows: u16) {
        self.terminal.backend_mut().size = Size::new(columns, rows);
        // A terminal that changes its size moves what it shows in its own way.
        self.shown = None;
    }

    /// Draws everything in the next frame: what the terminal shows is not known any more.
    pub(super) fn invalidate(&mut self) {
        self.shown = None;
    }

    /// Draws a frame and returns its bytes; none when it looks like the last one.
    pub(super) fn compose(&mut self, view: impl FnOnce(&mut Frame<'_>)) -> Vec<u8> {
        let Ok(frame) = self.terminal.draw(view);
        let next = frame.buffer;
        let shown = self.shown.get_or_insert_with(|| {
            self.canvas.clear();
            Buffer::empty(Rect::ZERO)
        });
        if shown.area != next.area {
            *shown = Buffer::empty(next.area);
        }
        self.canvas.paint(shown, next);
        shown.clone_from(next);
        self.canvas.place_cursor(self.terminal.backend().cursor());
        let changes = self.canvas.take();
        if changes.is_empty() {
            return Vec::new();
        }
        [ansi(BeginSynchronizedUpdate), changes, ansi(EndSynchronizedUpdate)].concat().into_bytes()
    }
}

/// What the drawing library asks of a terminal, noted. The cells themselves are compared and drawn by the canvas.
struct Wishes {
    size: Size,
    cursor: Option<Position>,
    is_cursor_wanted: bool,
}

impl Wishes {
    fn cursor(&self) -> Option<Position> {
        self.cursor.filter(|_| self.is_cursor_wanted)
    }
}

impl Backend for Wishes {
    type Error = Infallible;

    fn draw<'a, I>(&mut self, _: I) -> Result<(), Infallible>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        Ok(())
    }

    fn hide_cursor(&mut self) -> Result<(), Infallible> {
        self.is_cursor_wanted = false;
        Ok(())
    }

    fn show_cursor(&mut self) -> Result<(), Infallible> {
        self.is_cursor_wanted = true;
        Ok(())
    }

    fn get_cursor_position(&mut self) -> Result<Position, Infallible> {
        Ok(self.cursor.unwrap_or_default())
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> Result<(), Infallible> {
        self.cursor = Some(position.into());
        Ok(())
    }

    fn clear(&mut self) -> Result<(), Infallible> {
        Ok(())
    }

    fn clear_region(&mut self, _: ClearType) -> Result<(), Infallible> {
        Ok(())
    }

    fn size(&self) -> Result<Size, Infallible> {
        Ok(self.size)
    }

    fn window_size(&mut self) -> Result<WindowSize, Infallible> {
        Ok(WindowSize { columns_rows: self.size, pixels: Size::ZERO })
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

#[cfg(test)]
#[path = "screen_tests.rs"]
mod tests;
