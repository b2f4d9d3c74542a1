use super::*;

fn sample(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
    // Noise, so that it does not compress away.
    let mut state = 1_u32;
    let picture = image::RgbImage::from_fn(width, height, |_, _| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let [a, b, c, _] = state.to_be_bytes();
        image::Rgb([a, b, c])
    });
    let mut out = Cursor::new(Vec::new());
    DynamicImage::ImageRgb8(picture).write_to(&mut out, format).unwrap();
    out.into_inner()
}

fn limits(edge: u32, bytes: usize) -> Limits {
    Limits { image_edge: edge, image_bytes: bytes, ..Limits::default() }
}

#[test]
fn the_four_kinds_are_recognised_and_passed_through_untouched() {
    for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::WebP] {
        let bytes = sample(20, 10, format);
        assert_eq!(kind(&bytes), Some(format));
        let (picture, said) = fit(bytes.clone(), format, limits(100, 1 << 20)).unwrap();
        assert_eq!((picture.bytes, picture.media_type), (bytes, format.to_mime_type()));
        assert!(said.contains("20x10"), "{said}");
    }
    assert_eq!(kind(b"not a picture"), None);
}

#[test]
fn a_picture_over_the_limits_is_scaled_down() {
    let bytes = sample(300, 150, ImageFormat::Png);
    let (picture, said) = fit(bytes, ImageFormat::Png, limits(100, 1 << 20)).unwrap();
    let scaled = image::load_from_memory(&picture.bytes).unwrap();
    assert_eq!((scaled.width(), scaled.height()), (100, 50));
    assert!(said.contains("300x150") && said.contains("shown at 100x50"), "{said}");
}

#[test]
fn a_picture_with_too_many_bytes_is_made_smaller_until_it_fits() {
    let bytes = sample(200, 200, ImageFormat::Png);
    assert!(bytes.len() > 20_000);
    let (picture, _) = fit(bytes, ImageFormat::Png, limits(1000, 20_000)).unwrap();
    assert!(picture.bytes.len() <= 20_000);
    assert!(image::load_from_memory(&picture.bytes).is_ok());
}

#[test]
fn a_broken_picture_is_said_and_not_sent() {
    for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::WebP] {
        let whole = sample(50, 50, format);
        let cut = whole[..60].to_vec();
        let scrambled: Vec<u8> = whole.iter().zip(0..).map(|(byte, at)| if at < 40 { *byte } else { 0xaa }).collect();
        for bytes in [cut, scrambled] {
            let problem = fit(bytes, format, limits(100, 1 << 20)).unwrap_err();
            let name = format.to_mime_type().trim_start_matches("image/");
            assert!(problem.starts_with(&format!("a {name} picture by its first bytes, ")), "{problem}");
            assert!(problem.ends_with("make or fetch it again"), "what to do: {problem}");
            // Nothing of the decoder's own language.
            for inside in ["error", "decod", "chunk", "stream", "Huffman", "Format", "buffer"] {
                assert!(!problem.contains(inside), "{problem}");
            }
        }
    }
}
