//! The built-in themes. A user's theme of the same name replaces one.

use super::{Appearance, Palette, file};

const THEMES: &[(&str, &str)] = &[
    ("matrix-dark", include_str!("../../themes/matrix-dark.toml")),
    ("matrix-light", include_str!("../../themes/matrix-light.toml")),
    ("high-contrast", include_str!("../../themes/high-contrast.toml")),
    ("high-contrast-light", include_str!("../../themes/high-contrast-light.toml")),
    ("terminal-16", include_str!("../../themes/terminal-16.toml")),
    ("harbour", include_str!("../../themes/harbour.toml")),
    ("ember", include_str!("../../themes/ember.toml")),
    ("paper", include_str!("../../themes/paper.toml")),
];

/// Returns the names of the built-in themes in display order.
pub fn names() -> impl Iterator<Item = &'static str> {
    THEMES.iter().map(|(name, _)| *name)
}

/// Returns the file of a built-in theme.
pub fn text(name: &str) -> Option<&'static str> {
    THEMES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

pub fn named(name: &str) -> Option<Palette> {
    text(name).map(|text| file::load(name, text, |_| None).0)
}

/// Returns the name of the default theme.
pub fn standard_name(appearance: Appearance) -> &'static str {
    match appearance {
        Appearance::Dark => "matrix-dark",
        Appearance::Light => "matrix-light",
    }
}

/// Returns the default theme.
pub fn standard(appearance: Appearance) -> Palette {
    let name = standard_name(appearance);
    file::load(name, text(name).unwrap_or_default(), |_| None).0
}

#[cfg(test)]
#[path = "builtin_tests.rs"]
mod tests;
