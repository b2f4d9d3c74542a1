//! The network of sandboxed tasks: a proxy that reaches the listed hosts and no others.
//!
//! Commands in a sandbox have a network of their own with nothing in it but a port, whose connections end here. They
//! speak HTTP (`CONNECT`, or plain requests with an absolute address) or SOCKS5. A host is parsed once
//! (`host`), judged once (`gate`), resolved once, and the address that was checked is the one that is dialled
//! (`dial`). No name is resolved before its host is allowed: a lookup, too, tells something to the world.
//!
//! An unknown host is asked about once for the whole project, however many connections wait. Does not know tasks,
//! settings or Asks: a [`HostJudge`] does.

mod address;
mod dial;
mod gate;
mod host;
mod http;
mod policy;
mod registries;
mod serve;
mod socks;

pub use address::{Reach, reach};
pub use dial::{Resolver, SystemResolver};
pub use gate::{Answer, Client, Gate, HostJudge, Refusal};
pub use host::{Host, HostError, HostPattern, Target};
pub use policy::{Grant, HostPolicy, Listing};
pub use registries::{of_lock_files, of_remote};
pub use serve::{Limits, Proxy};
