//! Who may do what: the token of this start, the named tokens of the file, logins of the page, and one-time links.

use std::net::IpAddr;
use std::os::unix::fs::MetadataExt as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::rate_limit::WrongTokens;
use super::scope::Scope;
use super::session::{Login, Signer};
use super::tokens::{NamedToken, TokenFile, TokenHash, TokenTable, fresh_token};
use crate::base::{Clock, Fault, ProjectId, Secret};

/// How often the file of tokens is looked at while nobody sends a request.
const WATCH_INTERVAL: Duration = Duration::from_secs(1);
/// How long a link can be opened.
const TICKET_LIFE: Duration = Duration::from_secs(10 * 60);
/// How many links may wait to be opened.
const MAX_TICKETS: usize = 64;

/// Who sent a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// The name of the token.
    pub name: String,
    pub token: TokenHash,
    /// `None` for the token of this start, which may do everything.
    named: Option<NamedToken>,
}

impl Client {
    pub fn may(&self, scope: Scope) -> bool {
        self.named.as_ref().is_none_or(|token| token.scopes.contains(&scope) || token.scopes.contains(&Scope::Admin))
    }

    pub fn reaches(&self, project: ProjectId) -> bool {
        let projects = self.named.as_ref().and_then(|token| token.projects.as_ref());
        projects.is_none_or(|projects| projects.contains(&project))
    }

    /// Returns the name that other clients see. The page on this machine uses the token of the start.
    pub fn shown_name(&self) -> String {
        if self.named.is_some() { self.name.clone() } else { "browser".to_owned() }
    }

    /// Returns its scopes, for the page.
    pub fn scopes(&self) -> Vec<Scope> {
        Scope::ALL.into_iter().filter(|scope| self.may(*scope)).collect()
    }
}

pub struct Access {
    start: TokenHash,
    file: TokenFile,
    clock: Arc<dyn Clock>,
    signer: Signer,
    table: Mutex<LoadedTable>,
    /// Changes when the file was read anew, or a token has expired.
    changed: watch::Sender<u64>,
    wrong: Mutex<WrongTokens>,
    tickets: Mutex<Vec<Ticket>>,
}

/// The file as it was read last.
struct LoadedTable {
    stamp: Option<Stamp>,
    table: TokenTable,
}

/// Tells apart the versions of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

struct Ticket {
    hash: TokenHash,
    /// The token that it logs in.
    token: TokenHash,
    until: Instant,
}

impl Access {
    pub fn open(file: TokenFile, start: &Secret, clock: Arc<dyn Clock>) -> Result<Arc<Self>, Fault> {
        let signer = Signer::new(&file.page_key()?);
        let table = LoadedTable { stamp: stamp(&file), table: file.load()? };
        let (changed, _) = watch::channel(0);
        Ok(Arc::new(Self {
            start: TokenHash::of(start.expose()),
            file,
            clock,
            signer,
            table: Mutex::new(table),
            changed,
            wrong: Mutex::default(),
            tickets: Mutex::default(),
        }))
    }

    /// Notices changes of the file and tokens that expire, for streams that are open.
    pub async fn watch_file(self: Arc<Self>) {
        let mut valid = self.valid_tokens();
        let weak = Arc::downgrade(&self);
        drop(self);
        loop {
            tokio::time::sleep(WATCH_INTERVAL).await;
            let Some(access) = weak.upgrade() else { return };
            // A file that has changed is read, which also counts: a token that is made and revoked between two looks
            // leaves the same valid ones.
            let now = access.valid_tokens();
            if now != valid {
                access.changed.send_modify(|count| *count += 1);
                valid = now;
            }
        }
    }

    fn valid_tokens(&self) -> Vec<TokenHash> {
        let now = self.clock.now();
        self.tokens().table.tokens.iter().filter(|token| !token.is_expired(now)).map(|token| token.hash).collect()
    }

    /// Returns the tokens of the file as it is now. A file that cannot be read has no tokens.
    fn tokens(&self) -> MutexGuard<'_, LoadedTable> {
        let mut loaded = lock(&self.table);
        let found = stamp(&self.file);
        if found != loaded.stamp {
            loaded.table = self.file.load().unwrap_or_else(|fault| {
                tracing::error!(%fault, "the tokens cannot be read; none is valid");
                TokenTable::default()
            });
            loaded.stamp = found;
            self.changed.send_modify(|count| *count += 1);
        }
        loaded
    }

    /// Returns the holder of a token.
    pub fn client_with_token(&self, token: &str) -> Option<Client> {
        self.client_with_hash(TokenHash::of(token))
    }

    /// Returns the holder of the token with this hash. Every token is compared, in constant time.
    pub fn client_with_hash(&self, hash: TokenHash) -> Option<Client> {
        let now = self.clock.now();
        let start = (hash == self.start).then(|| Client { name: "start".to_owned(), token: self.start, named: None });
        let loaded = self.tokens();
        let named = loaded.table.tokens.iter().fold(None, |found, token| {
            let is_it = token.hash == hash;
            found.or_else(|| (is_it && !token.is_expired(now)).then(|| token.clone()))
        });
        start.or_else(|| named.map(|token| Client { name: token.name.clone(), token: hash, named: Some(token) }))
    }

    /// Returns the holder of a token by its name.
    pub fn client_with_name(&self, name: &str) -> Option<Client> {
        let token = self.tokens().table.tokens.iter().find(|token| token.name == name).map(|token| token.hash)?;
        self.client_with_hash(token)
    }

    /// Returns true if a client may go on as it is.
    pub fn is_current(&self, client: &Client) -> bool {
        self.client_with_hash(client.token).as_ref() == Some(client)
    }

    /// Changes when some token may not be valid any more.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Returns the client that logged in with the page.
    pub fn client_with_login(&self, cookie: &str, page: &str) -> Option<Client> {
        self.client_with_hash(self.signer.verify(cookie, page)?)
    }

    pub fn login(&self, client: &Client) -> Result<Login, Fault> {
        self.signer.login(client.token)
    }

    pub fn ticket_of_start_token(&self) -> Result<Secret, Fault> {
        self.ticket(self.start)
    }

    /// Returns a ticket that logs in the holder of a token once.
    pub fn ticket(&self, token: TokenHash) -> Result<Secret, Fault> {
        let (ticket, now) = (fresh_token()?, Instant::now());
        let mut tickets = lock(&self.tickets);
        tickets.retain(|ticket| ticket.until > now);
        if tickets.len() >= MAX_TICKETS {
            tickets.remove(0);
        }
        tickets.push(Ticket { hash: TokenHash::of(ticket.expose()), token, until: now + TICKET_LIFE });
        Ok(ticket)
    }

    /// Uses up a ticket and logs in the holder of its token.
    pub fn redeem(&self, ticket: &str) -> Result<Option<Login>, Fault> {
        let (hash, now) = (TokenHash::of(ticket), Instant::now());
        let mut tickets = lock(&self.tickets);
        let Some(at) = tickets.iter().position(|ticket| ticket.hash == hash && ticket.until > now) else {
            return Ok(None);
        };
        let token = tickets.remove(at).token;
        drop(tickets);
        self.client_with_hash(token).map(|client| self.login(&client)).transpose()
    }

    /// Returns how long a peer has to wait because of wrong tokens.
    pub fn wait(&self, peer: IpAddr) -> Option<Duration> {
        lock(&self.wrong).wait(peer, Instant::now())
    }

    pub fn record_wrong_token(&self, peer: IpAddr) {
        lock(&self.wrong).record(peer, Instant::now());
    }
}

fn stamp(file: &TokenFile) -> Option<Stamp> {
    let found = std::fs::metadata(file.path()).ok()?;
    Some(Stamp { inode: found.ino(), size: found.size(), modified: (found.mtime(), found.mtime_nsec()) })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "access_tests.rs"]
mod tests;
