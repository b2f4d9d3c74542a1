//! Text arguments: the words of the command line, or stdin for `-`.

use std::io::{self, Read};

use crate::base::{Fault, text};

/// Maximum size of stdin. Larger input belongs in a file.
const MAX_BYTES: u64 = 1 << 20;

/// Joins `words`, or reads stdin for a single `-`. Fails if stdin is empty.
pub fn read_args(words: &[String]) -> Result<String, Fault> {
    match words {
        [word] if word == "-" => read(io::stdin().lock()),
        words => Ok(words.join(" ")),
    }
}

/// Like [`read_args`], for one argument.
pub fn read_arg(word: String) -> Result<String, Fault> {
    if word == "-" { read(io::stdin().lock()) } else { Ok(word) }
}

fn read(input: impl Read) -> Result<String, Fault> {
    let mut bytes = Vec::new();
    let read = input.take(MAX_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| Fault::environment(format!("cannot read stdin: {error}")))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Fault::user(format!("stdin is larger than {}", text::size(MAX_BYTES)))
            .hint("put it in a file and send its path"));
    }
    let text = String::from_utf8(bytes).map_err(|_| {
        Fault::user("stdin is not UTF-8 text").hint("convert it, or put it in a file and send its path")
    })?;
    if text.trim().is_empty() {
        return Err(Fault::user("stdin is empty (`-` reads from stdin)"));
    }
    Ok(text.trim_end().to_owned())
}

#[cfg(test)]
#[path = "stdin_tests.rs"]
mod tests;
