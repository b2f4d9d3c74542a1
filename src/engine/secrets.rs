//! Finds the credentials in the settings, so that they can be masked wherever they appear.

use crate::base::{Secret, known_secrets, secret_shape};
use crate::config::{Merged, ServerState};
use crate::process;
use crate::tools::mcp;

/// A warning for users who run agents as root.
pub const ROOT_WARNING: &str = "This program runs as root, so agents' commands can read your API key from its memory. Run it \
                                as an ordinary user, also in containers.";

/// Returns true if commands of agents could read an API key from this process.
pub fn are_exposed(merged: &Merged) -> bool {
    process::is_root() && merged.settings.auth_groups.values().any(|group| group.api_key.is_some())
}

/// Registers the keys in the settings. They are masked from then on.
pub fn remember(merged: &Merged) {
    let groups = merged.settings.auth_groups.values();
    let keys = groups.clone().filter_map(|group| group.api_key.as_ref()).map(Secret::expose).map(str::to_owned);
    let addresses = groups.filter_map(|group| group.base_url.as_ref());
    let addresses = addresses.filter(|address| secret_shape::holds_credential(address.expose()));
    // Entries that wait for the user's decision are shown in full.
    let decided = merged.servers.iter().filter(|server| !matches!(server.state, ServerState::NeedsApproval { .. }));
    let servers = decided.flat_map(|server| mcp::keys_of(&server.server));
    known_secrets::remember(keys.chain(addresses.flat_map(|url| mcp::keys_of_address(url.expose()))).chain(servers));
}
