//! Where git looks for hooks. With `core.hooksPath` that can be a folder among the files of the repository, and a file
//! written there runs as the user at the next commit, or at the first one after a merge.
//!
//! Read anew each time: settings change while agents work (`npm install` sets this one). Every value counts, not only
//! the effective one, which can differ between checkouts.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::entry;
use super::error::Error;
use super::library;
use super::program::Checkout;

const SETTING: &str = "core.hookspath";
/// The folder that husky sets as `core.hooksPath`. Its hooks run the files of its parent folder.
const HUSKY: &str = "_";

/// Returns the folders with hooks, as far as they may be among the files of `here`. A folder of another checkout is
/// mapped to the same path in `here`, because a merge carries it over. The folders need not exist, and links are not
/// followed.
pub fn folders(main: &Checkout, here: &Checkout) -> Result<Vec<PathBuf>, Error> {
    let mut values = values(main)?;
    if here != main {
        // Settings of a checkout that git does not know any more have no effect.
        values.extend(self::values(here).unwrap_or_default());
    }
    let mut found = Vec::new();
    for value in values {
        let mut tops = vec![main.path.clone()];
        if value.is_absolute() {
            tops.extend(entry::all(&main.common)?.into_iter().filter_map(|entry| entry.path));
        }
        let wanted = [here.path.join(&value), resolve(&main.path.join(&value))];
        for folder in wanted {
            let same = tops.iter().filter_map(|top| folder.strip_prefix(top).ok()).map(|below| here.path.join(below));
            found.extend(same.collect::<Vec<_>>());
            found.push(folder);
        }
    }
    let around = found.iter().filter(|folder| folder.ends_with(HUSKY)).filter_map(|folder| folder.parent());
    let around: Vec<PathBuf> = around.map(Path::to_owned).collect();
    found.extend(around);
    found.sort();
    found.dedup();
    Ok(found)
}

/// Returns all values of the setting, on every level.
fn values(checkout: &Checkout) -> Result<Vec<PathBuf>, Error> {
    let failed = Error::read(&checkout.path);
    let settings = library::open(&checkout.git_dir).and_then(|opened| opened.config()).map_err(&failed)?;
    let mut values = Vec::new();
    let each = settings.multivar(SETTING, None).map_err(&failed)?;
    let listed = each.for_each(|entry| {
        if entry.has_value() && !entry.value_bytes().is_empty() {
            values.push(expand_home(Path::new(OsStr::from_bytes(entry.value_bytes()))));
        }
    });
    listed.map_err(&failed)?;
    Ok(values)
}

/// Expands `~`, as git does.
fn expand_home(value: &Path) -> PathBuf {
    match (value.strip_prefix("~"), std::env::home_dir()) {
        (Ok(below), Some(home)) => home.join(below),
        _ => value.to_owned(),
    }
}

/// Resolves links and `..`, as far as the path exists.
fn resolve(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| entry::plain(path))
}
