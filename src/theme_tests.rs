use super::*;

fn theme(depth: ColourDepth) -> Theme {
    Theme::standard(Appearance::Dark, depth, &Glyphs::UNICODE)
}

#[test]
fn each_depth_encodes_colours_differently() {
    assert!(matches!(theme(ColourDepth::True).style(Role::Accent).fg, Some(Color::Rgb(..))));
    assert!(matches!(theme(ColourDepth::Ansi256).style(Role::Accent).fg, Some(Color::Indexed(_))));
    assert_eq!(theme(ColourDepth::Ansi16).style(Role::Error).fg, Some(Color::LightRed));
    assert_eq!(theme(ColourDepth::None).style(Role::Accent).fg, None);
}

#[test]
fn unset_parts_of_the_upper_role_show_the_lower_one() {
    let theme = theme(ColourDepth::True);
    let style = theme.over(Role::Accent, Role::Selection);
    assert_eq!(style.fg, theme.style(Role::Accent).fg);
    assert_eq!(style.bg, theme.style(Role::Selection).bg);
}

#[test]
fn a_transparent_theme_drops_only_the_background() {
    let theme = theme(ColourDepth::True).transparent();
    assert_eq!(theme.style(Role::Background).bg, Some(Color::Reset));
    assert!(matches!(theme.style(Role::Selection).bg, Some(Color::Rgb(..))));
}
