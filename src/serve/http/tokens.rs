//! Named tokens: their scopes, projects and expiry in one file, with only the hash of each token.
//!
//! The file is changed under a lock and replaced atomically, by `mxd serve token` and by servers. It also has the key
//! that signs logins of the web page. A running server notices a change within a second.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::scope::Scope;
use crate::base::{Fault, ProjectId, Secret, Timestamp};
use crate::config::paths::Home;
use crate::store::files::VersionedFile;
use crate::store::{RealDisk, lock};

/// The format that this program writes.
const VERSION: u64 = 1;
/// How many bytes of randomness a token has.
const TOKEN_BYTES: usize = 32;
/// The start of every token, by which scanners of leaked secrets recognise it.
const PREFIX: &str = "mxd_";
const MAX_NAME: usize = 40;

/// The hash of a token. Its comparison takes the same time for all values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TokenHash(blake3::Hash);

impl TokenHash {
    pub fn of(token: &str) -> Self {
        Self(blake3::hash(token.as_bytes()))
    }

    pub(super) fn from_hex(hex: &str) -> Option<Self> {
        blake3::Hash::from_hex(hex).ok().map(Self)
    }
}

impl fmt::Display for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.to_hex().as_str())
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenHash({self})")
    }
}

impl Serialize for TokenHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TokenHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let hex = String::deserialize(deserializer)?;
        Self::from_hex(&hex).ok_or_else(|| serde::de::Error::custom("not a hash in hex"))
    }
}

/// A token with a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedToken {
    pub name: String,
    pub hash: TokenHash,
    pub scopes: BTreeSet<Scope>,
    /// The projects that it reaches. `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub projects: Option<Vec<ProjectId>>,
    pub created: Timestamp,
    /// `None` if it does not expire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
}

impl NamedToken {
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }
}

/// What a new token may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRequest {
    pub name: String,
    pub scopes: BTreeSet<Scope>,
    pub projects: Option<Vec<ProjectId>>,
    pub expires: Option<Timestamp>,
}

/// The content of the file.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct TokenTable {
    version: u64,
    /// Signs logins of the page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) page_key: Option<Secret>,
    #[serde(default)]
    pub(super) tokens: Vec<NamedToken>,
}

/// The file with all named tokens of a data folder.
#[derive(Clone)]
pub struct TokenFile {
    file: VersionedFile,
    lock: PathBuf,
}

impl TokenFile {
    pub fn new(home: &Home) -> Self {
        let path = home.tokens();
        Self { lock: path.with_extension("lock"), file: VersionedFile::new(Arc::new(RealDisk), path, VERSION) }
    }

    pub(super) fn path(&self) -> &std::path::Path {
        self.file.path()
    }

    pub(super) fn load(&self) -> Result<TokenTable, Fault> {
        Ok(self.file.load()?.unwrap_or_default())
    }

    /// Returns all tokens, expired ones too, oldest first.
    pub fn list(&self) -> Result<Vec<NamedToken>, Fault> {
        Ok(self.load()?.tokens)
    }

    /// Makes a token. Only its hash is kept.
    pub fn add(&self, request: TokenRequest, now: Timestamp) -> Result<Secret, Fault> {
        let TokenRequest { name, scopes, projects, expires } = request;
        check_name(&name)?;
        if scopes.is_empty() {
            return Err(Fault::user("a token needs at least one scope").hint("for example --scope read,answer,send"));
        }
        let token = fresh_token()?;
        let hash = TokenHash::of(token.expose());
        self.change(|table| {
            if table.tokens.iter().any(|known| known.name == name) {
                return Err(Fault::user(format!("there is a token \"{name}\" already"))
                    .hint(format!("`mxd serve token revoke {name}` removes it")));
            }
            table.tokens.push(NamedToken { name, hash, scopes, projects, created: now, expires });
            Ok(())
        })?;
        Ok(token)
    }

    /// Removes a token. Servers close its streams.
    pub fn revoke(&self, name: &str) -> Result<(), Fault> {
        self.change(|table| {
            let count = table.tokens.len();
            table.tokens.retain(|token| token.name != name);
            if table.tokens.len() == count {
                return Err(Fault::user(format!("there is no token \"{}\"", name.escape_debug()))
                    .hint("`mxd serve token list` shows all"));
            }
            Ok(())
        })
    }

    /// Returns the key that signs logins of the page. Makes it if it is missing.
    pub(super) fn page_key(&self) -> Result<Secret, Fault> {
        let key = fresh_token()?;
        self.change(|table| Ok(table.page_key.get_or_insert(key).clone()))
    }

    fn change<T>(&self, change: impl FnOnce(&mut TokenTable) -> Result<T, Fault>) -> Result<T, Fault> {
        let _guard = lock::exclusive(&self.lock)?;
        let mut table = self.file.load_to_change::<TokenTable>()?.unwrap_or_default();
        let before = table.clone();
        let result = change(&mut table)?;
        if table != before {
            table.version = VERSION;
            self.file.save(&table)?;
        }
        Ok(result)
    }
}

fn check_name(name: &str) -> Result<(), Fault> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(is_word) {
        let problem = format!("\"{}\" is not a name for a token", name.escape_debug());
        return Err(Fault::user(problem).hint(format!("use up to {MAX_NAME} letters, digits, - _ and .")));
    }
    Ok(())
}

/// Returns a new token of 256 random bits.
pub fn fresh_token() -> Result<Secret, Fault> {
    let mut bytes = [0; TOKEN_BYTES];
    let random = rustls::crypto::ring::default_provider().secure_random;
    random.fill(&mut bytes).map_err(|_| Fault::environment("the system has no random numbers"))?;
    Ok(Secret::new(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes))))
}

#[cfg(test)]
#[path = "tokens_tests.rs"]
mod tests;
