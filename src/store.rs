//! Every disk format lives here: session logs, the tree file, the project registry, blobs, locks.
//!
//! The room promises one thing: what it acknowledged is on the disk, and what is on the disk is found again, whatever
//! happened in between. It stamps and it keeps; it decides nothing. All file access goes through [`disk::Disk`], so
//! that tests can fail or crash any single call.

pub mod blobs;
pub mod chain;
pub mod check;
pub mod digest;
pub mod disk;
pub mod files;
pub mod fork;
pub mod line;
pub mod lock;
pub mod log;
pub mod mark;
pub mod private;
pub mod registry;
pub mod replace;
pub mod repository_mark;
pub mod scan;
pub mod session;
pub mod tail;
pub mod tree_file;
pub mod unused;
pub mod writer;

mod error;

pub use blobs::Blobs;
pub use digest::Digests;
pub use disk::{Disk, RealDisk};
pub use error::StoreError;
pub use lock::EngineLock;
pub use session::{Active, Cursor, Page, Sessions};
pub use writer::{Durability, Store};
