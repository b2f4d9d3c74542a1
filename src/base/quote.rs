//! Long texts as JSON spells them, eight bytes at a time. Byte for byte what `serde_json` writes, which looks at each byte on
//! its own: that is most of what it costs to append an event or to spell a conversation.

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// From so many bytes on it is worth the way around.
const LONG: usize = 200;

/// Writes a text, for the fields that can be long: `#[serde(serialize_with = "quote::text")]`.
pub fn text<S: Serializer>(text: &impl AsRef<str>, serializer: S) -> Result<S::Ok, S::Error> {
    let text = text.as_ref();
    if text.len() < LONG {
        return serializer.serialize_str(text);
    }
    match RawValue::from_string(quoted(text)) {
        Ok(raw) => raw.serialize(serializer),
        Err(_) => serializer.serialize_str(text),
    }
}

/// Returns a text in quotes, with escapes.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 16 + 2);
    out.push('"');
    let mut rest = text;
    while let Some(at) = next_escape(rest.as_bytes()) {
        out.push_str(&rest[..at]);
        escape(&mut out, rest.as_bytes()[at]);
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
    out.push('"');
    out
}

/// Returns where the first byte is that cannot stand in quotes as it is. All of them are letters of their own in UTF-8.
fn next_escape(bytes: &[u8]) -> Option<usize> {
    let (eights, rest) = bytes.as_chunks::<8>();
    for (at, eight) in eights.iter().enumerate() {
        let found = marks(u64::from_le_bytes(*eight));
        if found != 0 {
            return Some(at * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    let special = |byte: &u8| *byte < b' ' || *byte == b'"' || *byte == b'\\';
    rest.iter().position(special).map(|at| bytes.len() - rest.len() + at)
}

/// Returns a number whose lowest bit that is set is the highest one of the first byte that needs an escape. Bytes behind that
/// one may be marked, too, without a reason.
fn marks(eight: u64) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = EACH * 0x80;
    let zeros = |bytes: u64| bytes.wrapping_sub(EACH) & !bytes;
    let controls = eight.wrapping_sub(EACH * 0x20) & !eight;
    let quotes = zeros(eight ^ (EACH * u64::from(b'"')));
    let backslashes = zeros(eight ^ (EACH * u64::from(b'\\')));
    (controls | quotes | backslashes) & HIGH
}

fn escape(out: &mut String, byte: u8) {
    let short = match byte {
        b'"' => '"',
        b'\\' => '\\',
        b'\n' => 'n',
        b'\r' => 'r',
        b'\t' => 't',
        0x08 => 'b',
        0x0c => 'f',
        other => {
            let digit = |digit: u8| char::from(b"0123456789abcdef"[usize::from(digit & 0xf)]);
            out.push_str("\\u00");
            out.push(digit(other >> 4));
            out.push(digit(other));
            return;
        }
    };
    out.push('\\');
    out.push(short);
}

#[cfg(test)]
#[path = "quote_tests.rs"]
mod tests;
