//! Trees that exist only as objects: a tree with one file changed. Written without a ref.

use std::path::Path;

use git2::{FileMode, Oid, build::TreeUpdateBuilder};

use super::error::{Error, blocking};
use super::program::Checkout;

/// Returns a tree in which one file is replaced by the result of `change`. `None` if the path is not a regular file, or
/// if `change` returns `None`.
pub async fn with_changed(
    checkout: &Checkout,
    tree: &str,
    path: &Path,
    change: impl FnOnce(Option<&[u8]>) -> Option<Vec<u8>> + Send + 'static,
) -> Result<Option<String>, Error> {
    let (checkout, tree, path) = (checkout.clone(), tree.to_owned(), path.to_owned());
    blocking(move || {
        let repository = checkout.open()?;
        let failed = Error::read(&checkout.path);
        let id = Oid::from_str(&tree).map_err(|_| Error::NoCommit(tree.clone()))?;
        let whole = repository.find_tree(id).map_err(|_| Error::NoCommit(tree.clone()))?;
        let entry = whole.get_path(&path).ok();
        let mode = match entry.as_ref().map(git2::TreeEntry::filemode) {
            None => FileMode::Blob,
            Some(mode) if mode == i32::from(FileMode::Blob) => FileMode::Blob,
            Some(mode) if mode == i32::from(FileMode::BlobExecutable) => FileMode::BlobExecutable,
            Some(_) => return Ok(None),
        };
        let before = entry.map(|entry| repository.find_blob(entry.id())).transpose().map_err(&failed)?;
        let Some(after) = change(before.as_ref().map(git2::Blob::content)) else { return Ok(None) };
        let blob = repository.blob(&after).map_err(&failed)?;
        let mut update = TreeUpdateBuilder::new();
        update.upsert(&path, blob, mode);
        let made = update.create_updated(&repository, &whole).map_err(&failed)?;
        Ok(Some(made.to_string()))
    })
    .await
}

/// Returns the blob id and mode of a file in a tree, or `None` if it does not exist.
pub async fn file(checkout: &Checkout, tree: &str, path: &Path) -> Result<Option<(String, i32)>, Error> {
    let (checkout, tree, path) = (checkout.clone(), tree.to_owned(), path.to_owned());
    blocking(move || {
        let repository = checkout.open()?;
        let id = Oid::from_str(&tree).map_err(|_| Error::NoCommit(tree.clone()))?;
        let whole = repository.find_tree(id).map_err(|_| Error::NoCommit(tree.clone()))?;
        Ok(whole.get_path(&path).ok().map(|entry| (entry.id().to_string(), entry.filemode())))
    })
    .await
}
