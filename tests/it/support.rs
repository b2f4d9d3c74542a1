//! What several tests stand on.

pub mod sim_disk;
pub mod store;
