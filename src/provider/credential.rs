//! Credentials: the address of an endpoint and the key for it.

use reqwest::Url;

use crate::base::Secret;
use crate::config::{KeyPath, environment};
use crate::model::conversation::Wire;
use crate::provider::catalogue::key_argument;

/// Address and key of one endpoint. Debug output masks the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    /// The name of the group in the settings. Rate limits are shared within a group.
    pub group: String,
    pub wire: Wire,
    /// With or without a version and trailing slashes. Empty means the vendor's default.
    pub base_url: String,
    /// `None` for servers without authentication.
    pub api_key: Option<Secret>,
}

/// Returns the command that sets the key of a credential group, or `None` if its key comes from the environment.
pub fn set_key_command(group: &str) -> Option<String> {
    let key = KeyPath::top("authGroups").child(group).child("apiKey");
    (!environment::is_implicit(group)).then(|| format!("mxd config set --global {} KEY", key_argument(&key)))
}

/// A path of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    Respond,
    CountTokens,
    Models,
}

/// A base URL that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid base URL \"{url}\" of credential group \"{group}\": {problem}")]
pub struct InvalidBaseUrl {
    group: String,
    url: String,
    problem: String,
}

impl Credential {
    /// Returns the address of `route`. A base URL without a version gets `/v1`.
    pub fn url(&self, route: Route) -> Result<Url, InvalidBaseUrl> {
        let invalid = |problem: String| InvalidBaseUrl {
            group: self.group.clone(),
            // The part before an @ may be a password.
            url: self.base_url.rsplit('@').next().unwrap_or_default().to_owned(),
            problem,
        };
        let base = match (self.base_url.trim(), self.wire) {
            ("", Wire::Anthropic) => "https://api.anthropic.com",
            ("", Wire::OpenaiResponses | Wire::OpenaiChat) => "https://api.openai.com",
            ("", Wire::Scripted) => return Err(invalid("a scripted provider has no address".to_owned())),
            (base, _) => base,
        };
        let mut url = Url::parse(base).map_err(|problem| invalid(format!("{problem}; it must start with https://")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(invalid("it must start with https:// or http://".to_owned()));
        }
        let mut path: Vec<String> = url.path().split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        // Users paste full addresses of endpoints.
        for pasted in [&["chat", "completions"][..], &["messages"], &["responses"], &["models"]] {
            if path.ends_with(&pasted.iter().map(|part| (*part).to_owned()).collect::<Vec<_>>()) {
                path.truncate(path.len() - pasted.len());
                break;
            }
        }
        if !path.iter().any(|part| is_version(part)) {
            path.push("v1".to_owned());
        }
        let route = match (route, self.wire) {
            (Route::Respond, Wire::Anthropic) => "messages",
            (Route::Respond, Wire::OpenaiResponses) => "responses",
            (Route::Respond, Wire::OpenaiChat | Wire::Scripted) => "chat/completions",
            (Route::CountTokens, _) => "messages/count_tokens",
            (Route::Models, _) => "models",
        };
        url.set_path(&format!("{}/{route}", path.join("/")));
        url.set_query(None);
        url.set_fragment(None);
        Ok(url)
    }
}

/// Returns true if a path segment is a version, such as `v1` or `v1beta`.
fn is_version(part: &str) -> bool {
    part.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
#[path = "credential_tests.rs"]
mod tests;
