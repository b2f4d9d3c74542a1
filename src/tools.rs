pub mod names;
mod reply;
pub use reply::{Control, Reply};
