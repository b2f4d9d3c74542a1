//! Reads foreign JSONL files. Lines that are too long to hold in memory are skipped.

use std::io;
use std::path::Path;

use serde_json::Value;

use crate::store::disk::{Disk as _, Open, RealDisk};
use crate::store::scan::Forward;

/// The JSON objects of a file.
#[derive(Debug, Default)]
pub struct JsonLines {
    pub values: Vec<Value>,
    /// Number of lines that are not a JSON object, or too long.
    pub bad: usize,
    pub bytes: u64,
}

pub fn read(path: &Path) -> io::Result<JsonLines> {
    read_first(path, usize::MAX)
}

/// Reads at most `max` lines.
pub fn read_first(path: &Path, max: usize) -> io::Result<JsonLines> {
    // A pipe or device may have no end.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let file = RealDisk.open(path, Open::Read)?;
    let bytes = file.len()?;
    let mut read = JsonLines { bytes, ..JsonLines::default() };
    let mut lines = Forward::new(file.as_ref(), 0, bytes);
    for _ in 0..max {
        let Some(span) = lines.next_line()? else { break };
        match span.bytes.map(|bytes| (bytes, serde_json::from_slice::<Value>(bytes))) {
            Some((_, Ok(value))) if value.is_object() => read.values.push(value),
            Some((bytes, _)) if bytes.iter().all(u8::is_ascii_whitespace) => {}
            Some(_) | None => read.bad += 1,
        }
    }
    Ok(read)
}
