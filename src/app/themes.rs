//! Loads themes: the user's files first, then the built-in ones. Watches the folder for changes.

use std::path::{Path, PathBuf};

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;

use crate::theme::{Appearance, ColourDepth, Glyphs, Palette, Theme, builtin, file};

/// Follows the terminal's background.
const AUTO: &str = "auto";

/// The themes of a folder and the built-in ones.
pub(super) struct Themes {
    folder: PathBuf,
    depth: ColourDepth,
    glyphs: &'static Glyphs,
    watcher: Option<RecommendedWatcher>,
    /// Whether the folder itself is watched, and not only its parent.
    watches_folder: bool,
}

impl Themes {
    /// Uses the themes in `folder`, which may not exist.
    pub(super) fn new(folder: PathBuf) -> Self {
        let var = |name: &str| std::env::var(name).ok();
        let (depth, glyphs) = (ColourDepth::detect(var), Glyphs::detect(var));
        Self { folder, depth, glyphs, watcher: None, watches_folder: false }
    }

    /// Sends to `changed` whenever something in the folder changes.
    pub(super) fn watch(&mut self, changed: mpsc::UnboundedSender<()>) {
        self.watcher = watch(&self.folder, changed);
        self.watches_folder = false;
        self.scan();
    }

    /// Watches the folder once it exists. Call it after each change.
    pub(super) fn scan(&mut self) {
        if !self.folder.is_dir() {
            self.watches_folder = false;
        } else if !self.watches_folder
            && let Some(watcher) = &mut self.watcher
        {
            self.watches_folder = watcher.watch(&self.folder, RecursiveMode::NonRecursive).is_ok();
        }
    }

    /// Returns the names of all themes, without [`AUTO`].
    pub(super) fn names(&self) -> Vec<String> {
        names(&self.folder)
    }

    /// Returns a theme for this terminal, and its problems.
    pub(super) fn load(&self, name: &str, appearance: Appearance) -> (Theme, Vec<String>) {
        let resolved = if name == AUTO { builtin::standard_name(appearance) } else { name };
        let find = |name: &str| self.text(name);
        let (palette, problems) = match self.text(resolved) {
            Some(text) => {
                let (palette, problems) = file::load(resolved, &text, find);
                (palette, problems.iter().map(|problem| format!("theme {resolved}, {problem}")).collect())
            }
            None => (builtin::standard(appearance), vec![no_such_theme(&self.folder, resolved)]),
        };
        (self.fit(&palette), problems)
    }

    fn fit(&self, palette: &Palette) -> Theme {
        Theme::new(palette, self.depth, self.glyphs)
    }

    fn text(&self, name: &str) -> Option<String> {
        text(&self.folder, name)
    }
}

/// Returns an error message if the theme does not exist, or `None` if it does. `folder` holds the user's themes.
pub fn missing_theme(folder: &Path, name: &str) -> Option<String> {
    (name != AUTO && text(folder, name).is_none()).then(|| no_such_theme(folder, name))
}

fn no_such_theme(folder: &Path, name: &str) -> String {
    format!("there is no theme \"{name}\"; choose one of {AUTO}, {}", names(folder).join(", "))
}

/// Returns the names of the built-in themes and of those in `folder`.
pub fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = builtin::names().map(str::to_owned).collect();
    let own = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in own {
        let name = entry.file_name().to_string_lossy().strip_suffix(".toml").map(str::to_owned);
        names.extend(name.filter(|name| !names.contains(name)));
    }
    names
}

fn text(folder: &Path, name: &str) -> Option<String> {
    // A name must not be a path.
    let plain = !name.contains(['/', '\\']) && !name.starts_with('.');
    let own = plain.then(|| std::fs::read_to_string(folder.join(format!("{name}.toml"))).ok()).flatten();
    own.or_else(|| builtin::text(name).map(str::to_owned))
}

fn watch(folder: &Path, changed: mpsc::UnboundedSender<()>) -> Option<RecommendedWatcher> {
    let own = folder.to_owned();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // The parent folder holds other files as well.
        let is_theme = |event: &notify::Event| event.paths.iter().any(|path| path.starts_with(&own));
        if event.is_ok_and(|event| !event.kind.is_access() && is_theme(&event)) {
            let _ = changed.send(());
        }
    })
    .ok()?;
    watcher.watch(folder.parent()?, RecursiveMode::NonRecursive).ok()?;
    Some(watcher)
}

#[cfg(test)]
#[path = "themes_tests.rs"]
mod tests;
