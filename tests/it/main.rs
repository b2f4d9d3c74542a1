//! The integration tests, as one binary: linking is what costs.

mod support;

#[cfg(test)]
mod advice;
#[cfg(test)]
mod agent_budget;
#[cfg(test)]
mod agent_cut_short;
#[cfg(test)]
mod agent_faults;
#[cfg(test)]
mod agent_fork;
#[cfg(test)]
mod agent_gate;
#[cfg(test)]
mod agent_long_run;
#[cfg(test)]
mod agent_simulation;
#[cfg(test)]
mod agent_trust;
#[cfg(test)]
mod architecture;
#[cfg(test)]
mod cli_check;
#[cfg(test)]
mod cli_config;
#[cfg(test)]
mod cli_docs;
#[cfg(test)]
mod cli_doctor;
#[cfg(test)]
mod cli_gc;
#[cfg(test)]
mod cli_generated;
#[cfg(test)]
mod cli_import;
#[cfg(test)]
mod cli_init;
#[cfg(test)]
mod cli_inspect;
#[cfg(test)]
mod cli_names;
#[cfg(test)]
mod cli_refusals;
#[cfg(test)]
mod cli_search;
#[cfg(test)]
mod cli_support;
#[cfg(test)]
mod engine_backend;
#[cfg(test)]
mod engine_boot;
#[cfg(test)]
mod engine_cli;
#[cfg(test)]
mod engine_costs;
#[cfg(test)]
mod engine_cut_short;
#[cfg(test)]
mod engine_family;
#[cfg(test)]
mod engine_limits;
#[cfg(test)]
mod engine_mcp_servers;
#[cfg(test)]
mod engine_moves;
#[cfg(test)]
mod engine_queries;
#[cfg(test)]
mod engine_recurring;
#[cfg(test)]
mod engine_restore;
#[cfg(test)]
mod engine_run;
#[cfg(test)]
mod engine_serve;
#[cfg(test)]
mod engine_simulation;
#[cfg(test)]
mod engine_support;
#[cfg(test)]
mod engine_work;
#[cfg(test)]
mod engine_worktrees;
#[cfg(test)]
mod git_archive;
#[cfg(test)]
mod git_diff;
#[cfg(test)]
mod git_hooks;
#[cfg(test)]
mod git_links;
#[cfg(test)]
mod git_locks;
#[cfg(test)]
mod git_merge;
#[cfg(test)]
mod git_settings;
#[cfg(test)]
mod git_shadow;
#[cfg(test)]
mod git_snapshot;
#[cfg(test)]
mod git_status;
#[cfg(test)]
mod git_support;
#[cfg(test)]
mod git_torn;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod git_watch;
#[cfg(test)]
mod git_worktrees;
#[cfg(test)]
mod hostile_files;
#[cfg(test)]
mod hostile_repository;
#[cfg(test)]
mod lifecycle_hooks;
#[cfg(test)]
mod mcp_calls;
#[cfg(test)]
mod mcp_cli;
#[cfg(test)]
mod mcp_http;
#[cfg(test)]
mod mcp_pool;
#[cfg(test)]
mod mcp_real;
#[cfg(test)]
mod mcp_server;
#[cfg(test)]
mod mcp_support;
#[cfg(test)]
mod mock_validator;
#[cfg(test)]
mod network_proxy;
#[cfg(test)]
mod outside;
#[cfg(test)]
mod permit_gate;
#[cfg(test)]
mod permit_modes;
#[cfg(test)]
mod permit_oracle;
#[cfg(test)]
mod profiles;
#[cfg(test)]
mod profiles_choice;
#[cfg(test)]
mod profiles_shapes;
#[cfg(test)]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod proof;
#[cfg(test)]
mod serve_http;
#[cfg(test)]
mod store_check;
#[cfg(test)]
mod store_concurrency;
#[cfg(test)]
mod store_crash;
#[cfg(test)]
mod store_damage;
#[cfg(test)]
mod store_digest;
#[cfg(test)]
mod store_earlier_versions;
#[cfg(test)]
mod store_faults;
#[cfg(test)]
mod store_files;
#[cfg(test)]
mod store_lock;
#[cfg(test)]
mod store_replay;
#[cfg(test)]
mod store_torn;
#[cfg(test)]
mod tools_bash;
#[cfg(test)]
mod tools_docs;
#[cfg(test)]
mod tools_files;
#[cfg(test)]
mod tools_hygiene;
#[cfg(test)]
mod tools_order;
#[cfg(test)]
mod tools_path;
#[cfg(test)]
mod tools_search;
#[cfg(test)]
mod tools_support;
