//! What this process does so that its children cannot look into it, and whether that helps.

/// Tells whether this process runs as root, whose children can look into every other process.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Forbids other processes of the same user to read this one's memory and environment, where API keys are.
/// Best effort: a child that runs as root still can, and not every system has the switch.
pub fn hide_own_memory() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable) {
        tracing::warn!(%error, "this process could not be hidden from its children");
    }
}
