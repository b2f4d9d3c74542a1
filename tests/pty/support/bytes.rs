//! What a program wrote to its terminal, read for the modes it switched.

use std::collections::BTreeMap;

/// Everything a program wrote.
#[derive(Clone, Debug, Default)]
pub struct Traffic(pub Vec<u8>);

/// A mode that was switched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    pub mode: String,
    pub on: bool,
}

/// Modes that change many times in one stay and only have to end right: the cursor, and the bracket around a frame.
const BUSY: [&str; 2] = ["?25", "?2026"];

impl Traffic {
    /// Returns the modes that were switched, in order. Saving a private mode is on, putting it back is off.
    pub fn switches(&self) -> Vec<Switch> {
        let mut switches = Vec::new();
        for sequence in sequences(&self.0) {
            let on = |mode: &str| Switch { mode: mode.to_owned(), on: true };
            let off = |mode: &str| Switch { mode: mode.to_owned(), on: false };
            match (sequence.parameters.as_str(), sequence.last) {
                // Saved and then set is one switch.
                (private, 'h') if switches.last() == Some(&on(private)) => {}
                (private, 'h' | 's') if private.starts_with('?') => switches.push(on(private)),
                (private, 'l' | 'r') if private.starts_with('?') => switches.push(off(private)),
                ("22;2", 't') => switches.push(on("title")),
                ("23;2", 't') => switches.push(off("title")),
                (flags, 'u') if flags.starts_with('>') => switches.push(on("kitty")),
                (flags, 'u') if flags.starts_with('<') => switches.push(off("kitty")),
                ("0 ", 'q') => switches.push(off("cursor")),
                (shape, 'q') if shape.ends_with(' ') => switches.push(on("cursor")),
                _ => {}
            }
        }
        switches
    }

    /// Asserts that the screen was entered and left `stays` times, that every mode which was switched on was switched off
    /// exactly as often, the last one first, and that the cursor is visible in the end.
    #[track_caller]
    pub fn assert_restored(&self, stays: usize) {
        let switches = self.switches();
        let mut open: Vec<&str> = Vec::new();
        let mut count: BTreeMap<&str, usize> = BTreeMap::new();
        let mut busy: BTreeMap<&str, bool> = BTreeMap::new();
        for Switch { mode, on } in &switches {
            if BUSY.contains(&mode.as_str()) {
                busy.insert(mode, *on);
                continue;
            }
            if *on {
                open.push(mode);
                *count.entry(mode).or_default() += 1;
            } else {
                assert_eq!(open.pop(), Some(mode.as_str()), "{mode} was switched off out of turn: {switches:?}");
            }
        }
        assert_eq!(open, [] as [&str; 0], "left on: {switches:?}");
        assert_eq!(count.get("?1049"), Some(&stays), "stays on the screen: {switches:?}");
        assert_eq!(count.get("?2004"), Some(&stays), "{switches:?}");
        assert_eq!(busy.get("?25"), Some(&true), "the cursor is hidden");
        assert_eq!(busy.get("?2026"), Some(&false), "a frame is still open");
    }

    pub fn count(&self, what: &str) -> usize {
        memchr::memmem::find_iter(&self.0, what).count()
    }
}

struct Sequence {
    parameters: String,
    last: char,
}

/// Finds the control sequences. A string such as a title is skipped.
fn sequences(bytes: &[u8]) -> Vec<Sequence> {
    let text = String::from_utf8_lossy(bytes);
    let mut found = Vec::new();
    let mut rest = text.as_ref();
    while let Some(at) = rest.find('\x1b') {
        rest = &rest[at + 1..];
        if let Some(body) = rest.strip_prefix('[') {
            let end = body.find(|c| ('@'..='~').contains(&c)).unwrap_or(body.len());
            if let Some(last) = body[end..].chars().next() {
                found.push(Sequence { parameters: body[..end].to_owned(), last });
            }
            rest = &body[end..];
        } else if let Some(body) = rest.strip_prefix([']', 'P']) {
            rest = &body[body.find(['\x07', '\x1b']).unwrap_or(body.len())..];
        }
    }
    found
}

#[test]
fn a_mode_that_stays_on_is_noticed() {
    let good = "\x1b[?1049h\x1b[?2004h\x1b[?25l\x1b[?2026h\x1b[?2026l\x1b[?25h\x1b[?2004l\x1b[?1049l";
    let fails = |text: &str| {
        let traffic = Traffic(text.as_bytes().to_vec());
        std::panic::catch_unwind(move || traffic.assert_restored(1)).is_err()
    };
    assert!(!fails(good));
    assert!(fails(&good.replace("\x1b[?2004l", "")), "not switched off");
    assert!(fails(&good.replace("\x1b[?2004l", "\x1b[?2004l\x1b[?2004l")), "switched off twice");
    assert!(fails(&good.replace("\x1b[?25h", "")), "the cursor stays hidden");
    assert!(fails(&good.replace("\x1b[?2026l", "")), "a frame stays open");
    assert!(fails(&format!("{good}{good}")), "two stays");
    assert!(fails("\x1b[?1049h\x1b[?2004h\x1b[?2026l\x1b[?25h\x1b[?1049l\x1b[?2004l"), "the wrong order");
}
