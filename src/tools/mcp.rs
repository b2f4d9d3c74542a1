//! External tools: servers that speak the Model Context Protocol, one shared connection to each per project.
//!
//! A [`Pool`] knows every configured server, starts one when it is needed and lets it go when nobody uses it any more.
//! What a server offers becomes a [`Tool`](crate::tools::Tool) like any other and takes the same path. Invariants: a
//! broken or slow server delays nobody for long and is named with its reason; a server that ends is started again,
//! ever less eagerly; a list of tools that changed is not used before the user accepts it; no secret of a server's entry
//! gets into a text. Which servers may start is decided by `config`,
//! which tools a session keeps by `agent`.

mod answer;
mod answers;
mod backoff;
mod client;
mod connection;
mod failure;
mod http;
mod log;
mod offers;
mod pool;
mod redact;
mod slot;
mod tool;
mod tool_list;
mod transport;

pub use pool::{Limits, Missing, Options, Pool};
pub use redact::{keys_of, keys_of_address};
pub use slot::{Health, Status};
pub use tool_list::{KnownTools, ToolChange, ToolLists};
