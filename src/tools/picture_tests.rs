use super::*;

/// Noise, so that it does not compress away.
fn noise(width: u32, height: u32) -> Raster {
    let mut state = 1_u32;
    let rgba = (0..width * height)
        .flat_map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let [r, g, b, _] = state.to_be_bytes();
            [r, g, b, u8::MAX]
        })
        .collect();
    Raster::new(width, height, rgba).unwrap()
}

fn sample(width: u32, height: u32, format: Format) -> Vec<u8> {
    let picture = noise(width, height);
    match format {
        Format::Png => picture.to_png().unwrap(),
        Format::Jpeg => picture.to_jpeg(80).unwrap(),
        Format::Gif => {
            let mut out = Vec::new();
            let size = (u16::try_from(width).unwrap(), u16::try_from(height).unwrap());
            let mut encoder = gif::Encoder::new(&mut out, size.0, size.1, &[]).unwrap();
            let rgb: Vec<u8> = (0..width * height * 3).map(|at| (at * 31 % 251) as u8).collect();
            encoder.write_frame(&gif::Frame::from_rgb(size.0, size.1, &rgb)).unwrap();
            drop(encoder);
            out
        }
        Format::WebP => {
            let mut out = Vec::new();
            let rgb: Vec<u8> = (0..width * height * 3).map(|at| (at * 31 % 251) as u8).collect();
            image_webp::WebPEncoder::new(&mut out).encode(&rgb, width, height, image_webp::ColorType::Rgb8).unwrap();
            out
        }
    }
}

const FORMATS: [Format; 4] = [Format::Png, Format::Jpeg, Format::Gif, Format::WebP];

fn limits(edge: u32, bytes: usize) -> Limits {
    Limits { image_edge: edge, image_bytes: bytes, ..Limits::default() }
}

#[test]
fn the_four_formats_are_recognised_and_passed_through_untouched() {
    for format in FORMATS {
        let bytes = sample(20, 10, format);
        assert_eq!(kind(&bytes), Some(format));
        let (picture, said) = fit(bytes.clone(), format, limits(100, 1 << 20)).unwrap();
        assert_eq!((picture.bytes, picture.media_type), (bytes, format.media_type()));
        assert!(said.contains("20x10"), "{said}");
    }
    assert_eq!(kind(b"not a picture"), None);
}

#[test]
fn a_picture_over_the_limits_is_scaled_down() {
    for format in FORMATS {
        let (picture, said) = fit(sample(300, 150, format), format, limits(100, 1 << 20)).unwrap();
        let scaled = Raster::decode(&picture.bytes, kind(&picture.bytes).unwrap()).unwrap();
        assert_eq!((scaled.width, scaled.height), (100, 50));
        assert!(said.contains("300x150") && said.contains("shown at 100x50"), "{said}");
    }
}

#[test]
fn a_picture_with_too_many_bytes_is_made_smaller_until_it_fits() {
    let bytes = sample(200, 200, Format::Png);
    assert!(bytes.len() > 20_000);
    let (picture, _) = fit(bytes, Format::Png, limits(1000, 20_000)).unwrap();
    assert!(picture.bytes.len() <= 20_000);
    assert!(Raster::decode(&picture.bytes, kind(&picture.bytes).unwrap()).is_ok());
}

#[test]
fn a_broken_picture_is_refused_with_a_remedy() {
    for format in FORMATS {
        let whole = sample(50, 50, format);
        let cut = whole[..60].to_vec();
        let scrambled: Vec<u8> = whole.iter().zip(0..).map(|(byte, at)| if at < 40 { *byte } else { 0xaa }).collect();
        for bytes in [cut, scrambled] {
            let problem = fit(bytes, format, limits(100, 1 << 20)).unwrap_err();
            let name = format.media_type().trim_start_matches("image/");
            assert!(problem.starts_with(&format!("a {name} picture by its first bytes, ")), "{problem}");
            assert!(problem.ends_with(&DecodeError::Damaged.to_string()), "{problem}");
        }
    }
}
