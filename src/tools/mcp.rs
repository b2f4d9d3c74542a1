//! External tools: servers that speak the Model Context Protocol, one shared connection to each per project.
//!
//! A [`Pool`] knows every configured server, starts one when it is needed and stops it when it is unused. A server's
//! tools become [`Tool`](crate::tools::Tool)s and run like all others. Invariants: a broken or slow server does not
//! block callers for long and is reported with its reason; a server that ends is restarted with increasing delays; a
//! changed list of tools is not used before the user accepts it; no secret of a server's entry gets into a text.
//! `config` decides which servers may start, `agent` which tools a session keeps.

mod backoff;
mod client;
mod connection;
mod failure;
mod http;
mod log;
mod message_limit;
mod offers;
mod pool;
mod redact;
mod result;
mod slot;
mod tool;
mod tool_list;
mod transport;

pub use pool::{Limits, MissingTools, Options, Pool};
pub use redact::{keys_of, keys_of_address};
pub use slot::{ServerHealth, ServerStatus};
pub use tool_list::{KnownTools, ToolChange, ToolLists};
