//! Where a server listens: a socket in the project's folder, or in a short private folder if that path is too long.
//!
//! Only the process that holds `engine.lock` creates, replaces or removes these files, so a socket that is there
//! without a listener is a leftover. `serve.json` says where the socket is; clients read it first.

use std::fs::{DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::net::{UnixListener, UnixStream};

use super::http::HttpInfo;
use super::protocol::{VERSION, Version};
use crate::base::{Fault, ProjectId, Timestamp, known_secrets};
use crate::config::paths::ProjectFolder;

/// The longest path of a socket, with its final zero, on every system that we support.
const MAX_PATH: usize = 104;

/// The content of `serve.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerInfo {
    pub pid: u32,
    pub started: Timestamp,
    /// The version of the program.
    pub program: String,
    pub version: Version,
    pub socket: PathBuf,
    /// The arguments of its `mxd serve`, to start it again. `None` if it is another command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Vec<String>>,
    /// Where it serves HTTP, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpInfo>,
}

/// The files of a server.
#[derive(Clone, Debug)]
pub struct ServerPlace {
    info: PathBuf,
    socket: PathBuf,
    project: ProjectId,
}

impl ServerPlace {
    pub fn new(folder: &ProjectFolder, project: ProjectId) -> Self {
        Self { info: folder.server_info(), socket: folder.socket(), project }
    }

    /// Returns what the last server wrote, or `None` if there was none or it ended properly.
    pub fn info(&self) -> Option<ServerInfo> {
        let info: ServerInfo = serde_json::from_slice(&std::fs::read(&self.info).ok()?).ok()?;
        known_secrets::remember(info.http.iter().map(|http| http.token.expose().to_owned()));
        Some(info)
    }

    /// Connects to the server. `None` if nobody listens.
    pub async fn connect(&self) -> io::Result<Option<UnixStream>> {
        let socket = self.info().map_or_else(|| self.socket.clone(), |info| info.socket);
        if !fits(&socket) {
            return Ok(None);
        }
        match UnixStream::connect(&socket).await {
            Ok(stream) => Ok(Some(stream)),
            Err(error) if is_without_listener(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Listens, and writes where. The caller holds the project's lock. Must be called inside a runtime.
    pub(super) fn listen(&self, started: Timestamp) -> Result<Listening, Fault> {
        let socket = if fits(&self.socket) { self.socket.clone() } else { self.short_path()? };
        let failed = |what: &'static str, path: &Path| {
            let path = path.display().to_string();
            move |error: io::Error| Fault::environment(format!("cannot {what} the socket {path}: {error}"))
        };
        if let Err(error) = std::fs::remove_file(&socket)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(failed("replace", &socket)(error));
        }
        // The folder is private, and the credentials of every peer are checked, so nobody slips in before the mode is
        // set.
        let listener = UnixListener::bind(&socket).map_err(failed("open", &socket))?;
        std::fs::set_permissions(&socket, Permissions::from_mode(0o600)).map_err(failed("protect", &socket))?;
        let info = ServerInfo {
            pid: std::process::id(),
            started,
            program: program_version().to_owned(),
            version: VERSION,
            socket: socket.clone(),
            arguments: None,
            http: None,
        };
        let text = serde_json::to_vec(&info).map_err(|error| Fault::internal(error.to_string()))?;
        publish(&self.info, &text).map_err(failed("describe", &socket))?;
        let id = file_id(&socket);
        let files = Arc::new(ServerFiles { info: self.info.clone(), socket, id });
        Ok(Listening { listener, files })
    }

    /// Returns a path for the socket in a private folder outside the data folder.
    fn short_path(&self) -> Result<PathBuf, Fault> {
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
        let own = |base: PathBuf| base.join(format!("mxd-{}", rustix::process::geteuid().as_raw()));
        let candidates = runtime
            .into_iter()
            .map(|path| path.join("mxd"))
            .chain([own(std::env::temp_dir()), own(PathBuf::from("/tmp"))]);
        let mut problem = "no folder for it has a path that is short enough".to_owned();
        for folder in candidates {
            let socket = folder.join(format!("{}.sock", self.project));
            if !fits(&socket) {
                continue;
            }
            match private_folder(&folder) {
                Ok(()) => return Ok(socket),
                Err(error) => problem = format!("{}: {error}", folder.display()),
            }
        }
        Err(Fault::environment(format!("cannot open a socket for this project: {problem}"))
            .hint("set XDG_RUNTIME_DIR to a private folder with a short path"))
    }
}

/// Returns true if nobody listens, or if the listener died before it took the connection.
fn is_without_listener(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, NotFound};
    matches!(error.kind(), NotFound | ConnectionRefused | ConnectionReset | ConnectionAborted)
}

/// Replaces a file in one step. It need not survive a power cut: the server does not, either.
fn publish(path: &Path, content: &[u8]) -> io::Result<()> {
    let temporary = path.with_extension(format!("json.{}-0.mxd-tmp", std::process::id()));
    let mut file = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&temporary)?;
    file.write_all(content)?;
    std::fs::rename(&temporary, path)
}

/// A socket that is listened on.
pub(super) struct Listening {
    pub(super) listener: UnixListener,
    pub(super) files: Arc<ServerFiles>,
}

/// The files of a running server. Removed when it stops listening, which is before it gives up the project's lock.
pub(super) struct ServerFiles {
    info: PathBuf,
    socket: PathBuf,
    /// The socket itself. A later server has another one at the same path.
    id: Option<(u64, u64)>,
}

fn file_id(path: &Path) -> Option<(u64, u64)> {
    std::fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

impl ServerFiles {
    /// Changes what `serve.json` says about this server.
    pub(super) fn update(&self, change: impl FnOnce(&mut ServerInfo)) -> Result<(), Fault> {
        let unreadable =
            |error: &dyn std::fmt::Display| Fault::environment(format!("cannot read {}: {error}", self.info.display()));
        let text = std::fs::read(&self.info).map_err(|error| unreadable(&error))?;
        let mut info: ServerInfo = serde_json::from_slice(&text).map_err(|error| unreadable(&error))?;
        change(&mut info);
        let text = serde_json::to_vec(&info).map_err(|error| Fault::internal(error.to_string()))?;
        publish(&self.info, &text)
            .map_err(|error| Fault::environment(format!("cannot write {}: {error}", self.info.display())))
    }

    /// Removes the files, unless they belong to a later server.
    pub(super) fn remove(&self) {
        if file_id(&self.socket) != self.id {
            return;
        }
        for path in [&self.info, &self.socket] {
            if let Err(error) = std::fs::remove_file(path)
                && error.kind() != io::ErrorKind::NotFound
            {
                tracing::warn!(path = %path.display(), %error, "a file of the server cannot be removed");
            }
        }
    }
}

/// Returns the version of this program.
pub fn program_version() -> &'static str {
    env!("MXD_VERSION")
}

/// Returns true if a version of the program is older than another. Versions that cannot be read are not.
pub fn is_older(version: &str, than: &str) -> bool {
    let numbers = |version: &str| {
        let version = version.split([' ', '-', '+']).next().unwrap_or_default();
        version.split('.').map(|number| number.parse::<u64>().ok()).collect::<Option<Vec<_>>>()
    };
    numbers(version).zip(numbers(than)).is_some_and(|(version, than)| version < than)
}

fn fits(path: &Path) -> bool {
    path.as_os_str().as_bytes().len() < MAX_PATH
}

/// Makes sure that a folder exists, is ours and nobody else can enter it.
fn private_folder(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    // Somebody else could have made it first, or a link in its place.
    let found = std::fs::symlink_metadata(folder)?;
    let is_ours = found.is_dir() && found.uid() == rustix::process::geteuid().as_raw();
    if !is_ours || found.mode() & 0o077 != 0 {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "others can open this folder"));
    }
    Ok(())
}

#[cfg(test)]
#[path = "place_tests.rs"]
mod tests;
