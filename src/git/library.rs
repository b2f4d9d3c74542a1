//! libgit2, with the options that hold for the whole program. Repositories are opened through here and nowhere else.

#![allow(unsafe_code, reason = "these options of libgit2 are global variables, and there is no safe way to set them")]

use std::path::Path;
use std::sync::Once;

use git2::Repository;

/// Extensions of the repository format that libgit2 refuses by default. A partial clone differs from any other repository
/// only in that objects may be missing, and a missing object is an error wherever it is met.
const EXTENSIONS: [&str; 1] = ["partialclone"];

/// Sets libgit2 up. To be called before it is used for anything.
pub(super) fn prepare() {
    static DONE: Once = Once::new();
    DONE.call_once(|| {
        // SAFETY: the option is a static variable of libgit2. It is written here only, once, and whoever uses libgit2 has
        // called this function before and waited for it.
        if let Err(error) = unsafe { git2::opts::set_extensions(&EXTENSIONS) } {
            tracing::warn!(%error, "partial clones cannot be opened");
        }
        let option = libgit2_sys::GIT_OPT_ENABLE_FSYNC_GITDIR.cast_signed();
        // SAFETY: as above; this option takes one number. Objects and refs are then on disk before they are named.
        if unsafe { libgit2_sys::git_libgit2_opts(option, std::ffi::c_int::from(true)) } != 0 {
            tracing::warn!("what libgit2 writes is not saved against a loss of power");
        }
    });
}

/// Opens a repository at exactly this place.
pub(super) fn open(path: &Path) -> Result<Repository, git2::Error> {
    prepare();
    Repository::open(path)
}
