//! Frames: four bytes of length, big-endian, then that many bytes of JSON.
//!
//! A length over the limit is an error before anything is read. Memory grows with the bytes that arrive, not with the
//! length that is announced.

use std::io;

use serde::Serialize;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// The longest first frame of a client.
pub const MAX_HELLO: usize = 64 << 10;
/// The longest frame of a client: a picture as base64.
pub const MAX_REQUEST: usize = 96 << 20;
/// The longest frame of a server.
pub const MAX_REPLY: usize = 512 << 20;

const HEADER: usize = 4;

#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    #[error("the connection failed: {0}")]
    Io(#[from] io::Error),
    #[error("the connection ended inside a frame")]
    Truncated,
    #[error("a frame of {length} bytes is too long: at most {limit} are allowed")]
    TooLong { length: usize, limit: usize },
    #[error("the value cannot be sent: {0}")]
    Encode(serde_json::Error),
}

/// Reads a frame. `None` at the end of the connection.
pub async fn read(from: &mut (impl AsyncRead + Unpin), limit: usize) -> Result<Option<Vec<u8>>, FrameError> {
    let mut header = [0; HEADER];
    let mut filled = 0;
    while filled < HEADER {
        match from.read(&mut header[filled..]).await? {
            0 if filled == 0 => return Ok(None),
            0 => return Err(FrameError::Truncated),
            read => filled += read,
        }
    }
    let length = usize::try_from(u32::from_be_bytes(header)).unwrap_or(usize::MAX);
    if length > limit {
        return Err(FrameError::TooLong { length, limit });
    }
    let mut body = Vec::new();
    let wanted = u64::try_from(length).unwrap_or(u64::MAX);
    if from.take(wanted).read_to_end(&mut body).await? < length {
        return Err(FrameError::Truncated);
    }
    Ok(Some(body))
}

/// Returns a value as a frame.
pub fn encode(value: &impl Serialize) -> Result<Vec<u8>, FrameError> {
    let mut frame = vec![0; HEADER];
    serde_json::to_writer(&mut frame, value).map_err(FrameError::Encode)?;
    finish(frame)
}

/// Returns pieces of JSON that together are one value as a frame.
pub fn join(pieces: &[&[u8]]) -> Result<Vec<u8>, FrameError> {
    let mut frame = Vec::with_capacity(HEADER + pieces.iter().map(|piece| piece.len()).sum::<usize>());
    frame.extend([0; HEADER]);
    pieces.iter().for_each(|piece| frame.extend_from_slice(piece));
    finish(frame)
}

fn finish(mut frame: Vec<u8>) -> Result<Vec<u8>, FrameError> {
    let length = frame.len() - HEADER;
    let header = u32::try_from(length).ok().filter(|_| length <= MAX_REPLY);
    let header = header.ok_or(FrameError::TooLong { length, limit: MAX_REPLY })?;
    frame[..HEADER].copy_from_slice(&header.to_be_bytes());
    Ok(frame)
}

/// Writes a value as one frame.
pub async fn write(to: &mut (impl AsyncWrite + Unpin), value: &impl Serialize) -> Result<(), FrameError> {
    to.write_all(&encode(value)?).await?;
    Ok(to.flush().await?)
}

#[cfg(test)]
#[path = "frame_tests.rs"]
mod tests;
