//! Themes: the mapping from roles to styles. The screen says what a thing *is*; a theme says how that looks.
//!
//! Owns the table of roles, the format of theme files, the built-in themes, the reduction of colours to what a
//! terminal can show, and the two sets of glyphs. A theme is a value: nothing here reads files or the environment, or
//! has state between calls. The resulting styles are already reduced to the terminal's colours.

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
pub use file::{ThemeFile, ThemeProblem};
pub use glyphs::Glyphs;
pub use role::Role;

/// The style of one role in a theme file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    pub fg: Option<Colour>,
    pub bg: Option<Colour>,
    pub modifiers: Modifier,
}

/// The style of a role at the three kinds of colour depth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spec {
    pub full: Look,
    /// Replaces `full` with sixteen colours. `None` selects the nearest colours.
    pub ansi: Option<Look>,
    /// Replaces the modifiers of the role's table entry where there is no colour.
    pub mono: Option<Modifier>,
}

/// A complete theme, not yet reduced to the colours of a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Palette {
    pub name: String,
    pub about: String,
    pub appearance: Appearance,
    specs: Vec<Spec>,
}

impl Palette {
    /// Returns the spec of `role`, or of the nearest role of its chain that the theme mentions.
    pub fn spec(&self, role: Role) -> Spec {
        self.specs[role as usize]
    }
}

/// A theme reduced to the colours of a terminal: one style for each role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Theme {
    pub name: String,
    pub appearance: Appearance,
    pub depth: ColourDepth,
    pub glyphs: &'static Glyphs,
    styles: Vec<Style>,
}

impl Theme {
    /// Reduces `palette` to a terminal with `depth`.
    pub fn new(palette: &Palette, depth: ColourDepth, glyphs: &'static Glyphs) -> Self {
        let ground = palette.spec(Role::Background).full;
        let styles =
            Role::ALL.iter().map(|role| quantize::style(*role, &palette.spec(*role), &ground, depth)).collect();
        Self { name: palette.name.clone(), appearance: palette.appearance, depth, glyphs, styles }
    }

    /// Returns the default theme for a terminal of that brightness.
    pub fn standard(appearance: Appearance, depth: ColourDepth, glyphs: &'static Glyphs) -> Self {
        Self::new(&builtin::standard(appearance), depth, glyphs)
    }

    /// Returns the same theme with the terminal's own background.
    pub fn transparent(mut self) -> Self {
        self.styles[Role::Background as usize].bg = Some(Color::Reset);
        self
    }

    pub fn style(&self, role: Role) -> Style {
        self.styles[role as usize]
    }

    /// Returns the style of `role` drawn over `below`: unset parts of the upper one show the lower one.
    pub fn over(&self, below: Role, role: Role) -> Style {
        self.style(below).patch(self.style(role))
    }
}

#[cfg(test)]
#[path = "theme_tests.rs"]
mod tests;
