//! What the integration tests share.

#[cfg(test)]
#[allow(dead_code, unused_imports, reason = "each test takes what it needs")]
pub mod agent_fixture;
#[cfg(test)]
pub mod dice;
#[cfg(test)]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub mod meddler;
#[allow(dead_code, unused_imports, reason = "each test takes what it needs")]
pub mod mock;
#[cfg(test)]
pub mod scratch;
#[cfg(test)]
pub mod sim_disk;
#[cfg(test)]
#[cfg(target_os = "linux")]
pub mod sshd;
#[cfg(test)]
pub mod store;
