//! Terminal capabilities: read from the environment, corrected by the terminal's replies.
//!
//! A reply overrides a guess.

use super::env::TerminalEnv;
use super::query::{QueryReply, Rgb};

/// The features and colours of the terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    pub env: TerminalEnv,
    pub foreground: Option<Rgb>,
    pub background: Option<Rgb>,
    /// Ctrl-Enter, Shift-Enter and the like can be told apart from Enter.
    pub kitty_keys: bool,
    pub synchronized_output: bool,
    /// The last colour scheme report: dark or light.
    scheme: Option<bool>,
}

impl Capabilities {
    pub fn new(env: TerminalEnv) -> Self {
        Self { env, ..Self::default() }
    }

    /// Returns true if the background is dark, or `None` if that is unknown.
    pub fn is_dark(&self) -> Option<bool> {
        self.scheme.or_else(|| self.background.map(Rgb::is_dark)).or(self.env.dark)
    }

    /// Applies a reply. Returns true if it changed anything.
    pub(super) fn apply(&mut self, reply: QueryReply) -> bool {
        let before = self.clone();
        match reply {
            QueryReply::Foreground(colour) => self.foreground = Some(colour),
            QueryReply::Background(colour) => self.background = Some(colour),
            QueryReply::KittyKeys => self.kitty_keys = true,
            QueryReply::SynchronizedOutput => self.synchronized_output = true,
            QueryReply::Dark(dark) => self.scheme = Some(dark),
            QueryReply::End => {}
        }
        *self != before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_overrides_the_environment() {
        let guess = TerminalEnv { dark: Some(true), ..TerminalEnv::default() };
        let mut capabilities = Capabilities::new(guess);
        assert_eq!(capabilities.is_dark(), Some(true));
        assert!(capabilities.apply(QueryReply::Background(Rgb { red: 255, green: 255, blue: 255 })));
        assert_eq!(capabilities.is_dark(), Some(false));
        assert!(capabilities.apply(QueryReply::Dark(true)), "the terminal switched");
        assert_eq!(capabilities.is_dark(), Some(true));
        assert!(!capabilities.apply(QueryReply::Dark(true)));
        assert!(!capabilities.apply(QueryReply::End));
    }
}
