//! The theme in force: the person's own files first, then the built-in ones; read again whenever a file changes.

use std::path::{Path, PathBuf};

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;

use crate::theme::{Appearance, ColourDepth, Glyphs, Palette, Theme, builtin, file};

/// The word for "whatever fits the terminal's background".
const AUTO: &str = "auto";

/// Where themes come from.
pub(super) struct Themes {
    folder: PathBuf,
    depth: ColourDepth,
    glyphs: &'static Glyphs,
    watcher: Option<RecommendedWatcher>,
    /// Whether the folder itself is watched, and not only the place where it would appear.
    inside: bool,
}

impl Themes {
    /// Finds themes in `folder`, which need not be there.
    pub(super) fn new(folder: PathBuf) -> Self {
        let var = |name: &str| std::env::var(name).ok();
        let (depth, glyphs) = (ColourDepth::detect(var), Glyphs::detect(var));
        Self { folder, depth, glyphs, watcher: None, inside: false }
    }

    /// Sends a word to `changed` whenever something in the folder does, from now on.
    pub(super) fn watch(&mut self, changed: mpsc::UnboundedSender<()>) {
        self.watcher = watch(&self.folder, changed);
        self.inside = false;
        self.look_inside();
    }

    /// Watches the folder once it is there. To be called whenever something changed: most people never make one.
    pub(super) fn look_inside(&mut self) {
        if !self.folder.is_dir() {
            self.inside = false;
        } else if !self.inside
            && let Some(watcher) = &mut self.watcher
        {
            self.inside = watcher.watch(&self.folder, RecursiveMode::NonRecursive).is_ok();
        }
    }

    /// Returns the names that can be chosen besides [`AUTO`].
    pub(super) fn names(&self) -> Vec<String> {
        names(&self.folder)
    }

    /// Returns a theme fitted to this terminal, and what is wrong with it.
    pub(super) fn load(&self, name: &str, appearance: Appearance) -> (Theme, Vec<String>) {
        let wanted = if name == AUTO { builtin::standard_name(appearance) } else { name };
        let find = |name: &str| self.text(name);
        let (palette, problems) = match self.text(wanted) {
            Some(text) => {
                let (palette, problems) = file::load(wanted, &text, find);
                (palette, problems.iter().map(|problem| format!("theme {wanted}, {problem}")).collect())
            }
            None => (builtin::standard(appearance), vec![no_such_theme(&self.folder, wanted)]),
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

/// Returns what is wrong with the name of a theme, given the folder of the person's own. Nothing: there is such a theme.
pub fn missing_theme(folder: &Path, name: &str) -> Option<String> {
    (name != AUTO && text(folder, name).is_none()).then(|| no_such_theme(folder, name))
}

fn no_such_theme(folder: &Path, name: &str) -> String {
    format!("there is no theme \"{name}\"; there are {AUTO}, {}", names(folder).join(", "))
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = builtin::names().map(str::to_owned).collect();
    let own = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in own {
        let name = entry.file_name().to_string_lossy().strip_suffix(".toml").map(str::to_owned);
        names.extend(name.filter(|name| !names.contains(name)));
    }
    names
}

fn text(folder: &Path, name: &str) -> Option<String> {
    // A name is a name and no path.
    let plain = !name.contains(['/', '\\']) && !name.starts_with('.');
    let own = plain.then(|| std::fs::read_to_string(folder.join(format!("{name}.toml"))).ok()).flatten();
    own.or_else(|| builtin::text(name).map(str::to_owned))
}

fn watch(folder: &Path, changed: mpsc::UnboundedSender<()>) -> Option<RecommendedWatcher> {
    let own = folder.to_owned();
    let mut watcher = notify::recommended_watcher(move |news: notify::Result<notify::Event>| {
        // The folder above holds more than themes; what happens to the rest of it is nobody's news here.
        let concerns = |news: &notify::Event| news.paths.iter().any(|path| path.starts_with(&own));
        if news.is_ok_and(|news| !news.kind.is_access() && concerns(&news)) {
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
