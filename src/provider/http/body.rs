//! A request on its way: its pieces one after the other, with a length that is known from the start.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use crate::provider::encode::Pieces;

/// How much is handed over at once: enough that the system is asked seldom, little enough that it is no copy of the whole.
const AT_ONCE: usize = 256 * 1024;

/// Returns a request's body for the client.
pub fn of(pieces: Pieces) -> reqwest::Body {
    reqwest::Body::wrap(Flow(pieces))
}

struct Flow(Pieces);

impl Body for Flow {
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
