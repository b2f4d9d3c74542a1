//! Integration tests, in one binary for the sake of link time.

mod support;

#[cfg(test)]
mod mock_validator;
