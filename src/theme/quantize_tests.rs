use super::*;

fn rgb(text: &str) -> Rgb {
    let Some(Colour::Rgb(rgb)) = Colour::parse(text) else { panic!("{text} is not a colour") };
    rgb
}

fn look(fg: &str, bg: &str) -> Look {
    Look { fg: Colour::parse(fg), bg: Colour::parse(bg), modifiers: Modifier::empty() }
}

fn spec(fg: &str, bg: &str) -> Spec {
    Spec { full: look(fg, bg), ..Spec::default() }
}

#[test]
fn the_nearest_of_256_is_exact_where_it_exists_and_never_one_of_the_terminals_own() {
    for index in 16..=255u8 {
        assert_eq!(indexed(nearest_256(indexed(index))), indexed(index));
    }
    assert!(nearest_256(rgb("#ff0000")) >= 16);
}

#[test]
fn soft_colours_keep_their_hue_with_sixteen() {
    assert_eq!(nearest_16(rgb("#7fbf8f")) % 8, 2, "green");
    assert_eq!(nearest_16(rgb("#e07a7a")) % 8, 1, "red");
    assert_eq!(nearest_16(rgb("#6fa8dc")) % 8, 4, "blue");
    assert_eq!(nearest_16(rgb("#d7b25f")) % 8, 3, "yellow");
    assert_eq!(nearest_16(rgb("#b294d6")) % 8, 5, "magenta");
    assert_eq!([nearest_16(rgb("#0c0e0d")), nearest_16(rgb("#7d8580"))], [0, 8]);
    assert_eq!([nearest_16(rgb("#c8cfca")), nearest_16(rgb("#fafbfa"))], [7, 15]);
}

#[test]
fn subtle_backgrounds_are_dropped_with_sixteen_and_the_row_stays_marked() {
    let ground = look("#d0d6d1", "#0d1210");
    let style = style(Role::Selection, &spec("#ffffff", "#1c2a22"), &ground, ColourDepth::Ansi16);
    assert_eq!(style.bg, None);
    assert!(style.add_modifier.contains(Modifier::REVERSED));
}

#[test]
fn text_never_has_the_colour_of_its_background() {
    let ground = look("#d0d6d1", "#000000");
    let style = style(Role::Chip, &spec("#1faa5a", "#2fbf6a"), &ground, ColourDepth::Ansi16);
    assert_ne!(style.fg, style.bg);
}

#[test]
fn without_colour_only_modifiers_remain() {
    let ground = look("#d0d6d1", "#0d1210");
    let style = style(Role::Selection, &spec("#ffffff", "#1c2a22"), &ground, ColourDepth::None);
    assert_eq!((style.fg, style.bg), (None, None));
    assert_eq!(style.add_modifier, Modifier::REVERSED);
}
