//! Reads some lines of a text file, numbered and bounded, without loading the rest.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range;

use crate::base::text::{count, size};

const DEFAULT_LIMIT: u64 = 2000;
/// Longer lines are cut, unless a byte offset is given: minified code is rarely read on purpose.
const LONGEST_LINE: usize = 2000;
/// How far past the requested part lines are still counted.
const COUNTED: u64 = 64 << 20;

/// The requested part of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineRange {
    /// The first line, counted from 1.
    pub offset: u64,
    /// How many bytes of the first line to skip. `None` treats it like all other lines.
    pub byte: Option<u64>,
    pub limit: Option<u64>,
}

/// Returns the continuation of the title and the lines: `: lines 3-4 of 9
/// 3\tfoo
/// 4\tbar`.
pub(super) fn read(
    source: impl Read,
    wanted: LineRange,
    budget: usize,
    cancelled: &dyn Fn() -> bool,
) -> io::Result<String> {
    let mut lines = Lines { source: BufReader::with_capacity(64 << 10, source), cancelled };
    let LineRange { offset, byte, limit } = wanted;
    let offset = offset.max(1);
    let mut before = 0;
    while before < offset - 1 {
        if lines.next(None)?.is_none() {
            return Ok(past_the_end(before, offset));
        }
        before += 1;
    }
    let (mut body, mut shown, mut more) = (String::new(), 0_u64, false);
    let mut line = Vec::new();
    loop {
        line.clear();
        let (from, most) = match byte {
            Some(byte) if shown == 0 => (byte, LONGEST_LINE.max(budget)),
            Some(_) | None => (0, LONGEST_LINE),
        };
        let piece = from..from.saturating_add(most as u64);
        let Some(length) = lines.next(Some((&mut line, piece)))? else { break };
        if shown == limit.unwrap_or(DEFAULT_LIMIT) || (shown > 0 && body.len() + line.len() + 16 > budget) {
            more = true;
            break;
        }
        let number = before + shown + 1;
        if from > 0 && from >= length {
            let _ = write!(body, "\n{number:>6}\t[the line has only {length} bytes; there is nothing at byte {from}]");
        } else if from + (line.len() as u64) < length {
            line.truncate(whole_characters(&line));
            let (text, next) = (String::from_utf8_lossy(&line), from + line.len() as u64);
            let all = size(length);
            let _ =
                write!(body, "\n{number:>6}\t{text} [line cut: {all} in all; go on with offset {number}, byte {next}]");
        } else {
            let text = String::from_utf8_lossy(&line);
            let _ = write!(body, "\n{number:>6}\t{}", text.strip_suffix('\r').unwrap_or(&text));
        }
        shown += 1;
    }
    if shown == 0 {
        return Ok(if before == 0 { ": the file is empty.".to_owned() } else { past_the_end(before, offset) });
    }
    let (first, last) = (before + 1, before + shown);
    if !more {
        return Ok(format!(": lines {first}-{last} of {last}{body}"));
    }
    let (rest, to_the_end) = lines.count_rest()?;
    let total = last + 1 + rest;
    let of = if to_the_end { total.to_string() } else { format!("more than {total}") };
    let left = usize::try_from(total - last).unwrap_or(usize::MAX);
    let more = count(left, "more line", "more lines");
    Ok(format!(": lines {first}-{last} of {of}{body}\n[{more}: go on with offset {}]", last + 1))
}

/// Returns the length without an incomplete character at the end, which is left for the next piece.
fn whole_characters(bytes: &[u8]) -> usize {
    let last = bytes.len().saturating_sub(4);
    let cut = (last..bytes.len()).rev().find(|at| bytes[*at] & 0xC0 != 0x80);
    let is_cut = |at: usize| str::from_utf8(&bytes[at..]).is_err_and(|error| error.error_len().is_none());
    cut.filter(|at| *at > 0 && is_cut(*at)).unwrap_or(bytes.len())
}

fn past_the_end(lines: u64, offset: u64) -> String {
    let lines = count(usize::try_from(lines).unwrap_or(usize::MAX), "line", "lines");
    format!(": it has only {lines}; there is nothing at offset {offset}.")
}

struct Lines<'a, R> {
    source: BufReader<R>,
    cancelled: &'a dyn Fn() -> bool,
}

impl<R: Read> Lines<'_, R> {
    /// Advances past the next line and stores a range of its bytes if requested. Returns its length, or `None` at the
    /// end.
    fn next(&mut self, mut keep: Option<(&mut Vec<u8>, Range<u64>)>) -> io::Result<Option<u64>> {
        let mut length = 0;
        let mut any = false;
        loop {
            if (self.cancelled)() {
                return Err(io::Error::other("interrupted"));
            }
            let buffer = match self.source.fill_buf() {
                Ok(buffer) => buffer,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if buffer.is_empty() {
                return Ok(any.then_some(length));
            }
            any = true;
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let piece = &buffer[..end.unwrap_or(buffer.len())];
            if let Some((kept, wanted)) = &mut keep {
                let at =
                    |byte: u64| usize::try_from(byte.saturating_sub(length)).unwrap_or(usize::MAX).min(piece.len());
                kept.extend_from_slice(&piece[at(wanted.start)..at(wanted.end)]);
            }
            length += piece.len() as u64;
            let used = piece.len() + usize::from(end.is_some());
            self.source.consume(used);
            if end.is_some() {
                return Ok(Some(length));
            }
        }
    }

    /// Counts the remaining lines. Returns whether it reached the end.
    fn count_rest(&mut self) -> io::Result<(u64, bool)> {
        let (mut lines, mut bytes) = (0, 0);
        while let Some(length) = self.next(None)? {
            lines += 1;
            bytes += length + 1;
            if bytes > COUNTED {
                return Ok((lines, false));
            }
        }
        Ok((lines, true))
    }
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
