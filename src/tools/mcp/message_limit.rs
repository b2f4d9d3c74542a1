//! Limits the length of a server's messages. The reader would silently drop a longer one, and the waiting call would
//! time out; so an error response with its id follows it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use serde_json::{Value, json};
use tokio::io::{AsyncBufRead as _, AsyncRead, BufReader, ReadBuf};

use crate::base::text::size;

/// The longest message that is read, from a pipe or from an event stream.
pub(super) const LONGEST: usize = 16 << 20;
/// How much of both ends of a message is kept to find its id.
const ENDS: usize = 256;

/// The output of a server, line by line.
pub(super) struct LineReader<R> {
    source: BufReader<R>,
    line: Line,
    refusal: Vec<u8>,
}

impl<R: AsyncRead> LineReader<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source: BufReader::new(source), line: Line::default(), refusal: Vec::new() }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for LineReader<R> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.refusal.is_empty() {
            let length = this.refusal.len().min(out.remaining());
            out.put_slice(&this.refusal[..length]);
            this.refusal.drain(..length);
            return Poll::Ready(Ok(()));
        }
        let available = ready!(Pin::new(&mut this.source).poll_fill_buf(cx))?;
        let end = available.iter().position(|byte| *byte == b'\n').map_or(available.len(), |at| at + 1);
        let piece = &available[..end.min(out.remaining())];
        out.put_slice(piece);
        this.line.push(piece);
        if piece.ends_with(b"\n") {
            let line = std::mem::take(&mut this.line);
            this.refusal = line.refusal().unwrap_or_default();
        }
        let length = piece.len();
        Pin::new(&mut this.source).consume(length);
        Poll::Ready(Ok(()))
    }
}

/// The line so far.
#[derive(Default)]
struct Line {
    length: usize,
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl Line {
    fn push(&mut self, piece: &[u8]) {
        self.length += piece.len();
        let room = ENDS - self.head.len();
        self.head.extend_from_slice(&piece[..piece.len().min(room)]);
        self.tail.extend_from_slice(&piece[piece.len().saturating_sub(ENDS)..]);
        let excess = self.tail.len().saturating_sub(ENDS);
        self.tail.drain(..excess);
    }

    /// Returns the error response for a line that is too long, if it was a response.
    fn refusal(&self) -> Option<Vec<u8>> {
        if self.length <= LONGEST {
            return None;
        }
        let id = id(&String::from_utf8_lossy(&self.head), &String::from_utf8_lossy(&self.tail))?;
        let (length, most) = (size(self.length as u64), size(LONGEST as u64));
        let message = format!("its answer has {length}, and at most {most} are read; ask for less");
        let refusal = json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32000, "message": message}});
        Some(format!("{refusal}\n").into_bytes())
    }
}

/// Finds the id of a response: it is before the result, or at the very end.
fn id(head: &str, tail: &str) -> Option<Value> {
    let before = head.split("\"result\"").next().unwrap_or_default();
    if before.contains("\"method\"") {
        return None;
    }
    let value = |text: &str| serde_json::Deserializer::from_str(text).into_iter::<Value>().next()?.ok();
    let first = before.split_once("\"id\":").and_then(|(_, rest)| value(rest));
    let last = || {
        let (_, rest) = tail.trim_end().strip_suffix('}')?.rsplit_once("\"id\":")?;
        serde_json::from_str(rest).ok()
    };
    first.or_else(last).filter(|id| id.is_number() || id.is_string())
}

#[cfg(test)]
#[path = "message_limit_tests.rs"]
mod tests;
