//! The remotes of a repository.

use super::program::Checkout;

/// Returns the addresses of all remotes, for fetching and for pushing. Empty if the repository cannot be read.
pub fn remote_addresses(checkout: &Checkout) -> Vec<String> {
    let Ok(repository) = checkout.open() else { return Vec::new() };
    let Ok(names) = repository.remotes() else { return Vec::new() };
    let mut addresses = Vec::new();
    for name in names.iter().filter_map(|name| name.ok().flatten()) {
        let Ok(remote) = repository.find_remote(name) else { continue };
        let both = [Some(remote.url_bytes()), remote.pushurl_bytes()];
        let texts = both.into_iter().flatten().filter_map(|address| std::str::from_utf8(address).ok());
        addresses.extend(texts.filter(|address| !address.is_empty()).map(str::to_owned));
    }
    addresses
}
