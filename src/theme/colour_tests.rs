use super::*;

#[test]
fn colours_are_read_in_every_spelling() {
    assert_eq!(Colour::parse("#0f8"), Some(Colour::Rgb(Rgb(0, 255, 136))));
    assert_eq!(Colour::parse("#00FF88"), Some(Colour::Rgb(Rgb(0, 255, 136))));
    assert_eq!(Colour::parse("bright_cyan"), Some(Colour::Ansi(14)));
    assert_eq!(Colour::parse("terminal"), Some(Colour::Terminal));
    for wrong in ["", "#", "#12", "#12345", "#zzzzzz", "#12345é", "Red", "0f8"] {
        assert_eq!(Colour::parse(wrong), None, "{wrong}");
    }
}

#[test]
fn contrast_has_the_well_known_values() {
    let (black, white) = (Rgb(0, 0, 0), Rgb(255, 255, 255));
    assert!((black.contrast(white) - 21.0).abs() < 1e-9);
    assert!((white.contrast(white) - 1.0).abs() < 1e-9);
    assert!((Rgb(0x76, 0x76, 0x76).contrast(white) - 4.54).abs() < 0.01);
}

#[test]
fn lightness_runs_from_black_to_white_and_grey_has_no_chroma() {
    assert!(Rgb(0, 0, 0).oklab()[0].abs() < 1e-6);
    assert!((Rgb(255, 255, 255).oklab()[0] - 1.0).abs() < 1e-4);
    assert!(Rgb(90, 90, 90).chroma() < 1e-4);
    assert!(Rgb(255, 0, 0).chroma() > 0.2);
}

#[test]
fn the_table_of_256_has_its_corners() {
    assert_eq!(indexed(16), Rgb(0, 0, 0));
    assert_eq!(indexed(231), Rgb(255, 255, 255));
    assert_eq!(indexed(196), Rgb(255, 0, 0));
    assert_eq!(indexed(255), Rgb(238, 238, 238));
}
