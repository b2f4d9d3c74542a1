//! The one place that talks to the terminal, in commands without a screen.

use std::io::{self, BufWriter, IsTerminal as _, Stdout, Write};

use serde::Serialize;

use crate::base::{Fault, known_secrets, sanitize};

/// Why a command stopped.
#[derive(Debug)]
pub enum Failure {
    /// Nobody listens any more: `mxd log … | head`.
    Closed,
    Fault(Fault),
}

impl<E: Into<Fault>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Fault(error.into())
    }
}

/// What a command gives: an exit code, or a reason.
pub type Outcome = Result<u8, Failure>;

/// Standard output for answers, standard error for everything about them.
pub struct Console {
    out: BufWriter<Stdout>,
}

impl Console {
    pub fn new() -> Self {
        Self { out: BufWriter::new(io::stdout()) }
    }

    /// Tells whether somebody reads along, as opposed to a program or a file.
    pub fn is_terminal(&self) -> bool {
        self.out.get_ref().is_terminal()
    }

    /// Writes a line that is safe to show.
    pub fn line(&mut self, text: &str) -> Result<(), Failure> {
        self.text(text)?;
        self.bytes(b"\n")
    }

    /// Writes part of a text that is safe to show.
    pub fn text(&mut self, text: &str) -> Result<(), Failure> {
        self.bytes(sanitize::lines(&known_secrets::mask(text)).as_bytes())
    }

    /// Writes a value as one line of JSON, for programs.
    pub fn json<T: Serialize>(&mut self, value: &T) -> Result<(), Failure> {
        let text = serde_json::to_string(value)
            .map_err(|error| Fault::internal(format!("an answer could not be written as JSON: {error}")))?;
        self.bytes(sanitize::json(&known_secrets::mask(&text)).as_bytes())?;
        self.bytes(b"\n")
    }

    /// Writes bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.out.write_all(bytes).map_err(|error| closed(&error))
    }

    /// Says something beside the answer.
    pub fn note(&mut self, text: &str) {
        let _ = self.out.flush();
        // Where even this cannot be said, nothing can.
        let _ = writeln!(io::stderr(), "{}", sanitize::lines(&known_secrets::mask(text)));
    }

    pub fn fault(&mut self, fault: &Fault) {
        self.note(&format!("mxd: {}", fault.message));
        fault.hints.iter().for_each(|hint| self.note(&format!("  hint: {hint}")));
    }

    pub fn finish(&mut self) -> Result<(), Failure> {
        self.out.flush().map_err(|error| closed(&error))
    }
}

fn closed(error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::Closed,
        _ => Failure::Fault(Fault::environment(format!("the output cannot be written: {error}"))),
    }
}
