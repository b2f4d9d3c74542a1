//! Logins of the web page: a cookie, and a second half that the page sends with each request.
//!
//! A browser sends a cookie to every port of a host, so another server on this machine sees it. The second half is kept
//! in the storage of the page's origin, which includes the port; a cookie alone is worth nothing. Both are signed, not
//! stored, so a login with a named token outlives the server.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::tokens::{TokenHash, fresh_token};
use crate::base::{Fault, Secret};

/// The name of the cookie.
pub const COOKIE: &str = "mxd_page";
/// The header with the second half.
pub const PAGE_HEADER: &str = "x-mxd-page";

/// Both halves of a login.
pub struct Login {
    pub cookie: Secret,
    pub page: Secret,
}

/// Signs and verifies logins.
pub struct Signer {
    key: [u8; 32],
}

impl Signer {
    pub fn new(secret: &Secret) -> Self {
        Self { key: *blake3::hash(secret.expose().as_bytes()).as_bytes() }
    }

    /// Logs in the holder of a token.
    pub fn login(&self, token: TokenHash) -> Result<Login, Fault> {
        let nonce = fresh_token()?;
        let subject = format!("{token}.{}", nonce.expose());
        let cookie = Secret::new(format!("{subject}.{}", self.sign("cookie", &subject).to_hex()));
        let page = URL_SAFE_NO_PAD.encode(self.sign("page", &subject).as_bytes());
        Ok(Login { cookie, page: Secret::new(page) })
    }

    /// Returns the token with which a login was made, or `None` if one of its halves is wrong.
    pub fn verify(&self, cookie: &str, page: &str) -> Option<TokenHash> {
        let (subject, signature) = cookie.rsplit_once('.')?;
        // Hashes are compared in constant time.
        let is_cookie = blake3::Hash::from_hex(signature).is_ok_and(|given| given == self.sign("cookie", subject));
        let given: [u8; 32] = URL_SAFE_NO_PAD.decode(page).ok()?.try_into().ok()?;
        let is_page = blake3::Hash::from_bytes(given) == self.sign("page", subject);
        let (token, _) = subject.split_once('.')?;
        TokenHash::from_hex(token).filter(|_| is_cookie && is_page)
    }

    fn sign(&self, half: &str, subject: &str) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(half.as_bytes()).update(b"\0").update(subject.as_bytes());
        hasher.finalize()
    }
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
