//! Streams the output of commands to the screen, a few times a second.
//!
//! The capture buffers unshown output, bounded. A flood therefore costs the screen as much as a trickle, and skipped
//! output is noted.

use std::time::Duration;

use crate::base::text;
use crate::model::Live;
use crate::model::live::Channel;
use crate::process::Capture;
use crate::process::output::Pending;

/// Receives updates that are only displayed. Must not block.
pub trait LiveSink: Send + Sync {
    fn send(&self, update: Live);
}

impl<F: Fn(Live) + Send + Sync> LiveSink for F {
    fn send(&self, update: Live) {
        self(update);
    }
}

const PACE: Duration = Duration::from_millis(50);
/// For background processes.
const RELAXED_PACE: Duration = Duration::from_millis(250);

/// The source of the output.
#[derive(Clone, Copy)]
enum OutputOwner<'a> {
    Call(&'a str, Channel),
    Process(&'a str),
}

/// One stream of a call or of a background process.
pub(super) struct LiveOutput<'a> {
    whose: OutputOwner<'a>,
    pace: Duration,
    capture: &'a Capture,
    sink: &'a dyn LiveSink,
    decoder: Decoder,
}

impl<'a> LiveOutput<'a> {
    pub(super) fn new(call: &'a str, channel: Channel, capture: &'a Capture, sink: &'a dyn LiveSink) -> Self {
        Self { whose: OutputOwner::Call(call, channel), pace: PACE, capture, sink, decoder: Decoder::default() }
    }

    pub(super) fn of_process(process: &'a str, capture: &'a Capture, sink: &'a dyn LiveSink) -> Self {
        Self { whose: OutputOwner::Process(process), pace: RELAXED_PACE, capture, sink, decoder: Decoder::default() }
    }

    /// Streams the output until it ends.
    pub(super) async fn follow(&mut self) {
        while !self.capture.is_closed() {
            self.capture.wait_for_output().await;
            self.flush();
            tokio::time::sleep(self.pace).await;
        }
        self.flush();
    }

    /// Sends the buffered output.
    pub(super) fn flush(&mut self) {
        let text = self.decoder.text(&self.capture.take_pending());
        if !text.is_empty() {
            self.sink.send(match self.whose {
                OutputOwner::Call(call, channel) => Live::OutputChunk { call: call.to_owned(), channel, text },
                OutputOwner::Process(process) => Live::ProcessOutput { process: process.to_owned(), text },
            });
        }
    }
}

/// Decodes pieces of a stream. A character may be split between two pieces.
#[derive(Debug, Default)]
struct Decoder {
    unfinished: Vec<u8>,
}

impl Decoder {
    fn text(&mut self, pending: &Pending) -> String {
        let mut out = String::new();
        if pending.skipped > 0 {
            self.unfinished.clear();
            out = format!("\n[{} not shown]\n", text::size(pending.skipped));
        }
        self.unfinished.extend_from_slice(&pending.bytes);
        for chunk in self.unfinished.utf8_chunks() {
            out.push_str(chunk.valid());
            if !chunk.invalid().is_empty() {
                out.push(char::REPLACEMENT_CHARACTER);
            }
        }
        let whole = match str::from_utf8(&self.unfinished) {
            // An error without a length is an incomplete character at the end.
            Err(error) if error.error_len().is_none() => {
                out.pop();
                error.valid_up_to()
            }
            // The last error may also be an incomplete character, after earlier real ones.
            Err(_) => self.complete_length(&mut out),
            Ok(_) => self.unfinished.len(),
        };
        self.unfinished.drain(..whole);
        out
    }

    fn complete_length(&self, out: &mut String) -> usize {
        let begun = (1..=self.unfinished.len().min(3)).find(|length| {
            let end = &self.unfinished[self.unfinished.len() - length..];
            matches!(str::from_utf8(end), Err(error) if error.error_len().is_none() && error.valid_up_to() == 0)
        });
        if begun.is_some() {
            out.pop();
        }
        self.unfinished.len() - begun.unwrap_or(0)
    }
}

#[cfg(test)]
#[path = "live_tests.rs"]
mod tests;
