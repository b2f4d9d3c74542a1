//! Looks for programs on the user's machine: where they are, which version they are, whether the user has logged in.
//!
//! Starts nothing and reads no credential: a version comes from the package that a program is in, and a login is the
//! existence of a file.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use serde_json::Value;

use super::programs::Quirks;

/// How many folders above a program are searched for its package.
const MAX_ABOVE: usize = 6;

/// Returns the file of a command, looked up in `path` as a shell does.
pub fn find(command: &str, path: &OsStr) -> Option<PathBuf> {
    let is_program = |file: &Path| file.is_file() && access(file, Access::EXEC_OK).is_ok();
    if command.contains('/') {
        let file = PathBuf::from(command);
        return is_program(&file).then_some(file);
    }
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(command))
        .find(|file| is_program(file))
}

/// Returns the version in the `package.json` that a program belongs to. `None` if it is in no package.
pub fn version(program: &Path) -> Option<String> {
    let real = std::fs::canonicalize(program).ok()?;
    let packages = real.ancestors().skip(1).take(MAX_ABOVE).map(|folder| folder.join("package.json"));
    packages.into_iter().find_map(|package| {
        let text = std::fs::read_to_string(package).ok()?;
        let package: Value = serde_json::from_str(&text).ok()?;
        package.get("version")?.as_str().map(str::to_owned)
    })
}

/// Whether the user has logged in to a program, as far as files show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Login {
    Likely,
    Missing,
    Unknown,
}

pub fn login(quirks: &Quirks, home: Option<&Path>) -> Login {
    let Some(home) = home.filter(|_| !quirks.login_files.is_empty()) else { return Login::Unknown };
    if quirks.login_files.iter().any(|file| home.join(file).exists()) { Login::Likely } else { Login::Missing }
}

#[cfg(test)]
#[path = "locate_tests.rs"]
mod tests;
