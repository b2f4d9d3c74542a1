//! The integration tests, in one binary for link time.

mod tools_bash;
mod tools_docs;
mod tools_files;
mod tools_hygiene;
mod tools_path;
mod tools_search;
mod tools_support;
