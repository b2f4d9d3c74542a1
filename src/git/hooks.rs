//! Where git looks for hooks. With `core.hooksPath` that can be a folder among the files of the repository, and whatever
//! is written there runs as the person with their next commit, or with the first one after a merge.
//!
//! Only reads, and anew each time: settings change while agents work (`npm install` sets this one). Every value counts and
//! not only the one that wins: what wins can differ from checkout to checkout.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::entry;
use super::error::Error;
use super::library;
use super::program::Checkout;

const SETTING: &str = "core.hookspath";
/// The folder that husky lets git look in. What is in it runs the files of the folder around it.
const HUSKY: &str = "_";

/// Returns the folders from which git would run hooks, as far as they may be among the files of `here`. A folder of
/// another checkout is returned as the one of the same name in `here`: it gets there by a merge. They need not exist, and
/// links in them are not followed.
pub fn folders(main: &Checkout, here: &Checkout) -> Result<Vec<PathBuf>, Error> {
    let mut values = values(main)?;
    if here != main {
        // Settings of a checkout that git no longer knows are nobody's.
        values.extend(self::values(here).unwrap_or_default());
    }
    let mut found = Vec::new();
    for value in values {
        let mut tops = vec![main.path.clone()];
        if value.is_absolute() {
            tops.extend(entry::all(&main.common)?.into_iter().filter_map(|entry| entry.path));
        }
        let wanted = [here.path.join(&value), settled(&main.path.join(&value))];
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

/// Returns everything that the setting is set to, on any level.
fn values(checkout: &Checkout) -> Result<Vec<PathBuf>, Error> {
    let failed = Error::read(&checkout.path);
    let settings = library::open(&checkout.git_dir).and_then(|opened| opened.config()).map_err(&failed)?;
    let mut values = Vec::new();
    let each = settings.multivar(SETTING, None).map_err(&failed)?;
    let taken = each.for_each(|entry| {
        if entry.has_value() && !entry.value_bytes().is_empty() {
            values.push(expanded(Path::new(OsStr::from_bytes(entry.value_bytes()))));
        }
    });
    taken.map_err(&failed)?;
    Ok(values)
}

/// Puts the home folder in the place of `~`, as git does.
fn expanded(value: &Path) -> PathBuf {
    match (value.strip_prefix("~"), std::env::home_dir()) {
        (Ok(below), Some(home)) => home.join(below),
        _ => value.to_owned(),
    }
}

/// Returns a path without links and `..`, as far as it exists.
fn settled(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| entry::plain(path))
}
