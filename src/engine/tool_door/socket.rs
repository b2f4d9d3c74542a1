//! The tools over a socket, for `mxd mcp serve`: a line with the token, then one message per line.

use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

use super::Keys;
use crate::tools::mcp_server;

/// The longest path of a socket, with its final zero, on every system that we support.
const MAX_PATH: usize = 104;
/// The longest token, and the longest message.
const MAX_TOKEN: u64 = 256;
const MAX_LINE: u64 = 8 << 20;
const TOKEN_LIMIT: Duration = Duration::from_secs(10);
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Listens. Replaces what an earlier engine left. The caller holds the project's lock.
pub(super) fn listen(wanted: &Path, keys: &Arc<Keys>) -> io::Result<(PathBuf, AbortOnDropHandle<()>)> {
    let path = short(wanted)?;
    if let Err(error) = std::fs::remove_file(&path)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(error);
    }
    let listener = UnixListener::bind(&path)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
    let keys = Arc::clone(keys);
    let task = tokio::spawn(async move {
        // Dropped with this task, which ends the connections.
        let mut connections = JoinSet::new();
        loop {
            while connections.try_join_next().is_some() {}
            match listener.accept().await {
                Ok((stream, _)) => {
                    let keys = Arc::clone(&keys);
                    // A client that goes away is no error.
                    connections.spawn(async move { serve(stream, &keys).await.unwrap_or_default() });
                }
                Err(error) => {
                    tracing::warn!(%error, "a program could not be served");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    });
    Ok((path, AbortOnDropHandle::new(task)))
}

/// Returns a path that is short enough: the wanted one, or one in a private folder of this user.
fn short(wanted: &Path) -> io::Result<PathBuf> {
    if wanted.as_os_str().len() < MAX_PATH {
        return Ok(wanted.to_owned());
    }
    let user = rustix::process::getuid().as_raw();
    let folder = std::env::temp_dir().join(format!("mxd-{user}"));
    match std::fs::DirBuilder::new().mode(0o700).create(&folder) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    let meta = std::fs::symlink_metadata(&folder)?;
    let for_others = meta.permissions().mode() & 0o077;
    let is_ours = std::os::unix::fs::MetadataExt::uid(&meta) == user;
    if !meta.is_dir() || !is_ours || for_others != 0 {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("{} is not private", folder.display())));
    }
    let name = blake3::hash(wanted.as_os_str().as_bytes()).to_hex();
    Ok(folder.join(format!("tools-{}.sock", &name[..16])))
}

async fn serve(stream: UnixStream, keys: &Keys) -> io::Result<()> {
    let (input, mut output) = stream.into_split();
    let mut reader = BufReader::new(input);
    let mut token = String::new();
    {
        let mut limited = (&mut reader).take(MAX_TOKEN);
        match tokio::time::timeout(TOKEN_LIMIT, limited.read_line(&mut token)).await {
            Ok(read) => drop(read?),
            Err(_) => return Ok(()),
        }
    }
    let token = token.trim().to_owned();
    let mut line = String::new();
    loop {
        line.clear();
        if (&mut reader).take(MAX_LINE).read_line(&mut line).await? == 0 {
            return Ok(());
        }
        if line.trim().is_empty() {
            continue;
        }
        // Looked up each time: a run that has ended takes its token with it.
        let Some(server) = keys.server(&token) else {
            output.write_all(refusal(&line).as_bytes()).await?;
            return Ok(());
        };
        if let Some(answer) = mcp_server::answer_text(server.as_ref(), &line).await {
            output.write_all(format!("{answer}\n").as_bytes()).await?;
        }
    }
}

fn refusal(line: &str) -> String {
    let id = serde_json::from_str(line).ok().and_then(|message: serde_json::Value| message.get("id").cloned());
    let error = serde_json::json!({"code": -32001, "message": "The token is missing or no longer valid."});
    format!("{}\n", serde_json::json!({"jsonrpc": "2.0", "id": id, "error": error}))
}
