//! Reads the lines of a file, forwards or backwards, with bounded memory.
//!
//! Both scanners yield the bytes between newlines with their offset. A line longer than [`MAX_LINE`] is skipped:
//! Matrix did not write it, and it must not fill the memory. Two lines with a lost newline between them are two
//! lines.

use std::io;

use crate::store::disk::DiskFile;
use crate::store::line::MAX_LINE;

/// The number of bytes read at a time.
pub const CHUNK: usize = 64 << 10;

/// The boundary of two lines without a newline between them. It is in no valid line: after an object JSON has a comma
/// or a bracket, and inside a string the quotes would be escaped.
const GLUED: &[u8] = b"}{\"v\":";

/// A piece of a file between two newlines.
#[derive(Debug, PartialEq, Eq)]
pub struct Span<'a> {
    pub offset: u64,
    /// The bytes without the newline; `None` if the line is too long.
    pub bytes: Option<&'a [u8]>,
    pub terminated: bool,
}

/// Scans a file from `start` to `end`.
pub struct Forward<'f> {
    file: &'f dyn DiskFile,
    /// The offset of the next read.
    read_at: u64,
    end: u64,
    buffer: Vec<u8>,
    /// The start of the next line in the buffer.
    next: usize,
}

impl<'f> Forward<'f> {
    pub fn new(file: &'f dyn DiskFile, start: u64, end: u64) -> Self {
        Self { file, read_at: start, end, buffer: Vec::new(), next: 0 }
    }

    /// Returns the next line, or `None` at the end.
    pub fn next_line(&mut self) -> io::Result<Option<Span<'_>>> {
        let mut searched = self.next;
        let mut skipped = 0_u64;
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[searched..]).map(|at| searched + at) {
                return Ok(Some(self.take_line(at, at + 1, skipped)));
            }
            if self.buffer.len() - self.next > MAX_LINE {
                skipped += (self.buffer.len() - self.next) as u64;
                self.next = self.buffer.len();
            }
            searched = self.refill()?;
            if searched == self.buffer.len() {
                if self.next == searched && skipped == 0 {
                    return Ok(None);
                }
                return Ok(Some(self.take_line(searched, searched, skipped)));
            }
        }
    }

    /// Returns the line that ends at `end` in the buffer, or the first of several glued lines, and continues after
    /// it: after the last one at `next`.
    fn take_line(&mut self, end: usize, next: usize, skipped: u64) -> Span<'_> {
        let start = self.next;
        let offset = self.buffer_offset() + start as u64 - skipped;
        let line = &self.buffer[start..end];
        if skipped > 0 || line.len() >= MAX_LINE {
            self.next = next;
            return Span { offset, bytes: None, terminated: next > end };
        }
        let (len, next, terminated) = match memchr::memmem::find(line, GLUED) {
            Some(at) => (at + 1, start + at + 1, false),
            None => (line.len(), next, next > end),
        };
        self.next = next;
        Span { offset, bytes: Some(&self.buffer[start..start + len]), terminated }
    }

    fn buffer_offset(&self) -> u64 {
        self.read_at - self.buffer.len() as u64
    }

    /// Drops the consumed part of the buffer, reads more, and returns the start of the new bytes.
    fn refill(&mut self) -> io::Result<usize> {
        self.buffer.drain(..self.next);
        self.next = 0;
        let start = self.buffer.len();
        let left = usize::try_from(self.end.saturating_sub(self.read_at)).unwrap_or(usize::MAX);
        // Reading as much as is already buffered keeps the copying of a long line linear.
        self.buffer.resize(start + left.min(start.max(CHUNK)), 0);
        let read = self.file.read_at(&mut self.buffer[start..], self.read_at)?;
        self.buffer.truncate(start + read);
        self.read_at += read as u64;
        Ok(start)
    }
}

/// Scans a file backwards from `end` to its beginning, or to a floor.
pub struct Backward<'f> {
    file: &'f dyn DiskFile,
    /// The bytes of the file from `start` on that were read and not yet returned.
    buffer: Vec<u8>,
    start: u64,
    /// The start of the first line: nothing before it is read.
    floor: u64,
    /// A newline follows the buffer.
    terminated: bool,
    done: bool,
}

impl<'f> Backward<'f> {
    /// Starts at `end`. A newline directly before it ends the last line; it does not start an empty one.
    pub fn new(file: &'f dyn DiskFile, end: u64) -> io::Result<Self> {
        Self::above(file, 0, end)
    }

    /// Like [`Backward::new`], but stops at `floor`, where a line starts.
    pub fn above(file: &'f dyn DiskFile, floor: u64, end: u64) -> io::Result<Self> {
        let done = end <= floor;
        let mut scanner = Self { file, buffer: Vec::new(), start: end, floor, terminated: false, done };
        if !done {
            scanner.extend()?;
            if scanner.buffer.last() == Some(&b'\n') {
                scanner.buffer.pop();
                scanner.terminated = true;
            }
        }
        Ok(scanner)
    }

    /// Returns the line before the one returned last, or `None` at the beginning.
    pub fn next_line(&mut self) -> io::Result<Option<OwnedSpan>> {
        if self.done {
            return Ok(None);
        }
        let mut unsearched = self.buffer.len();
        let mut oversized = false;
        loop {
            if let Some(at) = memchr::memrchr(b'\n', &self.buffer[..unsearched]) {
                let bytes = self.buffer.split_off(at + 1);
                let offset = self.start + at as u64 + 1;
                return Ok(Some(self.take_line(offset, bytes, oversized)));
            }
            if self.start == self.floor {
                let bytes = std::mem::take(&mut self.buffer);
                return Ok(Some(self.take_line(self.floor, bytes, oversized)));
            }
            if self.buffer.len() > MAX_LINE {
                oversized = true;
                self.buffer.clear();
            }
            unsearched = self.extend()?;
        }
    }

    /// Returns the line at `offset`, or the last of several glued lines; the others stay for the next call.
    fn take_line(&mut self, mut offset: u64, mut bytes: Vec<u8>, oversized: bool) -> OwnedSpan {
        let terminated = self.terminated;
        let readable = !oversized && bytes.len() < MAX_LINE;
        if readable && let Some(at) = last_glued(&bytes) {
            let last = bytes.split_off(at + 1);
            offset += bytes.len() as u64;
            self.buffer.append(&mut bytes);
            self.terminated = false;
            return OwnedSpan { offset, bytes: Some(last), terminated };
        }
        self.done = self.buffer.pop().is_none();
        self.terminated = true;
        OwnedSpan { offset, bytes: readable.then_some(bytes), terminated }
    }

    /// Reads a piece before the buffer and returns its length.
    fn extend(&mut self) -> io::Result<usize> {
        let want = (self.buffer.len().max(CHUNK) as u64).min(self.start - self.floor);
        let piece = usize::try_from(want).unwrap_or(CHUNK);
        let mut bytes = vec![0; piece];
        let read = self.file.read_at(&mut bytes, self.start - want)?;
        if read < piece {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter while it was read"));
        }
        bytes.append(&mut self.buffer);
        self.buffer = bytes;
        self.start -= want;
        Ok(piece)
    }
}

/// Returns the boundary between the last glued line of `bytes` and the one before it.
fn last_glued(bytes: &[u8]) -> Option<usize> {
    // Usually there is none, and searching forwards finds that out several times faster.
    memchr::memmem::find(bytes, GLUED)?;
    memchr::memmem::rfind(bytes, GLUED)
}

/// Like [`Span`], with owned bytes: the backward buffer does not outlive the call.
#[derive(Debug, PartialEq, Eq)]
pub struct OwnedSpan {
    pub offset: u64,
    pub bytes: Option<Vec<u8>>,
    pub terminated: bool,
}

#[cfg(test)]
#[path = "scan_tests.rs"]
pub(in crate::store) mod tests;
