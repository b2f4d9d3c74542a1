//! One turn: what the model says, in which pieces, with which pauses, and what it asks of the request first.

use serde::Deserialize;
use serde_json::Value;

use super::check::Check;
use super::fault::Fault;

/// Starts a turn: `answer().text("Hello")`.
pub fn answer() -> Turn {
    Turn::default()
}

/// One answer and what belongs to it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Turn {
    pub expect: Vec<Check>,
    pub say: Vec<Piece>,
    /// Nothing: `tool_use` after a tool call, else `end_turn`.
    pub stop: Option<Stop>,
    pub usage: Counts,
    /// What the attempts at this turn meet, one each, before it is answered.
    pub faults: Vec<Fault>,
    /// A gate before the first byte of the response.
    pub hold: Option<String>,
    pub delay_ms: u64,
    /// A server that counts nothing, even when asked to.
    pub without_usage: bool,
    /// A request that is repeated after this answer gets the next turn, not this one again.
    pub once: bool,
}

/// A piece of an answer, or a pause between two.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Piece {
    Text(String),
    /// One text block in exactly these deltas.
    Chunks(Vec<Chunk>),
    Thinking(String),
    RedactedThinking(String),
    Tool {
        name: String,
        #[serde(default)]
        input: Value,
        #[serde(default)]
        id: Option<String>,
    },
    /// A tool call whose input is this text, whether JSON or not.
    RawTool {
        name: String,
        input: String,
    },
    Gate(String),
    DelayMs(u64),
}

/// A delta of a text, or a pause inside it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Chunk {
    Say(String),
    Gate(String),
    DelayMs(u64),
}

/// Returns a delta for [`Turn::chunks`].
pub fn say(text: &str) -> Chunk {
    Chunk::Say(text.to_owned())
}

/// Returns a pause for [`Turn::chunks`] that ends when the test opens the gate.
pub fn gate(name: &str) -> Chunk {
    Chunk::Gate(name.to_owned())
}

/// Why the answer ends.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    EndTurn,
    ToolUse,
    MaxTokens,
    Sequence,
    Refusal,
    Pause,
    ContextWindow,
    /// A reason nobody has heard of.
    Other(String),
}

/// Token counts that replace the simulated ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Counts {
    pub input: Option<u64>,
    pub output: Option<u64>,
    pub cache_read: Option<u64>,
    pub cache_write_5m: Option<u64>,
    pub cache_write_1h: Option<u64>,
}

impl Turn {
    /// Asks something of the request before it is answered.
    pub fn expect(mut self, check: Check) -> Self {
        self.expect.push(check);
        self
    }

    fn piece(mut self, piece: Piece) -> Self {
        self.say.push(piece);
        self
    }

    pub fn text(self, text: &str) -> Self {
        self.piece(Piece::Text(text.to_owned()))
    }

    pub fn chunks(self, chunks: impl IntoIterator<Item = Chunk>) -> Self {
        self.piece(Piece::Chunks(chunks.into_iter().collect()))
    }

    pub fn thinking(self, text: &str) -> Self {
        self.piece(Piece::Thinking(text.to_owned()))
    }

    pub fn redacted_thinking(self, data: &str) -> Self {
        self.piece(Piece::RedactedThinking(data.to_owned()))
    }

    pub fn tool(self, name: &str, input: Value) -> Self {
        self.piece(Piece::Tool { name: name.to_owned(), input, id: None })
    }

    pub fn tool_with_id(self, id: &str, name: &str, input: Value) -> Self {
        self.piece(Piece::Tool { name: name.to_owned(), input, id: Some(id.to_owned()) })
    }

    /// Calls a tool with an input that is `partial` and nothing more, as when the output limit cuts it.
    pub fn raw_tool(self, name: &str, partial: &str) -> Self {
        self.piece(Piece::RawTool { name: name.to_owned(), input: partial.to_owned() })
    }

    /// Stops the stream here until the test opens the gate.
    pub fn gate(self, name: &str) -> Self {
        self.piece(Piece::Gate(name.to_owned()))
    }

    /// Pauses the stream here, for people who watch. Tests use [`Turn::gate`].
    pub fn pause_ms(self, ms: u64) -> Self {
        self.piece(Piece::DelayMs(ms))
    }

    /// Sends nothing at all, not even a status line, until the test opens the gate.
    pub fn hold(mut self, gate: &str) -> Self {
        self.hold = Some(gate.to_owned());
        self
    }

    pub fn delay_ms(mut self, ms: u64) -> Self {
        self.delay_ms = ms;
        self
    }

    pub fn stop(mut self, stop: Stop) -> Self {
        self.stop = Some(stop);
        self
    }

    pub fn usage(mut self, usage: Counts) -> Self {
        self.usage = usage;
        self
    }

    pub fn without_usage(mut self) -> Self {
        self.without_usage = true;
        self
    }

    /// Goes on to the next turn even when the same request comes again, as after a refusal that a user retries.
    pub fn once(mut self) -> Self {
        self.once = true;
        self
    }

    /// Lets the next attempt at this turn meet `fault`. Called twice, the first two attempts fail.
    pub fn fault(mut self, fault: Fault) -> Self {
        self.faults.push(fault);
        self
    }
}
