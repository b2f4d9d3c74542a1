//! Reduces styles to what a terminal can show: true colour, 256 colours, sixteen, or none.
//!
//! With 256 colours each colour becomes the nearest one. With sixteen that is not enough, because the terminal
//! decides what they look like: the hue is kept, subtle backgrounds are dropped, and text never has the colour of its
//! background. Without colour only modifiers remain.

use std::sync::LazyLock;

use ratatui::style::{Color, Modifier, Style};

use super::colour::{Colour, Rgb, SIXTEEN, indexed};
use super::{ColourDepth, Look, Role, Spec};

/// Returns the style of a role. `ground` is the background of the screen.
pub fn style(role: Role, spec: &Spec, ground: &Look, depth: ColourDepth) -> Style {
    match depth {
        ColourDepth::None => Style::new().add_modifier(spec.mono.unwrap_or(role.mono() | spec.full.modifiers)),
        ColourDepth::Ansi16 => {
            let look = spec.ansi.unwrap_or_else(|| sixteen(role, &spec.full, ground));
            patch(&look, depth)
        }
        ColourDepth::Ansi256 | ColourDepth::True => patch(&spec.full, depth),
    }
}

fn patch(look: &Look, depth: ColourDepth) -> Style {
    let mut style = Style::new().add_modifier(look.modifiers);
    style.fg = look.fg.map(|colour| fit(colour, depth));
    style.bg = look.bg.map(|colour| fit(colour, depth));
    style
}

fn fit(colour: Colour, depth: ColourDepth) -> Color {
    match (colour, depth) {
        (Colour::Terminal, _) | (_, ColourDepth::None) => Color::Reset,
        (Colour::Ansi(index), _) => ansi(index),
        (Colour::Rgb(Rgb(r, g, b)), ColourDepth::True) => Color::Rgb(r, g, b),
        (Colour::Rgb(rgb), ColourDepth::Ansi256) => Color::Indexed(nearest_256(rgb)),
        (Colour::Rgb(rgb), ColourDepth::Ansi16) => ansi(nearest_16(rgb)),
    }
}

fn ansi(index: u8) -> Color {
    const COLOURS: [Color; 16] = [
        Color::Black,
        Color::Red,
        Color::Green,
        Color::Yellow,
        Color::Blue,
        Color::Magenta,
        Color::Cyan,
        Color::Gray,
        Color::DarkGray,
        Color::LightRed,
        Color::LightGreen,
        Color::LightYellow,
        Color::LightBlue,
        Color::LightMagenta,
        Color::LightCyan,
        Color::White,
    ];
    COLOURS[usize::from(index & 15)]
}

/// The fixed part of the 256-colour table in `OKLab`. The first sixteen are the terminal's to choose, so they are not
/// used. Computed once, because every colour of a theme is looked up here before the first frame.
static FIXED: LazyLock<Vec<(u8, [f64; 3])>> =
    LazyLock::new(|| (16..=255).map(|index| (index, indexed(index).oklab())).collect());

/// Returns the nearest entry of the fixed part of the 256-colour table.
pub fn nearest_256(rgb: Rgb) -> u8 {
    let wanted = rgb.oklab();
    let off = |looks: &[f64; 3]| looks.iter().zip(wanted).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
    let nearest = FIXED.iter().map(|(index, looks)| (*index, off(looks))).min_by(|a, b| a.1.total_cmp(&b.1));
    nearest.map_or(16, |(index, _)| index)
}

/// A colour below this chroma is a grey, and becomes one of the four greys.
const GREY: f64 = 0.035;

/// Returns the nearest of the sixteen colours: hue first, lightness second.
pub fn nearest_16(rgb: Rgb) -> u8 {
    if rgb.chroma() < GREY {
        let lightness = rgb.oklab()[0];
        return match lightness {
            l if l < 0.28 => 0,
            l if l < 0.70 => 8,
            l if l < 0.93 => 7,
            _ => 15,
        };
    }
    let [lightness, a, b] = rgb.oklab();
    let hue = b.atan2(a);
    let off = |index: u8| {
        let candidate = SIXTEEN[usize::from(index)];
        let [l, ca, cb] = candidate.oklab();
        let mut turn = (cb.atan2(ca) - hue).abs();
        if turn > std::f64::consts::PI {
            turn = std::f64::consts::TAU - turn;
        }
        turn + 0.35 * (l - lightness).abs()
    };
    (1..=6u8).chain(9..=14).min_by(|a, b| off(*a).total_cmp(&off(*b))).unwrap_or(7)
}

/// The contrast with the screen above which a background gets one of the sixteen colours.
const MIN_CONTRAST: f64 = 1.9;

fn sixteen(role: Role, look: &Look, ground: &Look) -> Look {
    let quiet = |bg: Colour| match (bg, ground.bg) {
        (Colour::Rgb(bg), Some(Colour::Rgb(ground))) => bg.contrast(ground) < MIN_CONTRAST,
        _ => false,
    };
    let mut out = *look;
    if role != Role::Background
        && let Some(bg) = look.bg
        && quiet(bg)
    {
        out.bg = None;
        // A role that differed only by its background needs another distinction.
        out.modifiers |= role.mono() & (Modifier::REVERSED | Modifier::UNDERLINED);
    }
    let index = |colour: Option<Colour>| match colour {
        Some(Colour::Ansi(index)) => Some(index),
        Some(Colour::Rgb(rgb)) => Some(nearest_16(rgb)),
        Some(Colour::Terminal) | None => None,
    };
    let (fg, bg) = (index(out.fg), index(out.bg.or(ground.bg)));
    if let (Some(fg), Some(bg)) = (fg, bg)
        && fg == bg
    {
        out.fg = Some(Colour::Ansi(readable_on(bg)));
    }
    out
}

/// Returns black or white, whichever is readable on one of the sixteen; on those two, a grey.
fn readable_on(bg: u8) -> u8 {
    match bg {
        0 | 15 => 8,
        _ if SIXTEEN[usize::from(bg & 15)].luminance() > 0.3 => 0,
        _ => 15,
    }
}

#[cfg(test)]
#[path = "quantize_tests.rs"]
mod tests;
