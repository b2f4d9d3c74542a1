//! What a person says on the command line: the words that are there, or, for a `-`, what comes in on standard input.

use std::io::{self, Read};

use crate::base::{Fault, text};

/// More than this is no message: a file of that size is better named than said.
const MOST: u64 = 1 << 20;

/// Returns what `words` say. Nothing stays nothing; an input with nothing in it is a mistake.
pub fn said(words: &[String]) -> Result<String, Fault> {
    match words {
        [word] if word == "-" => read(io::stdin().lock()),
        words => Ok(words.join(" ")),
    }
}

/// As [`said`], for one argument.
pub fn meant(word: String) -> Result<String, Fault> {
    if word == "-" { read(io::stdin().lock()) } else { Ok(word) }
}

fn read(input: impl Read) -> Result<String, Fault> {
    let mut bytes = Vec::new();
    let read = input.take(MOST + 1).read_to_end(&mut bytes);
    read.map_err(|error| Fault::environment(format!("standard input cannot be read: {error}")))?;
    if bytes.len() as u64 > MOST {
        return Err(Fault::user(format!("standard input has more than {}", text::size(MOST)))
            .hint("put it into a file and say where that is"));
    }
    let said = String::from_utf8(bytes)
        .map_err(|_| Fault::user("standard input is not text in UTF-8").hint("convert it, or say where the file is"))?;
    if said.trim().is_empty() {
        return Err(Fault::user("there was nothing on standard input, from which `-` reads"));
    }
    Ok(said.trim_end().to_owned())
}

#[cfg(test)]
#[path = "words_tests.rs"]
mod tests;
