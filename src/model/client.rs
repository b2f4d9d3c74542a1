//! Who is attached to an engine: screens, pages and programs, as every client sees them.

use serde::{Deserialize, Serialize};

use crate::base::Timestamp;

/// What a client is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClientKind {
    Screen,
    /// A command of the shell. It comes and goes, so it is not listed.
    Command,
    /// The web page, or a program that follows the updates over HTTP.
    Http,
    /// A program that this version does not know.
    #[serde(other)]
    Other,
}

/// A client that is attached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ClientView {
    /// Its number in this process, in order of arrival.
    pub number: u64,
    pub kind: ClientKind,
    pub name: String,
    pub since: Timestamp,
}
