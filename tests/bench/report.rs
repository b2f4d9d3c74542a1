//! The one place that writes: rows, as they come, as a table or as JSON.

use std::fmt;
use std::io::{self, Write};

use serde::Serialize;

use crate::Outcome;

/// What a row is printed as.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Table,
    Json,
}

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Unit {
    #[serde(rename = "per second")]
    PerSecond,
    #[serde(rename = "MB/s")]
    MegabytesPerSecond,
    #[serde(rename = "bytes")]
    Bytes,
    #[serde(rename = "calls per event")]
    CallsPerEvent,
    #[serde(rename = "ns per event")]
    NanosPerEvent,
    #[serde(rename = "ns per turn")]
    NanosPerTurn,
    #[serde(rename = "ns per call")]
    NanosPerCall,
    #[serde(rename = "times")]
    Count,
    #[serde(rename = "processors")]
    Processors,
}

/// Where the ratio should lie.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    AtLeast(f64),
    AtMost(f64),
    /// The row is there to be read beside others.
    None,
}

/// One measured thing.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub what: String,
    pub ours: f64,
    pub limit: f64,
    pub unit: Unit,
    /// Ours divided by the limit. Where both were measured in turns: the median over the turns.
    pub ratio: f64,
    /// What the limit is.
    pub against: String,
    pub target: Target,
}

impl Row {
    /// A row of two counts, whose ratio is exact.
    pub fn of_counts(what: String, unit: Unit, ours: f64, limit: f64, against: &str, target: Target) -> Self {
        Self { what, ours, limit, unit, ratio: ours / limit, against: against.to_owned(), target }
    }

    fn verdict(&self) -> &'static str {
        let met = match self.target {
            Target::AtLeast(least) => self.ratio >= least,
            Target::AtMost(most) => self.ratio <= most,
            Target::None => return "",
        };
        if met { "met" } else { "MISSED" }
    }
}

/// Takes rows and prints those that were asked for.
pub struct Report {
    shape: Shape,
    filters: Vec<String>,
    rows: usize,
}

impl Report {
    pub fn new(shape: Shape, filters: Vec<String>) -> Self {
        Self { shape, filters, rows: 0 }
    }

    /// Tells whether a row of this name is wanted, before anything is spent on it.
    pub fn wants(&self, what: &str) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|filter| what.contains(filter.as_str()))
    }

    pub fn add(&mut self, row: &Row) -> Outcome {
        if !self.wants(&row.what) {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        match self.shape {
            Shape::Json => writeln!(out, "{}", serde_json::to_string(row)?)?,
            Shape::Table => {
                if self.rows == 0 {
                    writeln!(out, "| what | ours | limit | unit | ratio | target | | against |")?;
                    writeln!(out, "|---|---:|---:|---|---:|---|---|---|")?;
                }
                let Row { what, ours, limit, unit, ratio, against, target } = row;
                let (ours, limit) = (Figure(*ours), Figure(*limit));
                let verdict = row.verdict();
                writeln!(
                    out,
                    "| {what} | {ours} | {limit} | {unit} | {ratio:.2} | {target} | {verdict} | {against} |"
                )?;
            }
        }
        out.flush()?;
        self.rows += 1;
        Ok(())
    }

    /// Says that something cannot be measured here, and why.
    pub fn skip(what: &str, why: &str) -> Outcome {
        writeln!(io::stderr(), "SKIPPED: {what}: {why}")?;
        Ok(())
    }

    pub fn finish(self) -> Outcome {
        if self.rows == 0 {
            return Err(format!("no row's name contains {}", self.filters.join(" or ")).into());
        }
        Ok(())
    }
}

/// Says why there is no table.
pub fn complain(error: &dyn std::error::Error) {
    // Nobody is left to be told if this fails.
    let _ = writeln!(io::stderr(), "bench: {error}");
}

struct Figure(f64);

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 100.0 { write!(f, "{:.2}", self.0) } else { write!(f, "{:.0}", self.0) }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PerSecond => "per second",
            Self::MegabytesPerSecond => "MB/s",
            Self::Bytes => "bytes",
            Self::CallsPerEvent => "calls per event",
            Self::NanosPerEvent => "ns per event",
            Self::NanosPerTurn => "ns per turn",
            Self::NanosPerCall => "ns per call",
            Self::Count => "times",
            Self::Processors => "processors",
        })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(least) => write!(f, "≥ {least}"),
            Self::AtMost(most) => write!(f, "≤ {most}"),
            Self::None => Ok(()),
        }
    }
}
