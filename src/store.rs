//! The disk formats: session logs, the tree file, the project registry, blobs, locks.
//!
//! Guarantee: acknowledged data is on the disk and can be read after any crash. The store stamps and saves events; it
//! makes no decisions about them. All file access goes through [`disk::Disk`], so that tests can fail or crash any
//! single call.

pub mod blob_gc;
pub mod blobs;
pub mod chain;
pub mod check;
pub mod cursor;
pub mod disk;
pub mod files;
pub mod fork;
pub mod line;
pub mod lock;
pub mod log;
pub mod permissions;
pub mod registry;
pub mod replace;
pub mod repository_owners;
pub mod scan;
pub mod session;
pub mod state_cache;
pub mod tail;
pub mod tree_file;
pub mod writer;

mod error;

pub use blobs::Blobs;
pub use disk::{Disk, RealDisk};
pub use error::StoreError;
pub use lock::EngineLock;
pub use session::{ActiveSession, Cursor, Page, Sessions};
pub use state_cache::StateCache;
pub use writer::{Durability, Store};
