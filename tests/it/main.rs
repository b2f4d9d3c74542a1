//! The integration tests, as one binary: linking is what costs.

mod support;

#[cfg(test)]
mod agent_simulation;
#[cfg(test)]
mod architecture;
mod cli_check;
mod cli_config;
mod cli_init;
mod cli_inspect;
mod cli_pages;
mod cli_support;
#[cfg(test)]
mod mock_validator;
#[cfg(test)]
mod tools_bash;
#[cfg(test)]
mod tools_docs;
#[cfg(test)]
mod tools_files;
#[cfg(test)]
mod tools_hygiene;
#[cfg(test)]
mod tools_path;
#[cfg(test)]
mod tools_search;
#[cfg(test)]
mod tools_support;
