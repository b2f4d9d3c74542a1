//! Protects the memory of this process from its children.

/// Returns true if this process runs as root, whose children can read every other process.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Forbids other processes of the same user to read this one's memory and environment, which hold API keys. Best
/// effort: a child that runs as root still can, and not every system supports it.
pub fn hide_own_memory() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable) {
        tracing::warn!(%error, "cannot hide the memory of this process from its children");
    }
}
