//! What is known about the terminal: what the environment says, corrected by what the terminal itself says.
//!
//! A value that grows as answers arrive. An answer beats a guess; nothing is forgotten.

use super::query::{Answer, Rgb};
use super::surroundings::Surroundings;

/// What the terminal can do and looks like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    pub surroundings: Surroundings,
    pub foreground: Option<Rgb>,
    pub background: Option<Rgb>,
    /// Ctrl-Enter, Shift-Enter and the like can be told from Enter.
    pub kitty_keys: bool,
    pub synchronized_output: bool,
    /// The last word of the terminal on being dark, if it has said one.
    scheme: Option<bool>,
}

impl Capabilities {
    pub fn new(surroundings: Surroundings) -> Self {
        Self { surroundings, ..Self::default() }
    }

    /// Tells whether the background is dark, if anything is known about it.
    pub fn is_dark(&self) -> Option<bool> {
        self.scheme.or_else(|| self.background.map(Rgb::is_dark)).or(self.surroundings.dark)
    }

    /// Takes an answer in. Tells whether it changed anything.
    pub(super) fn learn(&mut self, answer: Answer) -> bool {
        let before = self.clone();
        match answer {
            Answer::Foreground(colour) => self.foreground = Some(colour),
            Answer::Background(colour) => self.background = Some(colour),
            Answer::KittyKeys => self.kitty_keys = true,
            Answer::SynchronizedOutput => self.synchronized_output = true,
            Answer::Dark(dark) => self.scheme = Some(dark),
            Answer::End => {}
        }
        *self != before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_terminal_says_beats_what_the_environment_says() {
        let guessed = Surroundings { dark: Some(true), ..Surroundings::default() };
        let mut known = Capabilities::new(guessed);
        assert_eq!(known.is_dark(), Some(true));
        assert!(known.learn(Answer::Background(Rgb { red: 255, green: 255, blue: 255 })));
        assert_eq!(known.is_dark(), Some(false));
        assert!(known.learn(Answer::Dark(true)), "the terminal switched");
        assert_eq!(known.is_dark(), Some(true));
        assert!(!known.learn(Answer::Dark(true)));
        assert!(!known.learn(Answer::End));
    }
}
