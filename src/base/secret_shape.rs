//! Recognises credentials by their form, where neither their name nor their value is known.
//!
//! Used for masking displayed text and for filtering the environment of agents' processes. The rules match forms that
//! are nearly always credentials; ordinary paths, addresses and words do not match.

/// The prefixes of well-known credentials.
const TOKEN_PREFIXES: [&str; 17] = [
    "sk-",
    "sk_live_",
    "rk_live_",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "npm_",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "AIza",
    "hf_",
    "pypi-",
    "eyJhbGci",
];
/// The shortest word that counts as one of them.
const SHORTEST_TOKEN: usize = 16;
/// A user name of this length in an address is a token.
const LONG_USER: usize = 20;
/// Hosts and paths of addresses that are credentials by themselves.
const WEBHOOKS: [&str; 7] = [
    "hooks.slack.com/",
    "discord.com/api/webhooks/",
    "discordapp.com/api/webhooks/",
    ".webhook.office.com/",
    "outlook.office.com/webhook/",
    "chat.googleapis.com/v1/spaces/",
    "api.telegram.org/bot",
];
/// Names of fields in connection strings, and of parameters in addresses, whose values are credentials.
const FIELDS: [&str; 17] = [
    "password",
    "passwd",
    "pwd",
    "pass",
    "accountkey",
    "sharedaccesskey",
    "sharedaccesssignature",
    "secret",
    "clientsecret",
    "client_secret",
    "token",
    "access_token",
    "auth_token",
    "apikey",
    "api_key",
    "sig",
    "signature",
];
/// The schemes before a credential in the value of a header.
const SCHEMES: [&str; 3] = ["bearer ", "basic ", "token "];

/// Returns true if a word starts like a well-known credential.
pub fn has_token_prefix(word: &str) -> bool {
    word.len() >= SHORTEST_TOKEN && TOKEN_PREFIXES.iter().any(|start| word.starts_with(start))
}

/// Returns true if a value contains a credential: an address with a password or a token, a webhook, a connection
/// string, a private key, an authorization header, or a well-known kind of token.
pub fn holds_credential(value: &str) -> bool {
    value.contains("PRIVATE KEY-----")
        || WEBHOOKS.iter().any(|webhook| value.contains(webhook))
        || value.split("://").skip(1).any(has_login)
        || is_database_login(value)
        || has_secret_field(value)
        || is_authorization(value)
        || value.split(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c))).any(has_token_prefix)
}

/// Returns true if a value is a login before a host, without a scheme: `user:password@host`. Only valid for variables
/// that name a proxy.
pub fn is_bare_login(value: &str) -> bool {
    let authority = value.split(['/', '?', '#']).next().unwrap_or_default();
    let login = authority.rsplit_once('@').map(|(login, _)| login);
    login.and_then(|login| login.split_once(':')).is_some_and(|(_, password)| !password.is_empty())
}

/// Returns true if the part of an address after its scheme starts with a password or a token.
fn has_login(rest: &str) -> bool {
    let authority = rest.split(|c: char| c.is_whitespace() || "/?#".contains(c)).next().unwrap_or_default();
    let Some((login, _)) = authority.rsplit_once('@') else { return false };
    match login.split_once(':') {
        Some((_, password)) => !password.is_empty(),
        None => login.len() >= LONG_USER,
    }
}

/// Returns true if a value is `user:password@tcp(host)/name`, the form that database drivers take.
fn is_database_login(value: &str) -> bool {
    ["@tcp(", "@unix(", "@tcp6("].iter().any(|host| {
        let login = value.split_once(host).map(|(login, _)| login);
        login.and_then(|login| login.split_once(':')).is_some_and(|(_, password)| !password.is_empty())
    })
}

/// Returns true if a value has `password=x` or similar among its fields or parameters. A single word never counts.
fn has_secret_field(value: &str) -> bool {
    let fields = value.split(|c: char| c.is_whitespace() || ";?&#,".contains(c));
    let secret = |field: &str| {
        let Some((name, value)) = field.split_once('=') else { return false };
        let name = name.trim().to_ascii_lowercase();
        let value = value.trim_matches(['"', '\'']);
        let refers = value.starts_with('$') || value.starts_with('/') || value.starts_with('%');
        FIELDS.contains(&name.as_str()) && value.len() >= 4 && !refers
    };
    // Options such as `-Dtoken=x` have other names than the list; only `FOO="password=x"` is meant.
    fields.clone().count() > 1 && fields.into_iter().any(secret)
}

/// Returns true if a value is `Bearer x`, with or without the name of the header.
fn is_authorization(value: &str) -> bool {
    let lower = value.trim().to_ascii_lowercase();
    let lower = lower.strip_prefix("authorization:").map_or(lower.as_str(), str::trim_start);
    let credential = SCHEMES.iter().find_map(|scheme| lower.strip_prefix(scheme));
    credential.is_some_and(|credential| credential.len() >= 8 && !credential.trim().contains(char::is_whitespace))
}

#[cfg(test)]
#[path = "secret_shape_tests.rs"]
mod tests;
