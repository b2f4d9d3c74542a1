//! Keys by their names, as a terminal would send them.

use mxd::base::keys::{Key, KeyCode, Modifiers};

/// Returns the bytes of keys written as in the settings: `ctrl-x`, `enter`, `g g`.
pub fn bytes(chord: &str) -> Vec<u8> {
    chord.split_whitespace().flat_map(|word| key(word.parse().unwrap())).collect()
}

fn key(key: Key) -> Vec<u8> {
    let mods = key.mods();
    let mut out = Vec::new();
    let number = 1
        + u8::from(mods.contains(Modifiers::SHIFT))
        + 2 * u8::from(mods.contains(Modifiers::ALT))
        + 4 * u8::from(mods.contains(Modifiers::CTRL));
    let lettered = |letter: char| match number {
        1 => format!("\x1b[{letter}").into_bytes(),
        number => format!("\x1b[1;{number}{letter}").into_bytes(),
    };
    let numbered = |code: u8| match number {
        1 => format!("\x1b[{code}~").into_bytes(),
        number => format!("\x1b[{code};{number}~").into_bytes(),
    };
    let mut simple = |byte: &[u8]| {
        if mods.contains(Modifiers::ALT) {
            out.push(0x1b);
        }
        out.extend_from_slice(byte);
        std::mem::take(&mut out)
    };
    match key.code() {
        KeyCode::Char(char) if mods.contains(Modifiers::CTRL) => match char.to_ascii_lowercase() {
            letter @ 'a'..='z' => simple(&[letter as u8 - b'a' + 1]),
            ' ' => simple(&[0]),
            other => panic!("ctrl-{other} has no byte of its own"),
        },
        KeyCode::Char(char) => simple(char.to_string().as_bytes()),
        KeyCode::Enter => simple(b"\r"),
        KeyCode::Esc => simple(b"\x1b"),
        KeyCode::Tab if mods.contains(Modifiers::SHIFT) => b"\x1b[Z".to_vec(),
        KeyCode::Tab => simple(b"\t"),
        KeyCode::Backspace => simple(b"\x7f"),
        KeyCode::Up => lettered('A'),
        KeyCode::Down => lettered('B'),
        KeyCode::Right => lettered('C'),
        KeyCode::Left => lettered('D'),
        KeyCode::Home => lettered('H'),
        KeyCode::End => lettered('F'),
        KeyCode::Insert => numbered(2),
        KeyCode::Delete => numbered(3),
        KeyCode::PageUp => numbered(5),
        KeyCode::PageDown => numbered(6),
        KeyCode::F(number @ 1..=5) => numbered(number + 10),
        KeyCode::F(number @ 6..=10) => numbered(number + 11),
        KeyCode::F(number @ 11..=12) => numbered(number + 12),
        KeyCode::F(number) => panic!("no terminal has f{number}"),
    }
}
