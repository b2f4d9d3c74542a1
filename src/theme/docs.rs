//! Generates the tables of roles and themes in `docs/themes.md`.

use std::fmt::Write as _;

use super::{Appearance, Role, builtin};

/// The line before the generated part. Everything above it is written by hand and kept.
pub const MARK: &str = "<!-- generated from the tables; change them, then run the tests with MXD_UPDATE_DOCS=1 -->";

/// Returns the generated part of the page.
pub fn page() -> String {
    let mut out = format!("{MARK}\n\n## Built-in themes\n\n| theme | | |\n|---|---|---|\n");
    for name in builtin::names() {
        let Some(theme) = builtin::named(name) else { continue };
        let appearance = match theme.appearance {
            Appearance::Dark => "dark",
            Appearance::Light => "light",
        };
        let _ = writeln!(out, "| `{name}` | {appearance} | {} |", theme.about);
    }
    out.push_str("\n## Roles\n\n| role | meaning | falls back to |\n|---|---|---|\n");
    for role in Role::ALL {
        let fallback = match role {
            Role::Background => "required".to_owned(),
            role => format!("`{}`", role.fallback().name()),
        };
        let _ = writeln!(out, "| `{}` | {} | {fallback} |", role.name(), role.about());
    }
    out
}

#[cfg(test)]
#[path = "docs_tests.rs"]
mod tests;
