//! The storage for content that is too large for a conversation. The store implements it.

use std::io;
use std::path::PathBuf;

use futures::future::BoxFuture;

use crate::model::BlobRef;

/// Stores large content for as long as the session that refers to it.
pub trait BlobSink: Send + Sync {
    fn put(&self, bytes: Vec<u8>) -> BoxFuture<'_, io::Result<BlobRef>>;

    /// Takes ownership of a file: afterwards the caller no longer has it.
    fn put_file(&self, path: PathBuf) -> BoxFuture<'_, io::Result<BlobRef>>;

    /// Returns the file in which an agent can read a blob.
    fn path(&self, blob: &BlobRef) -> PathBuf;
}
