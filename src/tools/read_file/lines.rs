//! Some lines of a text file, numbered and bounded, read without loading the rest.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read};

use crate::base::text::{count, size};

const DEFAULT_LIMIT: u64 = 2000;
/// Lines longer than this are cut: nobody reads minified code.
const LONGEST_LINE: usize = 2000;
/// How far past the part that was asked for lines are still counted.
const COUNTED: u64 = 64 << 20;

/// Returns the title's continuation and the lines: `: lines 3-4 of 9\n     3\tfoo\n     4\tbar`.
pub(super) fn read(
    source: impl Read,
    offset: u64,
    limit: Option<u64>,
    budget: usize,
    cancelled: &dyn Fn() -> bool,
) -> io::Result<String> {
    let mut lines = Lines { source: BufReader::with_capacity(64 << 10, source), cancelled };
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
        let Some(length) = lines.next(Some(&mut line))? else { break };
        if shown == limit.unwrap_or(DEFAULT_LIMIT) || (shown > 0 && body.len() + line.len() + 16 > budget) {
            more = true;
            break;
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.strip_suffix('\r').unwrap_or(&text);
        let _ = write!(body, "\n{:>6}\t{text}", before + shown + 1);
        if length > LONGEST_LINE as u64 {
            let _ = write!(body, " [line cut: {} in all]", size(length));
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

fn past_the_end(lines: u64, offset: u64) -> String {
    let lines = count(usize::try_from(lines).unwrap_or(usize::MAX), "line", "lines");
    format!(": it has only {lines}; there is nothing at offset {offset}.")
}

struct Lines<'a, R> {
    source: BufReader<R>,
    cancelled: &'a dyn Fn() -> bool,
}

impl<R: Read> Lines<'_, R> {
    /// Moves past the next line, keeping its beginning if asked to. Returns its length, or nothing at the end.
    fn next(&mut self, mut keep: Option<&mut Vec<u8>>) -> io::Result<Option<u64>> {
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
            if let Some(keep) = &mut keep {
                let room = LONGEST_LINE.saturating_sub(keep.len());
                keep.extend_from_slice(&piece[..piece.len().min(room)]);
            }
            length += piece.len() as u64;
            let used = piece.len() + usize::from(end.is_some());
            self.source.consume(used);
            if end.is_some() {
                return Ok(Some(length));
            }
        }
    }

    /// Counts what is left. Tells whether it got to the end.
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
