//! Engines and projects of other machines, reached through the user's ssh: no port and no daemon of ours.

use std::time::Duration;

use tokio::io::AsyncReadExt as _;

use super::connector::ProgramConnector;
use crate::base::Fault;
use crate::engine::query::ProjectEntry;
use crate::process::{ErrorStream, start_with_pipes};

/// How an address of another machine begins.
pub const SCHEME: &str = "ssh://";
/// Keeps ssh from asking the user anything.
const NEVER_ASK: &str = "-oBatchMode=yes";
/// How long a host may take to list its projects.
const LIST_TIMEOUT: Duration = Duration::from_secs(15);
const MAX_LIST: u64 = 4 << 20;

/// A host and a folder on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshAddress {
    host: String,
    port: Option<u16>,
    /// As the shell of the host reads it. `None` for the home folder.
    folder: Option<String>,
}

impl SshAddress {
    /// Reads `[user@]host[:port][/folder]`. A folder that begins with `~` is relative to the home folder.
    pub fn parse(address: &str) -> Result<Self, Fault> {
        let (authority, folder) = match address.split_once('/') {
            Some((authority, folder)) => (authority, Some(folder).filter(|folder| !folder.is_empty())),
            None => (address, None),
        };
        let wrong = |why: &str| Fault::user(format!("{SCHEME}{address} {why}")).hint("write ssh://HOST/FOLDER");
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) => (host, Some(port.parse().map_err(|_| wrong("has a port that is no number"))?)),
            None => (authority, None),
        };
        // ssh would read it as an option.
        if host.is_empty() || host.starts_with('-') {
            return Err(wrong("names no host"));
        }
        let folder = folder.map(|folder| match folder.strip_prefix("~/") {
            Some(rest) => format!("~/{}", quoted(rest)),
            None => quoted(&format!("/{folder}")),
        });
        Ok(Self { host: host.to_owned(), port, folder })
    }

    /// Returns the address of a project on the same host.
    #[must_use]
    pub fn with_folder(&self, folder: &str) -> Self {
        Self { folder: Some(quoted(folder)), ..self.clone() }
    }

    /// Returns the host as the user named it.
    pub fn host(&self) -> String {
        self.port.map_or_else(|| self.host.clone(), |port| format!("{}:{port}", self.host))
    }

    /// Returns how to reach the engine of the project.
    pub fn connector(&self) -> ProgramConnector {
        self.connector_with("ssh")
    }

    /// As [`SshAddress::connector`], with a program that takes the arguments of ssh.
    pub fn connector_with(&self, program: &str) -> ProgramConnector {
        let folder = self.folder.as_ref().map_or_else(String::new, |folder| format!(" -C {folder}"));
        let mut arguments = vec!["-oServerAliveInterval=5".to_owned(), "-oServerAliveCountMax=3".to_owned()];
        arguments.extend(self.arguments(&format!("mxd{folder} attach --stdio")));
        ProgramConnector::new(program, arguments, vec![NEVER_ASK.to_owned()])
    }

    /// Returns the arguments of ssh that run a command there.
    fn arguments(&self, command: &str) -> Vec<String> {
        let mut arguments = vec!["-T".to_owned()];
        arguments.extend(self.port.map(|port| format!("-p{port}")));
        arguments.extend(["--".to_owned(), self.host.clone(), command.to_owned()]);
        arguments
    }

    /// Returns the projects of the host. Fails if ssh would have to ask the user something.
    pub async fn projects(&self) -> Result<Vec<ProjectEntry>, Fault> {
        let failed = |why: &dyn std::fmt::Display| {
            Fault::environment(format!("{}: {why}", self.host()))
                .hint(format!("`ssh {} mxd projects` shows more", self.host))
        };
        let mut arguments = vec![NEVER_ASK.to_owned(), "-oConnectTimeout=5".to_owned()];
        arguments.extend(self.arguments("mxd projects --json"));
        let started = start_with_pipes("ssh", &arguments, ErrorStream::Nowhere).map_err(|error| failed(&error))?;
        let (mut ssh, _stdin, stdout) = started;
        let mut text = String::new();
        let read = async {
            stdout.take(MAX_LIST).read_to_string(&mut text).await?;
            ssh.wait().await
        };
        let status = tokio::time::timeout(LIST_TIMEOUT, read).await.map_err(|_| failed(&"it does not answer"))?;
        let status = status.map_err(|error| failed(&error))?;
        if !status.success() {
            return Err(failed(&format!("ssh ended with {}", status.code().unwrap_or(-1))));
        }
        let entries = text.lines().map(serde_json::from_str).collect::<Result<_, _>>();
        entries.map_err(|error| failed(&format!("its mxd answers in another way: {error}")))
    }
}

/// Quotes a word for a POSIX shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
#[path = "ssh_tests.rs"]
mod tests;
