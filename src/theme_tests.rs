use super::*;

fn theme(depth: ColourDepth) -> Theme {
    Theme::standard(Appearance::Dark, depth, &Glyphs::UNICODE)
}

#[test]
fn every_depth_says_colours_in_its_own_way() {
    assert!(matches!(theme(ColourDepth::True).style(Role::Accent).fg, Some(Color::Rgb(..))));
    assert!(matches!(theme(ColourDepth::Ansi256).style(Role::Accent).fg, Some(Color::Indexed(_))));
    assert_eq!(theme(ColourDepth::Ansi16).style(Role::Error).fg, Some(Color::LightRed));
    assert_eq!(theme(ColourDepth::None).style(Role::Accent).fg, None);
}

#[test]
fn what_the_upper_role_leaves_open_shows_the_lower_one() {
    let theme = theme(ColourDepth::True);
    let style = theme.over(Role::Accent, Role::Selection);
    assert_eq!(style.fg, theme.style(Role::Accent).fg);
    assert_eq!(style.bg, theme.style(Role::Selection).bg);
}

#[test]
fn a_transparent_theme_keeps_everything_but_the_ground() {
    let theme = theme(ColourDepth::True).transparent();
    assert_eq!(theme.style(Role::Background).bg, Some(Color::Reset));
    assert!(matches!(theme.style(Role::Selection).bg, Some(Color::Rgb(..))));
}
