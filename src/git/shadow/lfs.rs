//! Git LFS: large files that agents add are stored beside the objects, and are brought over like those.
//!
//! The store is addressed by SHA-256, so a file is accepted if its content has the hash that its name claims.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use ring::digest::{Context, SHA256};
use rustix::fs::Mode;

use crate::git::dir::{Dir, is_file, is_folder};
use crate::git::error::Error;

const STORE: &str = "objects";
const CHUNK: usize = 64 << 10;

/// Copies new files of the stores at `from` to the real store `to`. Returns the number of files that are not what their
/// names claim, which stay where they are.
pub(super) fn import(from: &[PathBuf], to: &Path) -> Result<usize, Error> {
    let mut refused = 0;
    for store in from {
        let Ok(store) = Dir::open(store).and_then(|store| store.child(OsStr::new(STORE))) else { continue };
        for (first, folder) in folders(&store) {
            for (second, folder) in folders(&folder) {
                for name in folder.names().unwrap_or_default() {
                    let Some(text) = name.to_str() else { continue };
                    let is_named = text.len() == 64 && text.starts_with(&format!("{first}{second}"));
                    let place = to.join(STORE).join(&first).join(&second).join(text);
                    if !is_named || !folder.stat(&name).is_ok_and(|stat| stat.is_some_and(|stat| is_file(&stat))) {
                        continue;
                    }
                    if !place.exists() && !copy(&folder, &name, text, &place)? {
                        refused += 1;
                    }
                }
            }
        }
    }
    Ok(refused)
}

fn folders(parent: &Dir) -> Vec<(String, Dir)> {
    let child = |name: std::ffi::OsString| {
        let text = name.to_str().filter(|text| text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        let is_dir = parent.stat(&name).ok()?.is_some_and(|stat| is_folder(&stat));
        is_dir.then(|| parent.child(&name).ok().map(|folder| (text.to_owned(), folder))).flatten()
    };
    parent.names().unwrap_or_default().into_iter().filter_map(child).collect()
}

/// Copies one file while hashing it. Returns false if the hash is another.
fn copy(folder: &Dir, name: &OsStr, hash: &str, place: &Path) -> Result<bool, Error> {
    let failed = || Error::disk("write", place);
    let Some(parent) = place.parent() else { return Ok(false) };
    fs::create_dir_all(parent).map_err(failed())?;
    let parent = Dir::open(parent).map_err(failed())?;
    let draft = format!(".{hash}.mxd");
    let draft = OsStr::new(&draft);
    parent.remove_file(draft).map_err(failed())?;
    let copied = (|| {
        let (mut source, mut target) = (folder.open_file(name)?, parent.create(draft, Mode::from_raw_mode(0o644))?);
        let (mut context, mut chunk) = (Context::new(&SHA256), vec![0; CHUNK]);
        loop {
            let read = source.read(&mut chunk)?;
            if read == 0 {
                break;
            }
            context.update(&chunk[..read]);
            io::Write::write_all(&mut target, &chunk[..read])?;
        }
        target.sync_data()?;
        let mut found = String::new();
        found.extend(context.finish().as_ref().iter().map(|byte| format!("{byte:02x}")));
        if found != hash {
            return Ok(false);
        }
        parent.rename(draft, &parent, name).map(|()| true)
    })();
    if !matches!(copied, Ok(true)) {
        let _ = parent.remove_file(draft);
    }
    copied.map_err(failed())
}
