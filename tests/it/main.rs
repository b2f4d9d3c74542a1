//! The integration tests, as one binary: linking is what costs.

mod architecture;
mod tools_bash;
mod tools_docs;
mod tools_files;
mod tools_hygiene;
mod tools_path;
mod tools_search;
mod tools_support;
