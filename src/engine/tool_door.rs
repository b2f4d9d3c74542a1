//! The door through which outside programs reach our tools: an HTTP address of this machine and a socket.
//!
//! The token is the task. It is random, lives only in memory, and is void when the run that got it ends. A request
//! without a valid token is refused: there is no default. Both doors open when the first program needs them.

mod http;
mod socket;

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::OnceCell;
use tokio_util::task::AbortOnDropHandle;

use crate::base::known_secrets;
use crate::tools::mcp_server::ToolServer;

/// The variables that tell `mxd mcp serve` where to connect, and as whom.
pub const SOCKET_VARIABLE: &str = "MXD_TOOLS_SOCKET";
pub const TOKEN_VARIABLE: &str = "MXD_TOOLS_TOKEN";

/// The door of a project's engine.
pub struct ToolDoor {
    keys: Arc<Keys>,
    socket: PathBuf,
    doors: OnceCell<OpenDoors>,
}

/// Where the tools are served.
struct OpenDoors {
    url: Option<String>,
    socket: Option<PathBuf>,
    _tasks: Vec<AbortOnDropHandle<()>>,
}

/// The valid tokens, by their hash: the time of a look-up tells nothing about a token.
#[derive(Default)]
pub(in crate::engine) struct Keys(Mutex<HashMap<blake3::Hash, Weak<dyn ToolServer>>>);

/// A valid token. Dropping it makes it void.
pub struct DoorKey {
    token: String,
    keys: Arc<Keys>,
    /// Without an owner, the tools could not be called.
    _server: Arc<dyn ToolServer>,
}

impl DoorKey {
    pub fn token(&self) -> &str {
        &self.token
    }
}

impl Drop for DoorKey {
    fn drop(&mut self) {
        self.keys.lock().remove(&blake3::hash(self.token.as_bytes()));
    }
}

impl Keys {
    fn lock(&self) -> MutexGuard<'_, HashMap<blake3::Hash, Weak<dyn ToolServer>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the tools of a token. `None` if it is not valid.
    pub(in crate::engine) fn server(&self, token: &str) -> Option<Arc<dyn ToolServer>> {
        self.lock().get(&blake3::hash(token.as_bytes()))?.upgrade()
    }
}

/// The addresses of the tools, as far as they could be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoorAddresses {
    pub url: Option<String>,
    pub socket: Option<PathBuf>,
}

impl ToolDoor {
    /// Creates a door whose socket is in `folder`. Nothing is opened yet.
    pub fn new(folder: &Path) -> Self {
        Self { keys: Arc::default(), socket: folder.join("tools.sock"), doors: OnceCell::new() }
    }

    /// Admits a program to these tools, until the key is dropped.
    pub fn admit(&self, server: Arc<dyn ToolServer>) -> io::Result<DoorKey> {
        let mut random = [0_u8; 32];
        fill_random(&mut random)?;
        let token: String = random.iter().flat_map(|byte| [hex(byte >> 4), hex(byte & 15)]).collect();
        // Programs log what they are given.
        known_secrets::remember([token.clone()]);
        self.keys.lock().insert(blake3::hash(token.as_bytes()), Arc::downgrade(&server));
        Ok(DoorKey { token, keys: Arc::clone(&self.keys), _server: server })
    }

    /// Opens the doors, unless they are open. Must be called in a runtime.
    pub async fn open(&self) -> DoorAddresses {
        let doors = self.doors.get_or_init(|| async {
            let (http, socket) = (http::listen(Arc::clone(&self.keys)).await, socket::listen(&self.socket, &self.keys));
            let mut tasks = Vec::new();
            let mut opened = |what: &str, result: io::Result<_>| match result {
                Ok((address, task)) => {
                    tasks.push(task);
                    Some(address)
                }
                Err(error) => {
                    tracing::warn!(%error, what, "the tools cannot be served");
                    None
                }
            };
            let url = opened("http", http.map(|(port, task)| (format!("http://127.0.0.1:{port}/mcp"), task)));
            let socket = opened("socket", socket.map(|(path, task)| (path.display().to_string(), task)));
            OpenDoors { url, socket: socket.map(PathBuf::from), _tasks: tasks }
        });
        let doors = doors.await;
        DoorAddresses { url: doors.url.clone(), socket: doors.socket.clone() }
    }
}

impl Drop for ToolDoor {
    fn drop(&mut self) {
        if let Some(socket) = self.doors.get().and_then(|doors| doors.socket.as_ref()) {
            let _ = std::fs::remove_file(socket);
        }
    }
}

fn hex(nibble: u8) -> char {
    char::from_digit(u32::from(nibble), 16).unwrap_or('0')
}

fn fill_random(bytes: &mut [u8]) -> io::Result<()> {
    use std::io::Read as _;
    std::fs::File::open("/dev/urandom")?.read_exact(bytes)
}

#[cfg(test)]
#[path = "tool_door_tests.rs"]
mod tests;
