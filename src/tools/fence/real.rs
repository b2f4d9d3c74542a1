//! Resolves paths: absolute, without links, without `..`. The end of a path need not exist.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

/// As many links as the kernel follows.
const LINKS: usize = 40;

/// Returns the real form of an absolute path. Unlike `canonicalize`, works for files that do not exist yet, and
/// follows dangling links: writing through one would create its target.
pub(in crate::tools) fn real_path(path: &Path) -> io::Result<PathBuf> {
    let mut done = PathBuf::from("/");
    let mut todo: VecDeque<OsString> = VecDeque::new();
    push_front(&mut todo, path);
    let mut links = 0;
    while let Some(name) = todo.pop_front() {
        if name == ".." {
            done.pop();
            continue;
        }
        done.push(&name);
        let target = match done.symlink_metadata() {
            Ok(metadata) if metadata.is_symlink() => done.read_link()?,
            Ok(_) => continue,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => continue,
            Err(error) => return Err(error),
        };
        links += 1;
        if links > LINKS {
            return Err(io::Error::other("too many symbolic links"));
        }
        done.pop();
        if target.is_absolute() {
            done = PathBuf::from("/");
        }
        push_front(&mut todo, &target);
    }
    Ok(done)
}

fn push_front(todo: &mut VecDeque<OsString>, path: &Path) {
    for component in path.components().rev() {
        match component {
            Component::Normal(name) => todo.push_front(name.to_owned()),
            Component::ParentDir => todo.push_front("..".into()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
}
