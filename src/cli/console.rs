//! Output of all commands without the UI. Masks known secrets and escapes control characters.

use std::io::{self, BufWriter, IsTerminal as _, Stdout, Write};
use std::sync::OnceLock;

use serde::Serialize;

use crate::base::{Fault, known_secrets, sanitize};
use crate::cli::paint::{ColorChoice, Paint, Span};
use crate::cli::table::Table;

/// The choice of colours on the command line, for every console of the process.
static COLOR_CHOICE: OnceLock<ColorChoice> = OnceLock::new();

/// Assumed where the terminal does not tell its width.
const USUAL_WIDTH: usize = 80;

/// Sets when to use colours. Only the first call counts.
pub fn set_color_choice(choice: ColorChoice) {
    COLOR_CHOICE.get_or_init(|| choice);
}

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
    paint: Paint,
}

impl Console {
    pub fn new() -> Self {
        let choice = COLOR_CHOICE.get().copied().unwrap_or_default();
        let paint = Paint::detect(choice, io::stdout().is_terminal(), |name| std::env::var(name).ok());
        Self { out: BufWriter::new(io::stdout()), paint }
    }

    /// Returns the width of the terminal.
    pub fn width(&self) -> usize {
        let size = rustix::termios::tcgetwinsize(self.out.get_ref()).ok();
        size.map(|size| usize::from(size.ws_col)).filter(|width| *width > 0).unwrap_or(USUAL_WIDTH)
    }

    pub fn has_color(&self) -> bool {
        self.paint.color
    }

    /// Writes a line of sanitized spans.
    pub fn spans(&mut self, spans: &[Span]) -> Result<(), Failure> {
        for span in spans {
            let text = sanitize::line(&known_secrets::mask(&span.text)).into_owned();
            self.bytes(self.paint.apply(&text, span.style).as_bytes())?;
        }
        self.bytes(b"\n")
    }

    /// Writes a table as wide as the terminal.
    pub fn table(&mut self, table: &Table) -> Result<(), Failure> {
        table.lines(self.width()).iter().try_for_each(|line| self.spans(line))
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
