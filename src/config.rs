//! Settings: which keys exist, how three files and the environment become one answer, and who may set what.
//!
//! Every key is declared once, in [`table`]; checking, suggestions, help, documentation and defaults read it. The
//! room works on text: it parses, merges, shows and edits, and [`paths`] says where files live; reading and writing
//! them is done by others. Invariants: a secret is never shown; a file that is not understood is never rewritten;
//! a repository's file can neither reach a credential or a host nor make anything run.

pub mod edit;
pub mod environment;
pub mod key_path;
pub mod layer;
pub mod mask;
pub mod merge;
pub mod paths;
pub mod problem;
pub mod profile;
pub mod read;
pub mod recurring;
pub mod reference;
pub mod schema;
pub mod secret_places;
pub mod settings;
pub mod setup_hook;
pub mod show;
pub mod table;
pub mod trust;

mod document;
mod validate;

pub use edit::{Edit, EditError};
pub use environment::Environment;
pub use key_path::KeyPath;
pub use layer::{Layer, Origin};
pub use mask::holds_secret;
pub use merge::{Merged, merge};
pub use paths::{Home, ProjectFolder, RepoFiles};
pub use problem::{Place, Problem, Severity, Trouble};
pub use profile::Profile;
pub use read::LayerFile;
pub use reference::{reference, summary};
pub use schema::schema;
pub use settings::Settings;
pub use show::{SettingRow, Shown};
pub use table::{KEYS, Nowhere};
pub use trust::{Server, ServerState};
