//! A command's output on its way to the screen: as it comes, but never faster than somebody can look.
//!
//! The capture holds what has not been shown, bounded; here it is taken a few times a second. A flood therefore
//! costs the screen as much as a trickle, and what was skipped is said.

use std::time::Duration;

use crate::base::text;
use crate::model::Live;
use crate::model::live::Channel;
use crate::process::Capture;
use crate::process::output::Pending;

/// Takes what is only shown. Must not block.
pub trait LiveSink: Send + Sync {
    fn send(&self, update: Live);
}

impl<F: Fn(Live) + Send + Sync> LiveSink for F {
    fn send(&self, update: Live) {
        self(update);
    }
}

const PACE: Duration = Duration::from_millis(50);
/// For what runs beside the conversation.
const RELAXED_PACE: Duration = Duration::from_millis(250);

/// Whose output it is.
#[derive(Clone, Copy)]
enum Whose<'a> {
    Call(&'a str, Channel),
    Process(&'a str),
}

/// One stream of one call, or of a process in the background.
pub(super) struct Stream<'a> {
    whose: Whose<'a>,
    pace: Duration,
    capture: &'a Capture,
    sink: &'a dyn LiveSink,
    decoder: Decoder,
}

impl<'a> Stream<'a> {
    pub(super) fn new(call: &'a str, channel: Channel, capture: &'a Capture, sink: &'a dyn LiveSink) -> Self {
        Self { whose: Whose::Call(call, channel), pace: PACE, capture, sink, decoder: Decoder::default() }
    }

    pub(super) fn of_process(process: &'a str, capture: &'a Capture, sink: &'a dyn LiveSink) -> Self {
        Self { whose: Whose::Process(process), pace: RELAXED_PACE, capture, sink, decoder: Decoder::default() }
    }

    /// Shows what comes, until nothing can come any more.
    pub(super) async fn follow(&mut self) {
        while !self.capture.is_closed() {
            self.capture.fresh().await;
            self.flush();
            tokio::time::sleep(self.pace).await;
        }
        self.flush();
    }

    /// Shows what is there.
    pub(super) fn flush(&mut self) {
        let text = self.decoder.text(&self.capture.take_pending());
        if !text.is_empty() {
            self.sink.send(match self.whose {
                Whose::Call(call, channel) => Live::OutputChunk { call: call.to_owned(), channel, text },
                Whose::Process(process) => Live::ProcessOutput { process: process.to_owned(), text },
            });
        }
    }
}

/// Turns pieces of a stream into text. A character may be split between two pieces.
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
            // An error without a length is a character that has only begun.
            Err(error) if error.error_len().is_none() => {
                out.pop();
                error.valid_up_to()
            }
            // The last error may be such a beginning too, after earlier real ones.
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
