//! Output of all commands without the UI. Masks known secrets and escapes control characters.

use std::io::{self, BufWriter, IsTerminal as _, Stdout, Write};

use serde::Serialize;

use crate::base::{Fault, known_secrets, sanitize};

/// The reason why a command stopped.
#[derive(Debug)]
pub enum Failure {
    /// The reader closed the pipe, as in `mxd log … | head`.
    Closed,
    Fault(Fault),
}

impl<E: Into<Fault>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Fault(error.into())
    }
}

/// The exit code of a command.
pub type Outcome = Result<u8, Failure>;

/// Writes results to stdout, and notes and errors to stderr.
pub struct Console {
    out: BufWriter<Stdout>,
}

impl Console {
    pub fn new() -> Self {
        Self { out: BufWriter::new(io::stdout()) }
    }

    pub fn is_terminal(&self) -> bool {
        self.out.get_ref().is_terminal()
    }

    /// Writes a sanitized line.
    pub fn line(&mut self, text: &str) -> Result<(), Failure> {
        self.text(text)?;
        self.bytes(b"\n")
    }

    /// Writes sanitized text.
    pub fn text(&mut self, text: &str) -> Result<(), Failure> {
        self.bytes(sanitize::lines(&known_secrets::mask(text)).as_bytes())
    }

    /// Writes a value as one line of JSON.
    pub fn json<T: Serialize>(&mut self, value: &T) -> Result<(), Failure> {
        let text = serde_json::to_string(value)
            .map_err(|error| Fault::internal(format!("cannot encode the output as JSON: {error}")))?;
        self.bytes(sanitize::json(&known_secrets::mask(&text)).as_bytes())?;
        self.bytes(b"\n")
    }

    /// Writes bytes without sanitizing them.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.out.write_all(bytes).map_err(|error| write_failure(&error))
    }

    /// Writes a sanitized line to stderr.
    pub fn note(&mut self, text: &str) {
        let _ = self.out.flush();
        // There is nowhere to report a failure of stderr.
        let _ = writeln!(io::stderr(), "{}", sanitize::lines(&known_secrets::mask(text)));
    }

    pub fn fault(&mut self, fault: &Fault) {
        self.note(&format!("mxd: {}", fault.message));
        fault.hints.iter().for_each(|hint| self.note(&format!("  hint: {hint}")));
    }

    pub fn finish(&mut self) -> Result<(), Failure> {
        self.out.flush().map_err(|error| write_failure(&error))
    }
}

fn write_failure(error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::Closed,
        _ => Failure::Fault(Fault::environment(format!("cannot write the output: {error}"))),
    }
}
