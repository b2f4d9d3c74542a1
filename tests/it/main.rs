//! The integration tests, as one binary: linking is what costs.

mod architecture;
