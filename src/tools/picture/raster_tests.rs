use super::*;

fn solid(width: u32, height: u32, pixel: [u8; 4]) -> Raster {
    Raster::new(width, height, pixel.repeat(width as usize * height as usize)).unwrap()
}

#[test]
fn scaling_keeps_a_solid_colour_and_the_proportions() {
    let scaled = solid(301, 97, [10, 200, 30, 255]).scaled_down(50);
    assert_eq!(scaled, solid(50, 16, [10, 200, 30, 255]));
    assert_eq!(
        solid(5000, 1, [1, 2, 3, 255]).scaled_down(10),
        solid(10, 1, [1, 2, 3, 255]),
        "a line stays one pixel high"
    );
}

#[test]
fn transparent_pixels_do_not_tint_their_neighbours() {
    let half = Raster::new(2, 1, vec![255, 0, 0, 255, 0, 255, 0, 0]).unwrap();
    assert_eq!(half.scaled_down(1), solid(1, 1, [255, 0, 0, 128]));
}

#[test]
fn png_is_lossless_and_jpeg_puts_transparency_on_white() {
    let picture = Raster::new(2, 1, vec![9, 8, 7, 255, 1, 2, 3, 77]).unwrap();
    assert_eq!(Raster::decode(&picture.to_png().unwrap(), Format::Png), Ok(picture));
    let clear = Raster::decode(&solid(16, 16, [0, 0, 0, 0]).to_jpeg(90).unwrap(), Format::Jpeg).unwrap();
    assert!(clear.rgba.chunks(4).all(|pixel| pixel.iter().all(|channel| *channel > 250)), "{:?}", &clear.rgba[..4]);
}

#[test]
fn every_png_colour_type_is_read() {
    for (colour, depth, pixels, expected) in [
        (png::ColorType::Grayscale, png::BitDepth::Eight, vec![100], [100, 100, 100, 255]),
        (png::ColorType::Grayscale, png::BitDepth::One, vec![0x80], [255, 255, 255, 255]),
        (png::ColorType::GrayscaleAlpha, png::BitDepth::Eight, vec![100, 7], [100, 100, 100, 7]),
        (png::ColorType::Rgb, png::BitDepth::Sixteen, vec![1, 0, 2, 0, 3, 0], [1, 2, 3, 255]),
        (png::ColorType::Rgba, png::BitDepth::Eight, vec![1, 2, 3, 4], [1, 2, 3, 4]),
        (png::ColorType::Indexed, png::BitDepth::Eight, vec![1], [40, 50, 60, 255]),
    ] {
        let mut out = Vec::new();
        let mut encoder = png::Encoder::new(&mut out, 1, 1);
        encoder.set_color(colour);
        encoder.set_depth(depth);
        encoder.set_palette(vec![10, 20, 30, 40, 50, 60]);
        encoder.write_header().unwrap().write_image_data(&pixels).unwrap();
        assert_eq!(Raster::decode(&out, Format::Png), Ok(solid(1, 1, expected)), "{colour:?} {depth:?}");
    }
}

#[test]
fn a_gif_frame_that_covers_a_part_is_put_in_its_place() {
    let mut out = Vec::new();
    let mut encoder = gif::Encoder::new(&mut out, 3, 2, &[255, 0, 0]).unwrap();
    let frame = gif::Frame { left: 1, top: 1, width: 2, height: 1, buffer: vec![0, 0].into(), ..gif::Frame::default() };
    encoder.write_frame(&frame).unwrap();
    drop(encoder);
    let red = [255, 0, 0, 255];
    let clear = [0; 4];
    let expected = [clear, clear, clear, clear, red, red].concat();
    assert_eq!(Raster::decode(&out, Format::Gif), Ok(Raster::new(3, 2, expected).unwrap()));
}

#[test]
fn a_small_file_that_describes_a_huge_picture_is_refused_before_it_takes_memory() {
    let mut out = Vec::new();
    let writer = png::Encoder::new(&mut out, 60_000, 60_000).write_header();
    drop(writer);
    assert_eq!(Raster::decode(&out, Format::Png), Err(DecodeError::TooLarge));
}
