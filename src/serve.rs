//! The engine behind a socket: a server that shares one engine with several clients, and a [`Port`] that reaches it.
//!
//! Owns the protocol (frames, versions, sequence numbers), the stream of updates that clients read at their own pace,
//! and the place of the socket. Invariants: a client that is slow, stopped, dead or hostile costs a bounded amount of
//! memory and delays nobody; a command is carried out once, however often its client sends it; a frame that cannot be
//! read changes nothing. It makes no decisions about tasks: it passes commands and queries to a
//! [`Handle`](crate::engine::Handle).
//!
//! [`Port`]: crate::engine::Port

pub mod background;
pub mod connector;
pub mod frame;
pub mod http;
pub mod mcp;
pub mod outcomes;
pub mod place;
pub mod presence;
pub mod protocol;
pub mod remote;
pub mod repeat;
pub mod ring;
pub mod server;
pub mod ssh;
pub mod stream;
#[cfg(test)]
pub mod testing;

pub mod wait;

mod connection;
pub mod guard;

pub use connector::{Connector, SocketConnector};
pub use place::{ServerInfo, ServerPlace};
pub use remote::Remote;
pub use server::{Closing, Server};
