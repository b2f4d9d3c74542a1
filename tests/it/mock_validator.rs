//! The mock's own tests.
