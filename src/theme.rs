//! Roles to styles. Every part of the screen says what a thing *is*; a theme says how that looks.
//!
//! Owns the table of roles, the format of theme files, the built-in themes, the fitting of colours to what a
//! terminal can show, and the two sets of glyphs. A theme is a value: nothing here reads a file, asks the
//! environment, or keeps state between calls. A style that comes out is already fitted to the terminal.

pub mod builtin;
pub mod colour;
pub mod depth;
pub mod docs;
pub mod file;
pub mod glyphs;
pub mod quantize;
pub mod role;

use ratatui::style::{Color, Modifier, Style};

pub use colour::{Colour, Rgb};
pub use depth::{Appearance, ColourDepth};
pub use file::{Problem, ThemeFile};
pub use glyphs::Glyphs;
pub use role::Role;

/// What a theme file says about one role.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    pub fg: Option<Colour>,
    pub bg: Option<Colour>,
    pub modifiers: Modifier,
}

/// The look of a role in the three situations that a terminal can put it in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spec {
    pub full: Look,
    /// What replaces `full` where there are only sixteen colours. Without it the nearest colours are taken.
    pub ansi: Option<Look>,
    /// The modifiers that replace those of the role's table entry where there is no colour at all.
    pub mono: Option<Modifier>,
}

/// A theme as its file says it: complete, but not yet fitted to a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Palette {
    pub name: String,
    pub about: String,
    pub appearance: Appearance,
    specs: Vec<Spec>,
}

impl Palette {
    /// Returns what the theme says about `role`, or about the nearest role of its chain that it mentions.
    pub fn spec(&self, role: Role) -> Spec {
        self.specs[role as usize]
    }
}

/// A theme fitted to a terminal: one style for each role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Theme {
    pub name: String,
    pub appearance: Appearance,
    pub depth: ColourDepth,
    pub glyphs: &'static Glyphs,
    styles: Vec<Style>,
}

impl Theme {
    /// Fits `palette` to a terminal that can show `depth`.
    pub fn new(palette: &Palette, depth: ColourDepth, glyphs: &'static Glyphs) -> Self {
        let ground = palette.spec(Role::Background).full;
        let styles =
            Role::ALL.iter().map(|role| quantize::style(*role, &palette.spec(*role), &ground, depth)).collect();
        Self { name: palette.name.clone(), appearance: palette.appearance, depth, glyphs, styles }
    }

    /// Returns the built-in theme for a terminal of that brightness.
    pub fn standard(appearance: Appearance, depth: ColourDepth, glyphs: &'static Glyphs) -> Self {
        Self::new(&builtin::standard(appearance), depth, glyphs)
    }

    /// Returns the same theme that lets the terminal's own background through.
    pub fn transparent(mut self) -> Self {
        self.styles[Role::Background as usize].bg = Some(Color::Reset);
        self
    }

    pub fn style(&self, role: Role) -> Style {
        self.styles[role as usize]
    }

    /// Returns the style of `role` drawn over `below`: what the upper one leaves open shows the lower one.
    pub fn over(&self, below: Role, role: Role) -> Style {
        self.style(below).patch(self.style(role))
    }
}

#[cfg(test)]
#[path = "theme_tests.rs"]
mod tests;
