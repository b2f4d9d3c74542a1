//! Where tools put what is too large for a conversation. The store implements it.

use std::io;
use std::path::PathBuf;

use futures::future::BoxFuture;

use crate::model::BlobRef;

/// Keeps large things for as long as the session that mentions them.
pub trait BlobSink: Send + Sync {
    fn put(&self, bytes: Vec<u8>) -> BoxFuture<'_, io::Result<BlobRef>>;

    /// Takes a file over: afterwards the caller no longer has it.
    fn put_file(&self, path: PathBuf) -> BoxFuture<'_, io::Result<BlobRef>>;

    /// Returns the file where an agent can read a blob.
    fn path(&self, blob: &BlobRef) -> PathBuf;
}
