//! Pixels in memory: decodes the four formats, scales down, and encodes again.
//!
//! Every decoder has a memory limit, because a small file can describe a huge picture. Only the first frame of an
//! animation is read.

use std::io::Cursor;

use super::Format;

/// The most memory for the pixels of one picture.
const MAX_DECODED_BYTES: usize = 512 << 20;
/// Bytes of one pixel: red, green, blue, alpha.
const PIXEL: usize = 4;

/// Why a picture cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    #[error("it needs more memory than a picture may take; scale it down first")]
    TooLarge,
    #[error("this variant of the format is not supported; save it as a plain png or jpeg")]
    Unsupported,
    #[error("it is damaged or incomplete; it may still be being written, so create or download it again")]
    Damaged,
}

/// An RGBA picture, eight bits a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raster {
    pub width: u32,
    pub height: u32,
    rgba: Vec<u8>,
}

impl Raster {
    /// Builds a picture from its pixels; `None` if their number does not match the size.
    pub fn new(width: u32, height: u32, rgba: Vec<u8>) -> Option<Raster> {
        (width > 0 && height > 0 && buffer_len(width, height, PIXEL).ok()? == rgba.len()).then_some(Raster {
            width,
            height,
            rgba,
        })
    }

    pub fn decode(bytes: &[u8], format: Format) -> Result<Raster, DecodeError> {
        match format {
            Format::Png => decode_png(bytes),
            Format::Jpeg => decode_jpeg(bytes),
            Format::Gif => decode_gif(bytes),
            Format::WebP => decode_webp(bytes),
        }
    }

    /// Returns the picture with its longer edge at most `edge` pixels long, with the same proportions.
    ///
    /// Each new pixel is the mean of the pixels it covers, weighted by alpha, so that transparent ones do not tint
    /// the edges.
    pub fn scaled_down(&self, edge: u32) -> Raster {
        let longer = self.width.max(self.height);
        if longer <= edge {
            return self.clone();
        }
        let scale =
            |side: u32| u32::try_from(u64::from(side) * u64::from(edge) / u64::from(longer)).unwrap_or(edge).max(1);
        let (width, height) = (scale(self.width), scale(self.height));
        let mut rgba = Vec::with_capacity(width as usize * height as usize * PIXEL);
        for y in 0..height {
            let rows = covered(y, height, self.height);
            for x in 0..width {
                rgba.extend(self.mean(covered(x, width, self.width), rows.clone()));
            }
        }
        Raster { width, height, rgba }
    }

    fn mean(&self, columns: std::ops::Range<usize>, rows: std::ops::Range<usize>) -> [u8; PIXEL] {
        let count = (columns.len() * rows.len()) as u64;
        let (mut colour, mut alpha) = ([0_u64; 3], 0_u64);
        for row in rows {
            let start = row * self.width as usize;
            for pixel in self.rgba[(start + columns.start) * PIXEL..(start + columns.end) * PIXEL].chunks_exact(PIXEL) {
                let weight = u64::from(pixel[3]);
                alpha += weight;
                for (sum, channel) in colour.iter_mut().zip(pixel) {
                    *sum += u64::from(*channel) * weight;
                }
            }
        }
        let rounded =
            |sum: u64, over: u64| u8::try_from((sum + over / 2).checked_div(over).unwrap_or(0)).unwrap_or(u8::MAX);
        let [r, g, b] = colour.map(|sum| rounded(sum, alpha));
        [r, g, b, rounded(alpha, count)]
    }

    pub fn to_png(&self) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        let mut encoder = png::Encoder::new(&mut out, self.width, self.height);
        encoder.set_color(png::ColorType::Rgba);
        let mut writer = encoder.write_header().ok()?;
        writer.write_image_data(&self.rgba).ok()?;
        writer.finish().ok()?;
        Some(out)
    }

    /// Encodes the picture as a JPEG of the given quality (1 to 100), on white where it is transparent.
    pub fn to_jpeg(&self, quality: u8) -> Option<Vec<u8>> {
        let (width, height) = (u16::try_from(self.width).ok()?, u16::try_from(self.height).ok()?);
        let rgb: Vec<u8> = self.rgba.chunks_exact(PIXEL).flat_map(on_white).collect();
        let mut out = Vec::new();
        jpeg_encoder::Encoder::new(&mut out, quality).encode(&rgb, width, height, jpeg_encoder::ColorType::Rgb).ok()?;
        Some(out)
    }
}

/// Returns the source pixels that pixel `index` of `scaled` covers of `source`; at least one.
fn covered(index: u32, scaled: u32, source: u32) -> std::ops::Range<usize> {
    let at = |index: u32| usize::try_from(u64::from(index) * u64::from(source) / u64::from(scaled)).unwrap_or(0);
    at(index)..at(index + 1).max(at(index) + 1)
}

fn on_white(pixel: &[u8]) -> [u8; 3] {
    let alpha = u16::from(pixel[3]);
    [pixel[0], pixel[1], pixel[2]]
        .map(|channel| u8::try_from((u16::from(channel) * alpha + 255 * (255 - alpha)) / 255).unwrap_or(u8::MAX))
}

fn buffer_len(width: u32, height: u32, pixel: usize) -> Result<usize, DecodeError> {
    (width as usize)
        .checked_mul(height as usize)
        .and_then(|pixels| pixels.checked_mul(pixel))
        .filter(|length| *length <= MAX_DECODED_BYTES)
        .ok_or(DecodeError::TooLarge)
}

fn decode_png(bytes: &[u8]) -> Result<Raster, DecodeError> {
    let limits = png::Limits { bytes: MAX_DECODED_BYTES };
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), limits);
    decoder.set_transformations(png::Transformations::normalize_to_color8() | png::Transformations::ALPHA);
    let (width, height) = decoder.read_header_info().map_err(|error| png_error(&error))?.size();
    buffer_len(width, height, PIXEL)?;
    let mut reader = decoder.read_info().map_err(|error| png_error(&error))?;
    let mut pixels = vec![0; reader.output_buffer_size().ok_or(DecodeError::TooLarge)?];
    let frame = reader.next_frame(&mut pixels).map_err(|error| png_error(&error))?;
    pixels.truncate(frame.buffer_size());
    let rgba = match frame.color_type {
        png::ColorType::Rgba => pixels,
        png::ColorType::GrayscaleAlpha => pixels.chunks_exact(2).flat_map(|it| [it[0], it[0], it[0], it[1]]).collect(),
        png::ColorType::Rgb | png::ColorType::Grayscale | png::ColorType::Indexed => {
            return Err(DecodeError::Unsupported);
        }
    };
    Raster::new(width, height, rgba).ok_or(DecodeError::Damaged)
}

fn png_error(error: &png::DecodingError) -> DecodeError {
    match error {
        png::DecodingError::LimitsExceeded => DecodeError::TooLarge,
        png::DecodingError::IoError(_) | png::DecodingError::Format(_) | png::DecodingError::Parameter(_) => {
            DecodeError::Damaged
        }
    }
}

fn decode_jpeg(bytes: &[u8]) -> Result<Raster, DecodeError> {
    use zune_jpeg::zune_core::{bytestream::ZCursor, colorspace::ColorSpace, options::DecoderOptions};

    // Strict: a file that ends too early is an error instead of a picture with a grey half.
    let options = DecoderOptions::default().set_strict_mode(true).jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = zune_jpeg::JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(|error| jpeg_error(&error))?;
    let info = decoder.info().ok_or(DecodeError::Damaged)?;
    let (width, height) = (u32::from(info.width), u32::from(info.height));
    buffer_len(width, height, PIXEL)?;
    let rgb = decoder.decode().map_err(|error| jpeg_error(&error))?;
    Raster::new(width, height, opaque(&rgb)).ok_or(DecodeError::Damaged)
}

fn jpeg_error(error: &zune_jpeg::errors::DecodeErrors) -> DecodeError {
    use zune_jpeg::errors::DecodeErrors;
    match error {
        DecodeErrors::LargeDimensions(_) => DecodeError::TooLarge,
        DecodeErrors::Unsupported(_) => DecodeError::Unsupported,
        _ => DecodeError::Damaged,
    }
}

fn decode_gif(bytes: &[u8]) -> Result<Raster, DecodeError> {
    let mut options = gif::DecodeOptions::new();
    options.set_color_output(gif::ColorOutput::RGBA);
    options.check_frame_consistency(true);
    if let Some(limit) = std::num::NonZeroU64::new(MAX_DECODED_BYTES as u64) {
        options.set_memory_limit(gif::MemoryLimit::Bytes(limit));
    }
    let mut decoder = options.read_info(bytes).map_err(|error| gif_error(&error))?;
    let (width, height) = (u32::from(decoder.width()), u32::from(decoder.height()));
    let mut rgba = vec![0; buffer_len(width, height, PIXEL)?];
    let frame = decoder.read_next_frame().map_err(|error| gif_error(&error))?.ok_or(DecodeError::Damaged)?;
    // A frame may cover only a part of the picture; `check_frame_consistency` has refused one that reaches beyond it.
    let (left, top) = (usize::from(frame.left), usize::from(frame.top));
    for (row, line) in frame.buffer.chunks_exact((usize::from(frame.width) * PIXEL).max(1)).enumerate() {
        let start = ((top + row) * width as usize + left) * PIXEL;
        rgba.get_mut(start..start + line.len()).ok_or(DecodeError::Damaged)?.copy_from_slice(line);
    }
    Raster::new(width, height, rgba).ok_or(DecodeError::Damaged)
}

fn gif_error(error: &gif::DecodingError) -> DecodeError {
    match error {
        gif::DecodingError::OutOfMemory | gif::DecodingError::MemoryLimit => DecodeError::TooLarge,
        _ => DecodeError::Damaged,
    }
}

fn decode_webp(bytes: &[u8]) -> Result<Raster, DecodeError> {
    let mut decoder = image_webp::WebPDecoder::new(Cursor::new(bytes)).map_err(|error| webp_error(&error))?;
    decoder.set_memory_limit(MAX_DECODED_BYTES);
    let (width, height) = decoder.dimensions();
    buffer_len(width, height, PIXEL)?;
    let mut pixels = vec![0; decoder.output_buffer_size().ok_or(DecodeError::TooLarge)?];
    decoder.read_image(&mut pixels).map_err(|error| webp_error(&error))?;
    let rgba = if decoder.has_alpha() { pixels } else { opaque(&pixels) };
    Raster::new(width, height, rgba).ok_or(DecodeError::Damaged)
}

fn webp_error(error: &image_webp::DecodingError) -> DecodeError {
    match error {
        image_webp::DecodingError::MemoryLimitExceeded | image_webp::DecodingError::ImageTooLarge => {
            DecodeError::TooLarge
        }
        image_webp::DecodingError::UnsupportedFeature(_) => DecodeError::Unsupported,
        _ => DecodeError::Damaged,
    }
}

fn opaque(rgb: &[u8]) -> Vec<u8> {
    rgb.chunks_exact(3).flat_map(|it| [it[0], it[1], it[2], u8::MAX]).collect()
}

#[cfg(test)]
#[path = "raster_tests.rs"]
mod tests;
