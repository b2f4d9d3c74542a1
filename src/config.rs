//! Settings: the table of keys, and how three files and the environment are merged into effective values.
//!
//! Every key is declared once, in [`table`]; validation, suggestions, help, documentation and defaults read it. The
//! module works on text: it parses, merges, prints and edits. It does not read or write files; [`paths`] only names
//! them. Invariants: a secret is never printed; a file that cannot be parsed is never rewritten; a repository's file
//! cannot set credentials or hosts, and cannot run anything.

pub mod edit;
pub mod environment;
pub mod front_matter;
pub mod hooks;
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
pub mod yaml;

mod document;
mod validate;

pub use edit::{EditError, SettingsEdit};
pub use environment::Environment;
pub use hooks::{HookDefinition, HookHandler};
pub use key_path::KeyPath;
pub use layer::{Layer, Origin};
pub use mask::holds_secret;
pub use merge::{Merged, merge};
pub use paths::{Home, ProjectFolder, RepoFiles};
pub use problem::{FileLocation, Problem, ProblemKind, Severity};
pub use profile::Profile;
pub use read::LayerFile;
pub use reference::{reference, summary};
pub use schema::schema;
pub use settings::Settings;
pub use show::{MaskedSetting, SettingRow};
pub use table::{KEYS, PathError};
pub use trust::{Server, ServerState};
