use ratatui::style::Color;

use crate::theme::colour::indexed;
use crate::theme::{Colour, ColourDepth, Glyphs, Look, Palette, Rgb, Role, Theme};

use super::*;

/// Themes with RGB colours: the look of the sixteen depends on the terminal.
fn coloured() -> impl Iterator<Item = Palette> {
    names().filter(|name| *name != "terminal-16").map(|name| named(name).unwrap())
}

fn rgb(colour: Option<Colour>) -> Rgb {
    match colour {
        Some(Colour::Rgb(rgb)) => rgb,
        other => panic!("{other:?} is not a colour of the theme's own"),
    }
}

/// Returns the contrast of a role's foreground with what it is drawn on.
fn contrast(theme: &Palette, role: Role, on: Role) -> f64 {
    let fg = theme.spec(role).full.fg.or(theme.spec(Role::Text).full.fg);
    let bg = theme.spec(on).full.bg.or(theme.spec(Role::Background).full.bg);
    rgb(fg).contrast(rgb(bg))
}

fn expect(theme: &Palette, role: Role, on: Role, at_least: f64) {
    let found = contrast(theme, role, on);
    assert!(found >= at_least, "{}: {role:?} on {on:?} has {found:.2}, not {at_least}", theme.name);
}

#[test]
fn every_theme_loads_without_a_problem() {
    for name in names() {
        let (theme, problems) = file::load(name, text(name).unwrap(), |_| None);
        assert_eq!(problems, [], "{name}");
        assert!(!theme.about.is_empty());
    }
}

#[test]
fn text_is_readable_in_every_theme() {
    for theme in coloured() {
        let high = theme.name.starts_with("high-contrast");
        let (text, support, aside) = if high { (7.0, 7.0, 7.0) } else { (4.5, 4.5, 3.0) };
        expect(&theme, Role::Text, Role::Background, text + 2.0);
        for role in [Role::Accent, Role::Ok, Role::Warn, Role::Error, Role::Ask, Role::Link, Role::Code, Role::Heading]
        {
            expect(&theme, role, Role::Background, text);
        }
        for role in [Role::Muted, Role::Output, Role::Thinking, Role::Quote, Role::Title, Role::Footer] {
            expect(&theme, role, Role::Background, support);
        }
        for role in [Role::Faint, Role::LineNumber, Role::Placeholder, Role::SyntaxComment] {
            expect(&theme, role, Role::Background, aside);
        }
    }
}

#[test]
fn text_is_readable_on_every_background() {
    for theme in coloured() {
        let text = if theme.name.starts_with("high-contrast") { 7.0 } else { 4.5 };
        for on in [Role::Selection, Role::SelectionDim, Role::CursorLine, Role::Popup, Role::CodeBg, Role::SearchMatch]
        {
            expect(&theme, Role::Text, on, text);
            expect(&theme, Role::Muted, on, 3.0);
        }
        for role in [Role::Chip, Role::ChipActive, Role::SearchCurrent, Role::Cursor] {
            expect(&theme, role, role, 4.5);
        }
        for role in [Role::Accent, Role::Ok, Role::Warn, Role::Error, Role::Ask, Role::Working] {
            expect(&theme, role, Role::Selection, 3.0);
            expect(&theme, role, Role::Popup, 4.0);
        }
    }
}

#[test]
fn code_is_readable_in_diffs() {
    let syntax = Role::ALL.iter().copied().filter(|role| role.name().starts_with("syntax."));
    for (theme, role) in coloured().flat_map(|theme| syntax.clone().map(move |role| (theme.clone(), role))) {
        let quiet = matches!(role, Role::SyntaxComment);
        expect(&theme, role, Role::CodeBg, if quiet { 3.0 } else { 4.5 });
        for on in [Role::DiffAdd, Role::DiffRemove] {
            expect(&theme, role, on, if quiet { 2.8 } else { 4.0 });
        }
        for on in [Role::DiffAddStrong, Role::DiffRemoveStrong] {
            expect(&theme, role, on, if quiet { 1.7 } else { 2.8 });
            expect(&theme, Role::Text, on, 4.5);
        }
    }
}

#[test]
fn additions_removals_and_selections_stand_out_from_the_ground() {
    for theme in coloured() {
        let ground = rgb(theme.spec(Role::Background).full.bg);
        let of = |role: Role| rgb(theme.spec(role).full.bg);
        for role in [Role::DiffAdd, Role::DiffRemove, Role::Selection, Role::SearchMatch] {
            assert!(of(role).distance(ground) > 0.025, "{}: {role:?} cannot be seen", theme.name);
        }
        for (strong, weak) in [
            (Role::DiffAddStrong, Role::DiffAdd),
            (Role::DiffRemoveStrong, Role::DiffRemove),
            (Role::Selection, Role::SelectionDim),
        ] {
            assert!(of(strong).distance(of(weak)) > 0.02, "{}: {strong:?} is like {weak:?}", theme.name);
        }
        assert!(of(Role::DiffAdd).distance(of(Role::DiffRemove)) > 0.03, "{}", theme.name);
    }
}

#[test]
fn messages_code_and_cards_lie_on_a_surface_that_can_be_seen() {
    for theme in coloured() {
        let ground = rgb(theme.spec(Role::Background).full.bg);
        for role in [Role::UserBg, Role::CodeBg, Role::Card] {
            let found = rgb(theme.spec(role).full.bg).distance(ground);
            assert!(found > 0.05, "{}: {role:?} is {found:.3} from the ground", theme.name);
            expect(&theme, Role::Text, role, 4.5);
            expect(&theme, Role::Muted, role, 4.5);
            expect(&theme, Role::Faint, role, 3.0);
        }
    }
}

#[test]
fn contrast_survives_the_table_of_256() {
    let shown = |colour: Option<Color>| match colour {
        Some(Color::Indexed(index)) => indexed(index),
        other => panic!("{other:?} is not of the table"),
    };
    for palette in coloured() {
        let theme = Theme::new(&palette, ColourDepth::Ansi256, &Glyphs::UNICODE);
        let ground = shown(theme.style(Role::Background).bg);
        for (role, at_least) in [(Role::Text, 6.0), (Role::Accent, 4.0), (Role::Muted, 3.5), (Role::Error, 4.0)] {
            let found = shown(theme.style(role).fg).contrast(ground);
            assert!(found >= at_least, "{}: {role:?} has {found:.2}", palette.name);
        }
    }
}

#[test]
fn with_sixteen_colours_nothing_is_drawn_in_its_own_background() {
    for name in names() {
        let theme = Theme::new(&named(name).unwrap(), ColourDepth::Ansi16, &Glyphs::UNICODE);
        let ground = theme.style(Role::Background);
        for role in Role::ALL {
            let style = ground.patch(theme.style(*role));
            assert!(style.fg != style.bg || style.fg == Some(Color::Reset), "{name}: {role:?} {style:?}");
            for colour in [style.fg, style.bg].into_iter().flatten() {
                assert!(!matches!(colour, Color::Rgb(..) | Color::Indexed(_)), "{name}: {role:?} {colour:?}");
            }
        }
        assert_ne!(theme.style(Role::DiffAdd).fg, theme.style(Role::DiffRemove).fg, "{name}");
        assert_ne!(theme.style(Role::Selection), theme.style(Role::SelectionDim), "{name}");
    }
}

#[test]
fn the_theme_of_the_terminal_uses_nothing_but_the_terminals_colours() {
    let theme = named("terminal-16").unwrap();
    let own = |look: Look| [look.fg, look.bg].into_iter().flatten().all(|c| !matches!(c, Colour::Rgb(_)));
    for role in Role::ALL {
        assert!(own(theme.spec(*role).full), "{role:?}");
    }
}

#[test]
fn the_standard_themes_fit_their_terminals() {
    for appearance in [Appearance::Dark, Appearance::Light] {
        let theme = standard(appearance);
        assert_eq!(theme.appearance, appearance);
        assert_eq!(Appearance::of(rgb(theme.spec(Role::Background).full.bg)), appearance);
    }
}
