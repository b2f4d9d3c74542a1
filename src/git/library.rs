//! libgit2 with the options for the whole program. The only place that opens repositories.

#![allow(unsafe_code, reason = "these options of libgit2 are global variables without a safe setter")]

use std::path::Path;
use std::sync::Once;

use git2::Repository;

/// Repository extensions that libgit2 refuses by default. A partial clone differs only in that objects may be missing,
/// and a missing object is an error wherever it occurs.
const EXTENSIONS: [&str; 1] = ["partialclone"];

/// Initialises libgit2. Call it before any use.
pub(super) fn prepare() {
    static DONE: Once = Once::new();
    DONE.call_once(|| {
        // SAFETY: the option is a static variable of libgit2. It is written only here, once, and every user of libgit2
        // calls this function first and waits for it.
        if let Err(error) = unsafe { git2::opts::set_extensions(&EXTENSIONS) } {
            tracing::warn!(%error, "cannot enable partial clones");
        }
        let option = libgit2_sys::GIT_OPT_ENABLE_FSYNC_GITDIR.cast_signed();
        // SAFETY: as above; this option takes one number. With it, objects and refs are on disk before they are
        // referenced.
        if unsafe { libgit2_sys::git_libgit2_opts(option, std::ffi::c_int::from(true)) } != 0 {
            tracing::warn!("libgit2 cannot fsync its writes");
        }
    });
}

/// Opens the repository at exactly this path.
pub(super) fn open(path: &Path) -> Result<Repository, git2::Error> {
    prepare();
    Repository::open(path)
}
