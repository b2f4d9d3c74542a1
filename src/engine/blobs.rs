//! Lets tools write blobs to the project's blob store.

use std::io;
use std::path::PathBuf;

use futures::future::BoxFuture;

use crate::model::BlobRef;
use crate::store::Blobs;
use crate::tools::BlobSink;

/// Writes blobs on a blocking thread.
pub struct StoredBlobs(pub Blobs);

impl BlobSink for StoredBlobs {
    fn put(&self, bytes: Vec<u8>) -> BoxFuture<'_, io::Result<BlobRef>> {
        let blobs = self.0.clone();
        Box::pin(async move { blocking(move || blobs.put(&bytes).map_err(io::Error::other)).await })
    }

    fn put_file(&self, path: PathBuf) -> BoxFuture<'_, io::Result<BlobRef>> {
        let blobs = self.0.clone();
        Box::pin(async move { blocking(move || blobs.take(&path).map_err(io::Error::other)).await })
    }

    fn path(&self, blob: &BlobRef) -> PathBuf {
        self.0.path(&blob.blob)
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}
