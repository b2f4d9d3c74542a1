//! Splits a stream of server-sent events, pushed in pieces of any size.
//!
//! Handles line ends (LF, CRLF, CR), comments, a byte order mark, and the fields `event` and `data`. It does not
//! interpret the data. The size of an event is bounded, so that a hostile or broken server cannot exhaust memory.

/// Maximum size of one event, including its unfinished line.
pub const EVENT_LIMIT: usize = 8 * 1024 * 1024;
const BOM: &[u8] = b"\xEF\xBB\xBF";

/// One event. Its name is empty if the server gave none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    pub name: String,
    pub data: String,
}

/// An event that grew past [`EVENT_LIMIT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is larger than {} MiB", EVENT_LIMIT / (1024 * 1024))]
pub struct TooLarge;

/// Splits bytes into events.
#[derive(Debug, Default)]
pub struct Splitter {
    line: Vec<u8>,
    /// The last byte was a CR that ended a line. A following LF belongs to it.
    after_cr: bool,
    past_first_line: bool,
    name: String,
    data: String,
    has_data: bool,
}

impl Splitter {
    /// Consumes the next piece and adds completed events to `events`.
    pub fn push(&mut self, mut bytes: &[u8], events: &mut Vec<SseEvent>) -> Result<(), TooLarge> {
        while let Some(&first) = bytes.first() {
            if std::mem::take(&mut self.after_cr) && first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.line.extend_from_slice(bytes);
                return self.check();
            };
            self.line.extend_from_slice(&bytes[..end]);
            self.check()?;
            self.after_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            self.end_line(events);
        }
        Ok(())
    }

    /// Returns the unfinished event at the end of the stream, for servers that omit the last blank line.
    pub fn finish(mut self) -> Option<SseEvent> {
        let mut events = Vec::new();
        if !self.line.is_empty() {
            self.end_line(&mut events);
        }
        self.end_event(&mut events);
        events.pop()
    }

    fn check(&self) -> Result<(), TooLarge> {
        if self.line.len() + self.data.len() + self.name.len() > EVENT_LIMIT { Err(TooLarge) } else { Ok(()) }
    }

    fn end_line(&mut self, events: &mut Vec<SseEvent>) {
        let mut line = std::mem::take(&mut self.line);
        let content = match line.strip_prefix(BOM) {
            Some(rest) if !self.past_first_line => rest,
            _ => &line,
        };
        self.past_first_line = true;
        if content.is_empty() {
            self.end_event(events);
        } else {
            let (field, value) = match content.iter().position(|byte| *byte == b':') {
                Some(colon) => (&content[..colon], &content[colon + 1..]),
                None => (content, &[][..]),
            };
            let value = value.strip_prefix(b" ").unwrap_or(value);
            match field {
                b"event" => self.name = String::from_utf8_lossy(value).into_owned(),
                b"data" => {
                    if self.has_data {
                        self.data.push('\n');
                    }
                    self.has_data = true;
                    self.data.push_str(&String::from_utf8_lossy(value));
                }
                // Comments have an empty field name; `id` and `retry` are for clients that reconnect.
                _ => {}
            }
        }
        line.clear();
        self.line = line;
    }

    fn end_event(&mut self, events: &mut Vec<SseEvent>) {
        let (name, data) = (std::mem::take(&mut self.name), std::mem::take(&mut self.data));
        if std::mem::take(&mut self.has_data) {
            events.push(SseEvent { name, data });
        }
    }
}

#[cfg(test)]
#[path = "sse_tests.rs"]
mod tests;
