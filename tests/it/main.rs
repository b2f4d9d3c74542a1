//! The integration tests, as one binary: linking is what costs.

mod architecture;
mod cli_check;
mod cli_config;
mod cli_init;
mod cli_inspect;
mod cli_pages;
mod cli_support;
