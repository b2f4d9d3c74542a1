//! Pictures: recognised by their first bytes, never by their name, and made small enough for the vendors.

use std::fs::File;
use std::io::{Cursor, Read as _};

use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use image::{DynamicImage, ImageError, ImageFormat, ImageReader};

use crate::base::text::size;
use crate::tools::context::Limits;

/// The largest file that is looked at.
const LARGEST_FILE: u64 = 64 << 20;
/// What decoding may take of memory: a small file can describe a huge picture.
const DECODED: u64 = 512 << 20;
/// How often a picture is made smaller before it is given up.
const ATTEMPTS: usize = 6;

/// A picture that can be sent to a model.
#[derive(Debug)]
pub struct Picture {
    pub bytes: Vec<u8>,
    pub media_type: &'static str,
}

/// Returns the kind of picture that begins like this.
pub fn kind(start: &[u8]) -> Option<ImageFormat> {
    match start {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(ImageFormat::Png),
        [0xff, 0xd8, 0xff, ..] => Some(ImageFormat::Jpeg),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(ImageFormat::Gif),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(ImageFormat::WebP),
        _ => None,
    }
}

/// Returns the picture, scaled down if it must be, and what is said about it.
pub fn look(file: File, kind: ImageFormat, limits: Limits) -> Result<(Picture, String), String> {
    let mut bytes = Vec::new();
    file.take(LARGEST_FILE + 1).read_to_end(&mut bytes).map_err(|error| format!("it could not be read: {error}"))?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(format!("the picture has more than {}; scale it down first", size(LARGEST_FILE)));
    }
    fit(bytes, kind, limits)
}

/// Returns the picture in `bytes`, scaled down if it must be, and what is said about it.
pub fn fit(bytes: Vec<u8>, kind: ImageFormat, limits: Limits) -> Result<(Picture, String), String> {
    let format = kind.to_mime_type().trim_start_matches("image/");
    let length = size(bytes.len() as u64);
    let broken = |error: ImageError| format!("a {format} picture by its first bytes, {length}, but {}", wrong(&error));
    let (width, height) = reader(&bytes, kind).into_dimensions().map_err(broken)?;
    let is_small = width.max(height) <= limits.image_edge && bytes.len() <= limits.image_bytes;
    let was = format!("{format} picture, {width}x{height}, {length}");
    if is_small {
        // Decoded all the same: a vendor refuses a whole conversation because of one broken picture.
        reader(&bytes, kind).decode().map_err(broken)?;
        return Ok((Picture { bytes, media_type: kind.to_mime_type() }, format!(": {was}")));
    }
    let whole = reader(&bytes, kind).decode().map_err(broken)?;
    drop(bytes);
    let mut edge = limits.image_edge.min(width.max(height));
    for _ in 0..ATTEMPTS {
        let scaled =
            if width.max(height) > edge { whole.resize(edge, edge, FilterType::Triangle) } else { whole.clone() };
        for (encoded, media_type) in [(png(&scaled), "image/png"), (jpeg(&scaled), "image/jpeg")] {
            let Some(encoded) = encoded else { continue };
            if encoded.len() <= limits.image_bytes {
                let said = format!(": {was}; shown at {}x{}", scaled.width(), scaled.height());
                return Ok((Picture { bytes: encoded, media_type }, said));
            }
        }
        edge = (edge * 2 / 3).max(1);
    }
    Err(format!("{was}: it could not be made small enough"))
}

/// Says what is wrong with a picture, and what can be done. What the decoder says is about its own inside.
fn wrong(error: &ImageError) -> &'static str {
    match error {
        ImageError::Limits(_) => "it would take more memory than there is for a picture; scale it down first",
        ImageError::Unsupported(_) => "it is of a kind that is not understood here; save it as another png or jpeg",
        ImageError::Decoding(_) | ImageError::Encoding(_) | ImageError::Parameter(_) | ImageError::IoError(_) => {
            "it is damaged or ends too early; it may not be written yet, so make or fetch it again"
        }
    }
}

fn reader(bytes: &[u8], kind: ImageFormat) -> ImageReader<Cursor<&[u8]>> {
    let mut reader = ImageReader::with_format(Cursor::new(bytes), kind);
    let mut limits = image::Limits::default();
    limits.max_alloc = Some(DECODED);
    reader.limits(limits);
    reader
}

fn png(picture: &DynamicImage) -> Option<Vec<u8>> {
    let mut out = Cursor::new(Vec::new());
    picture.write_to(&mut out, ImageFormat::Png).ok()?;
    Some(out.into_inner())
}

fn jpeg(picture: &DynamicImage) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    JpegEncoder::new_with_quality(&mut out, 80).encode_image(&picture.to_rgb8()).ok()?;
    Some(out)
}

#[cfg(test)]
#[path = "picture_tests.rs"]
mod tests;
