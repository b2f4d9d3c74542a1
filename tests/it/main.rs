//! The integration tests, as one binary: linking is what costs.

mod agent_simulation;
mod architecture;
