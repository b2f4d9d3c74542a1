//! Which repositories can have a shadow.

use std::fs;
use std::path::Path;

use git2::Config;

use crate::git::error::Error;
use crate::git::library;
use crate::git::program::Checkout;

/// Why a repository cannot have a shadow. The sandbox then uses a lower level.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    #[error("the repository stores its refs in the reftable format")]
    Reftable,
    #[error("the repository uses {0} object ids; only SHA-1 is supported")]
    ObjectFormat(String),
    #[error("the repository uses the extension \"{0}\" of git, which Matrix does not know")]
    Extension(String),
    #[error("the checkout has submodules with repositories of their own")]
    Submodules,
    #[error("the checkout lies inside the git folder")]
    CheckoutInside,
    #[error("the git folder keeps its {0} behind a link")]
    Linked(&'static str),
    #[error("Git LFS keeps its files in another folder (lfs.storage)")]
    LfsStorage,
}

/// Extensions that a shadow copies or that do not concern it.
const KNOWN: [&str; 5] = ["noop", "partialclone", "preciousobjects", "relativeworktrees", "worktreeconfig"];

/// Returns why a checkout cannot have a shadow, or `None` if it can.
pub(super) fn refusal(checkout: &Checkout) -> Result<Option<Unsupported>, Error> {
    let common = &checkout.common;
    if common.join("reftable").exists() {
        return Ok(Some(Unsupported::Reftable));
    }
    for name in ["objects", "refs", "packed-refs", "logs"] {
        if fs::symlink_metadata(common.join(name)).is_ok_and(|found| found.is_symlink()) {
            return Ok(Some(Unsupported::Linked(name)));
        }
    }
    if checkout.path.starts_with(common) {
        return Ok(Some(Unsupported::CheckoutInside));
    }
    let has_entries = |folder: &Path| fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
    if has_entries(&checkout.git_dir.join("modules")) {
        return Ok(Some(Unsupported::Submodules));
    }
    let mut found = None;
    for (name, value) in local_settings(checkout)? {
        let refused = match name.as_str() {
            "extensions.refstorage" if value != "files" => Some(Unsupported::Reftable),
            "extensions.objectformat" if value != "sha1" => Some(Unsupported::ObjectFormat(value)),
            "extensions.refstorage" | "extensions.objectformat" => None,
            "lfs.storage" => Some(Unsupported::LfsStorage),
            name => name
                .strip_prefix("extensions.")
                .filter(|extension| !KNOWN.contains(extension))
                .map(|extension| Unsupported::Extension(extension.to_owned())),
        };
        found = found.or(refused);
    }
    Ok(found)
}

/// Returns true if objects of the repository may be missing, because a remote promised them.
pub(super) fn is_partial(checkout: &Checkout) -> bool {
    let is_promisor = |(name, value): &(String, String)| {
        name == "extensions.partialclone" || (name.ends_with(".promisor") && value == "true")
    };
    local_settings(checkout).is_ok_and(|settings| settings.iter().any(is_promisor))
}

/// Returns the settings of a repository, also of one that libgit2 cannot open.
fn local_settings(checkout: &Checkout) -> Result<Vec<(String, String)>, Error> {
    library::prepare();
    let mut found = Vec::new();
    for file in [checkout.common.join("config"), checkout.git_dir.join("config.worktree")] {
        if !file.exists() {
            continue;
        }
        let failed = Error::read(&file);
        let settings = Config::open(&file).map_err(&failed)?;
        let entries = settings.entries(None).map_err(&failed)?;
        let listed = entries.for_each(|entry| {
            let value = if entry.has_value() { entry.value_bytes() } else { b"true" };
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            found.push((text(entry.name_bytes()), text(value)));
        });
        listed.map_err(&failed)?;
    }
    Ok(found)
}
