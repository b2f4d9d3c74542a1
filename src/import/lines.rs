//! The lines of a foreign file, with bounded memory: one JSON object each, or left out.

use std::io;
use std::path::Path;

use serde_json::Value;

use crate::store::disk::{Disk as _, Open, RealDisk};
use crate::store::scan::Forward;

/// What a file turned out to hold.
#[derive(Debug, Default)]
pub struct Read {
    pub values: Vec<Value>,
    /// Lines that are no JSON object, or too long to be held.
    pub bad: usize,
    pub bytes: u64,
}

pub fn read(path: &Path) -> io::Result<Read> {
    first(path, usize::MAX)
}

/// Reads no more than so many lines.
pub fn first(path: &Path, most: usize) -> io::Result<Read> {
    // A pipe or a device has no end, and is nobody's session.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
    }
    let file = RealDisk.open(path, Open::Read)?;
    let bytes = file.len()?;
    let mut read = Read { bytes, ..Read::default() };
    let mut lines = Forward::new(file.as_ref(), 0, bytes);
    for _ in 0..most {
        let Some(span) = lines.next_line()? else { break };
        match span.bytes.map(|bytes| (bytes, serde_json::from_slice::<Value>(bytes))) {
            Some((_, Ok(value))) if value.is_object() => read.values.push(value),
            Some((bytes, _)) if bytes.iter().all(u8::is_ascii_whitespace) => {}
            Some(_) | None => read.bad += 1,
        }
    }
    Ok(read)
}
