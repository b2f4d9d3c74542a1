//! Colours in theme files, and the distance and contrast of two colours.
//!
//! Distance is measured in `OKLab`, where equal steps look equal; contrast by the WCAG 2 formula.

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rgb(pub u8, pub u8, pub u8);

/// A colour in a theme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Colour {
    /// The terminal's own foreground or background.
    Terminal,
    /// One of the terminal's own sixteen colours.
    Ansi(u8),
    Rgb(Rgb),
}

/// The names of the sixteen colours in theme files, in their order.
pub const NAMES: [&str; 16] = [
    "black",
    "red",
    "green",
    "yellow",
    "blue",
    "magenta",
    "cyan",
    "white",
    "bright_black",
    "bright_red",
    "bright_green",
    "bright_yellow",
    "bright_blue",
    "bright_magenta",
    "bright_cyan",
    "bright_white",
];

/// The usual values of the sixteen colours. Terminals differ, but the hues are the same.
pub const SIXTEEN: [Rgb; 16] = [
    Rgb(0, 0, 0),
    Rgb(205, 0, 0),
    Rgb(0, 205, 0),
    Rgb(205, 205, 0),
    Rgb(0, 0, 238),
    Rgb(205, 0, 205),
    Rgb(0, 205, 205),
    Rgb(229, 229, 229),
    Rgb(127, 127, 127),
    Rgb(255, 0, 0),
    Rgb(0, 255, 0),
    Rgb(255, 255, 0),
    Rgb(92, 92, 255),
    Rgb(255, 0, 255),
    Rgb(0, 255, 255),
    Rgb(255, 255, 255),
];

impl Colour {
    /// Parses `#rgb`, `#rrggbb`, `terminal` or the name of one of the sixteen.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(hex) = text.strip_prefix('#') {
            return Rgb::parse_hex(hex).map(Self::Rgb);
        }
        if text == "terminal" {
            return Some(Self::Terminal);
        }
        let at = NAMES.iter().position(|name| *name == text)?;
        u8::try_from(at).ok().map(Self::Ansi)
    }
}

impl Rgb {
    fn parse_hex(hex: &str) -> Option<Self> {
        if !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        let byte = |at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
        let nibble = |at: usize| u8::from_str_radix(hex.get(at..=at)?, 16).ok().map(|n| n * 17);
        match hex.len() {
            3 => Some(Self(nibble(0)?, nibble(1)?, nibble(2)?)),
            6 => Some(Self(byte(0)?, byte(2)?, byte(4)?)),
            _ => None,
        }
    }

    fn linear(self) -> [f64; 3] {
        [self.0, self.1, self.2].map(|part| {
            let part = f64::from(part) / 255.0;
            if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        })
    }

    /// Returns the perceived brightness, from 0 to 1.
    pub fn luminance(self) -> f64 {
        let [r, g, b] = self.linear();
        0.2126 * r + 0.7152 * g + 0.0722 * b
    }

    /// Returns the contrast of two colours, from 1 (none) to 21 (black on white).
    pub fn contrast(self, other: Self) -> f64 {
        let (a, b) = (self.luminance(), other.luminance());
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    /// Returns lightness and the two colour axes.
    pub fn oklab(self) -> [f64; 3] {
        const TO_CONES: [[f64; 3]; 3] = [
            [0.412_221_470_8, 0.536_332_536_3, 0.051_445_992_9],
            [0.211_903_498_2, 0.680_699_545_1, 0.107_396_956_6],
            [0.088_302_461_9, 0.281_718_837_6, 0.629_978_700_5],
        ];
        const TO_LAB: [[f64; 3]; 3] = [
            [0.210_454_255_3, 0.793_617_785_0, -0.004_072_046_8],
            [1.977_998_495_1, -2.428_592_205_0, 0.450_593_709_9],
            [0.025_904_037_1, 0.782_771_766_2, -0.808_675_766_0],
        ];
        let times =
            |matrix: [[f64; 3]; 3], v: [f64; 3]| matrix.map(|row| row[0] * v[0] + row[1] * v[1] + row[2] * v[2]);
        times(TO_LAB, times(TO_CONES, self.linear()).map(f64::cbrt))
    }

    /// Returns the perceived difference of two colours. Zero means equal.
    pub fn distance(self, other: Self) -> f64 {
        let (a, b) = (self.oklab(), other.oklab());
        a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    }

    /// Returns the colourfulness: about 0 for grey, 0.3 for the purest red.
    pub fn chroma(self) -> f64 {
        let [_, a, b] = self.oklab();
        a.hypot(b)
    }
}

/// Returns an entry of the 256-colour table.
pub fn indexed(index: u8) -> Rgb {
    const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    match index {
        0..16 => SIXTEEN[usize::from(index)],
        16..232 => {
            let cube = usize::from(index - 16);
            Rgb(STEPS[cube / 36], STEPS[cube / 6 % 6], STEPS[cube % 6])
        }
        232.. => {
            let grey = 8 + 10 * (index - 232);
            Rgb(grey, grey, grey)
        }
    }
}

#[cfg(test)]
#[path = "colour_tests.rs"]
mod tests;
