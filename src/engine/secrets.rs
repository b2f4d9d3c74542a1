//! Which values of the settings are credentials, so that they can be masked wherever they appear.

use crate::base::{Secret, known_secrets, secret_shape};
use crate::config::{Merged, ServerState};
use crate::process;
use crate::tools::mcp;

/// What a user who runs agents as root should know.
pub const ROOT_WARNING: &str = "agents' commands can read your API key from memory, because this program runs as root; run it \
                                as an ordinary user, in containers too";

/// Tells whether the commands of agents could read a key out of this process.
pub fn are_exposed(merged: &Merged) -> bool {
    process::is_root() && merged.settings.auth_groups.values().any(|group| group.api_key.is_some())
}

/// Makes the keys in the settings known to this process. They are masked from then on.
pub fn remember(merged: &Merged) {
    let groups = merged.settings.auth_groups.values();
    let keys = groups.clone().filter_map(|group| group.api_key.as_ref()).map(Secret::expose).map(str::to_owned);
    let addresses = groups.filter_map(|group| group.base_url.as_ref());
    let addresses = addresses.filter(|address| secret_shape::holds_credential(address.expose()));
    // What a repository asks for is shown in full until the user has decided about it.
    let decided = merged.servers.iter().filter(|server| !matches!(server.state, ServerState::NeedsApproval { .. }));
    let servers = decided.flat_map(|server| mcp::keys_of(&server.server));
    known_secrets::remember(keys.chain(addresses.flat_map(|url| mcp::keys_of_address(url.expose()))).chain(servers));
}
