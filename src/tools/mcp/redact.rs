//! Removes the secrets of a server's entry from all texts.
//!
//! A server may print its token, and an HTTP error names the URL. The values are known here, so they are removed
//! exactly; text that only looks like a credential is handled by the rule of `config`.

use std::borrow::Cow;

use reqwest::Url;

use crate::base::{Secret, secret_shape};
use crate::config::mask;
use crate::config::settings::{McpServer, Transport};
use crate::process::environment;

const HIDDEN: &str = "****";
/// Shorter values are ordinary words: masking them would garble a message and protect nothing.
const SHORTEST: usize = 6;
/// A path segment of this length is more often a token than a name.
const TOKEN_LIKE: usize = 20;

/// The secrets of one server.
pub(super) struct Redactor {
    /// All private values of the entry. Longest first, so that a secret within another one does not leave the rest of
    /// it visible.
    private: Vec<String>,
    /// The values that are certainly keys. Other variables may be, for example, a folder that a result is about.
    keys: Vec<String>,
}

impl Redactor {
    pub(super) fn new(server: &McpServer) -> Self {
        let (mut private, mut keys) = (Vec::new(), Vec::new());
        match &server.transport {
            Transport::Stdio { env, .. } => {
                private.extend(env.values().map(|value| value.expose().to_owned()));
                let named_so = env.iter().filter(|(name, _)| environment::is_secret(name));
                keys.extend(named_so.map(|(_, value)| value.expose().to_owned()));
            }
            Transport::Http { url, headers } => {
                for value in headers.values().map(|value| value.expose().trim()) {
                    keys.push(value.to_owned());
                    // "Bearer x": the second word alone is the secret.
                    keys.extend(value.split_whitespace().skip(1).map(str::to_owned));
                }
                keys.extend(of_address(url.expose()));
                private.clone_from(&keys);
            }
        }
        Self { private: in_order(private), keys: in_order(keys) }
    }

    /// Returns `text` without secrets and without anything that looks like one.
    pub(super) fn clean(&self, text: &str) -> String {
        mask::scrub(&without(&self.private, text))
    }

    /// Returns `text` without the keys of the entry. Everything else stays: a result is data, and text that looks
    /// like a credential may be the requested content.
    pub(super) fn without_keys<'a>(&self, text: &'a str) -> Cow<'a, str> {
        without(&self.keys, text)
    }
}

/// Returns the values of a server's entry that are always credentials.
pub fn keys_of(server: &McpServer) -> Vec<String> {
    match &server.transport {
        Transport::Stdio { env, .. } => {
            let secret = |(name, value): &(&String, &Secret)| {
                environment::is_secret(name) || secret_shape::holds_credential(value.expose())
            };
            env.iter().filter(secret).map(|(_, value)| value.expose().to_owned()).collect()
        }
        Transport::Http { url, headers } => {
            let telling =
                |name: &str| environment::is_secret(&name.replace('-', "_")) || name.eq_ignore_ascii_case("cookie");
            let secret = |(name, value): &(&String, &Secret)| {
                telling(name)
                    || name.eq_ignore_ascii_case("authorization")
                    || secret_shape::holds_credential(value.expose())
            };
            // "Bearer x": the second word alone is the secret.
            let words = headers.iter().filter(secret).filter_map(|(_, value)| value.expose().split_whitespace().last());
            words.map(str::to_owned).chain(keys_of_address(url.expose())).collect()
        }
    }
}

/// Returns the parts of an address that are credentials: its password, and long parts of its path and parameters.
pub fn keys_of_address(address: &str) -> Vec<String> {
    let Ok(url) = Url::parse(address) else { return Vec::new() };
    let mut keys: Vec<String> = url.password().map(str::to_owned).into_iter().collect();
    let parameters = url.query_pairs().into_owned();
    let secret = |(name, value): &(String, String)| environment::is_secret(name) || value.len() >= TOKEN_LIKE;
    let parameters: Vec<String> = parameters.filter(secret).map(|(_, value)| value).collect();
    let written = url.query().unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
    let written = written.filter(|(name, value)| secret(&((*name).to_owned(), (*value).to_owned())));
    keys.extend(written.map(|(_, value)| value.to_owned()));
    keys.extend(parameters);
    keys.extend(Some(url.username()).filter(|user| user.len() >= TOKEN_LIKE).map(str::to_owned));
    let parts = url.path_segments().into_iter().flatten();
    keys.extend(parts.filter(|part| part.len() >= TOKEN_LIKE).map(str::to_owned));
    keys
}

fn in_order(mut secrets: Vec<String>) -> Vec<String> {
    secrets.retain(|secret| secret.len() >= SHORTEST);
    secrets.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    secrets.dedup();
    secrets
}

fn without<'a>(secrets: &[String], text: &'a str) -> Cow<'a, str> {
    let mut text = Cow::Borrowed(text);
    for secret in secrets.iter().filter(|secret| !HIDDEN.contains(secret.as_str())) {
        if text.contains(secret.as_str()) {
            text = text.replace(secret.as_str(), HIDDEN).into();
        }
    }
    text
}

fn of_address(address: &str) -> Vec<String> {
    let Ok(url) = Url::parse(address) else { return vec![address.to_owned()] };
    let mut secrets = vec![url.username().to_owned()];
    secrets.extend(url.password().map(str::to_owned));
    // Encoded and decoded: a server may repeat either.
    let written = url.query().unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
    secrets.extend(written.map(|(_, value)| value.to_owned()));
    secrets.extend(url.query_pairs().map(|(_, value)| value.into_owned()));
    let parts = url.path_segments().into_iter().flatten();
    secrets.extend(parts.filter(|part| part.len() >= TOKEN_LIKE).map(str::to_owned));
    secrets
}

#[cfg(test)]
#[path = "redact_tests.rs"]
mod tests;
