//! The integration tests, as one binary: linking is what costs.

mod support;

#[cfg(test)]
mod agent_simulation;
#[cfg(test)]
mod architecture;
#[cfg(test)]
mod mock_validator;
