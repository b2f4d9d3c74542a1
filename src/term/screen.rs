//! The screen: two buffers, their difference, and the bytes of one frame.
//!
//! A frame is one synchronized update, so that terminals which support them show it at once. A frame that changes
//! nothing has no bytes. Does not touch the device.

use std::convert::Infallible;

use crossterm::terminal::{BeginSynchronizedUpdate, EndSynchronizedUpdate};
use ratatui::Frame;
use ratatui::backend::{Backend, ClearType, WindowSize};
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::{Position, Rect, Size};

use super::ansi::ansi;
use super::renderer::Renderer;

pub(super) struct Screen {
    terminal: ratatui::Terminal<RecordingBackend>,
    renderer: Renderer,
    /// The content of the terminal. `None` at first, and after another program wrote to it.
    shown: Option<Buffer>,
}

impl Screen {
    pub(super) fn new(columns: u16, rows: u16) -> Self {
        let backend = RecordingBackend { size: Size::new(columns, rows), cursor: None, is_cursor_visible: false };
        let Ok(terminal) = ratatui::Terminal::new(backend);
        Self { terminal, renderer: Renderer::new(), shown: None }
    }

    pub(super) fn resize(&mut self, columns: u16, rows: u16) {
        self.terminal.backend_mut().size = Size::new(columns, rows);
        // Terminals reflow their content on a resize.
        self.shown = None;
    }

    /// Redraws everything in the next frame, because what the terminal shows is unknown.
    pub(super) fn invalidate(&mut self) {
        self.shown = None;
    }

    /// Draws a frame and returns its bytes, empty if nothing changed.
    pub(super) fn compose(&mut self, view: impl FnOnce(&mut Frame<'_>)) -> Vec<u8> {
        let Ok(frame) = self.terminal.draw(view);
        let next = frame.buffer;
        let shown = self.shown.get_or_insert_with(|| {
            self.renderer.clear();
            Buffer::empty(Rect::ZERO)
        });
        if shown.area != next.area {
            *shown = Buffer::empty(next.area);
        }
        self.renderer.paint(shown, next);
        shown.clone_from(next);
        self.renderer.place_cursor(self.terminal.backend().cursor());
        let changes = self.renderer.take();
        if changes.is_empty() {
            return Vec::new();
        }
        [ansi(BeginSynchronizedUpdate), changes, ansi(EndSynchronizedUpdate)].concat().into_bytes()
    }
}

/// A ratatui backend that records the cursor. Cells are compared and drawn by [`Renderer`].
struct RecordingBackend {
    size: Size,
    cursor: Option<Position>,
    is_cursor_visible: bool,
}

impl RecordingBackend {
    fn cursor(&self) -> Option<Position> {
        self.cursor.filter(|_| self.is_cursor_visible)
    }
}

impl Backend for RecordingBackend {
    type Error = Infallible;

    fn draw<'a, I>(&mut self, _: I) -> Result<(), Infallible>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        Ok(())
    }

    fn hide_cursor(&mut self) -> Result<(), Infallible> {
        self.is_cursor_visible = false;
        Ok(())
    }

    fn show_cursor(&mut self) -> Result<(), Infallible> {
        self.is_cursor_visible = true;
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
