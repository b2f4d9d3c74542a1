//! Streams the pieces of a request, with a known length.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use crate::provider::encode::ByteChunks;

/// Maximum size of joined pieces: large enough to save system calls, small enough not to copy the whole request.
const AT_ONCE: usize = 256 * 1024;

/// Returns the body of a request.
pub fn of(pieces: ByteChunks) -> reqwest::Body {
    reqwest::Body::wrap(ChunkedBody(pieces))
}

struct ChunkedBody(ByteChunks);

impl Body for ChunkedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.take(AT_ONCE).map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.len() as u64)
    }
}
