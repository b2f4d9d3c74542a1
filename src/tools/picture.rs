//! Pictures: recognised by their first bytes, never by name, and scaled down to the limits of providers.

pub mod raster;

use std::fs::File;
use std::io::Read as _;

use raster::{DecodeError, Raster};

use crate::base::text::size;
use crate::tools::context::Limits;

const MAX_FILE_BYTES: u64 = 64 << 20;
/// How often a picture is scaled down before it is refused.
const ATTEMPTS: usize = 6;
const JPEG_QUALITY: u8 = 80;

/// A picture that can be sent to a model.
#[derive(Debug)]
pub struct Picture {
    pub bytes: Vec<u8>,
    pub media_type: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Png,
    Jpeg,
    Gif,
    WebP,
}

impl Format {
    pub fn media_type(self) -> &'static str {
        match self {
            Format::Png => "image/png",
            Format::Jpeg => "image/jpeg",
            Format::Gif => "image/gif",
            Format::WebP => "image/webp",
        }
    }
}

/// Returns the format of a file that starts with `start`.
pub fn kind(start: &[u8]) -> Option<Format> {
    match start {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(Format::Png),
        [0xff, 0xd8, 0xff, ..] => Some(Format::Jpeg),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Format::Gif),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Format::WebP),
        _ => None,
    }
}

/// Reads the picture, scaled down if necessary, with a description for the model.
pub fn read(file: File, format: Format, limits: Limits) -> Result<(Picture, String), String> {
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|error| format!("it could not be read: {error}"))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(format!("the picture is larger than {}; scale it down first", size(MAX_FILE_BYTES)));
    }
    fit(bytes, format, limits)
}

/// Returns the picture in `bytes`, scaled down if necessary, with a description for the model.
pub fn fit(bytes: Vec<u8>, format: Format, limits: Limits) -> Result<(Picture, String), String> {
    let name = format.media_type().trim_start_matches("image/");
    let length = size(bytes.len() as u64);
    let broken = |error: DecodeError| format!("a {name} picture by its first bytes, {length}, but {error}");
    // Decoded even if it is small: a provider refuses a whole conversation because of one broken picture.
    let whole = Raster::decode(&bytes, format).map_err(broken)?;
    let longer = whole.width.max(whole.height);
    let original = format!("{name} picture, {}x{}, {length}", whole.width, whole.height);
    if longer <= limits.image_edge && bytes.len() <= limits.image_bytes {
        return Ok((Picture { bytes, media_type: format.media_type() }, format!(": {original}")));
    }
    drop(bytes);
    let mut edge = limits.image_edge.min(longer);
    for _ in 0..ATTEMPTS {
        let scaled = whole.scaled_down(edge);
        for (encoded, format) in [(scaled.to_png(), Format::Png), (scaled.to_jpeg(JPEG_QUALITY), Format::Jpeg)] {
            let Some(encoded) = encoded else { continue };
            if encoded.len() <= limits.image_bytes {
                let description = format!(": {original}; shown at {}x{}", scaled.width, scaled.height);
                return Ok((Picture { bytes: encoded, media_type: format.media_type() }, description));
            }
        }
        edge = (edge * 2 / 3).max(1);
    }
    Err(format!("{original}: it cannot be made small enough"))
}

#[cfg(test)]
#[path = "picture_tests.rs"]
mod tests;
