//! What the tests of this binary share: a world to run in, a terminal to look at, and what its bytes did.

pub mod bytes;
pub mod keys;
pub mod picture;
pub mod product;
pub mod session;
pub mod settings;
pub mod shell;
#[cfg(target_os = "linux")]
#[path = "../it/support/sshd.rs"]
pub mod sshd;
pub mod svg;
pub mod world;

pub use session::{Ended, Session};
pub use world::World;
