//! `mxd attach`: a screen on the engine of another process, on this machine or over ssh.

use std::io::{Read as _, Write as _};
use std::path::PathBuf;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::mpsc;

use crate::base::Fault;
use crate::cli::console::{Console, Outcome};
use crate::cli::locate::{LocatedProject, ProjectLocator, home, registry};
use crate::cli::open_engine::runtime;
use crate::cli::screen;
use crate::cli::shared_engine::connector;
use crate::config::paths::Home;
use crate::serve::connector::{ConnectError, Connector as _, ProgramConnector};

const SSH: &str = "ssh://";
/// How many bytes a bridge copies at a time.
const BUFFER: usize = 64 << 10;

#[derive(clap::Args)]
pub struct Args {
    /// Project name, id or folder, or `ssh://HOST/FOLDER` (default: here).
    #[arg(value_name = "PROJECT")]
    target: Option<String>,
    /// Speak the protocol on stdin and stdout.
    #[arg(long)]
    stdio: bool,
}

pub fn run(console: &mut Console, here: &ProjectLocator, args: &Args) -> Outcome {
    if let Some(address) = args.target.as_deref().and_then(|project| project.strip_prefix(SSH)) {
        let address = SshAddress::parse(address)?;
        return screen::run_over(console, here, address.connector());
    }
    let home = home()?;
    let at = match &args.target {
        Some(name) => ProjectLocator::new(Some(folder_of(&home, name)?)),
        None => here.clone(),
    };
    if args.stdio { bridge(&at.locate_or_register(&home)?) } else { screen::run_joined(console, &at) }
}

/// Returns the folder of a project that is named by its name, its id or its folder.
fn folder_of(home: &Home, name: &str) -> Result<PathBuf, Fault> {
    let projects = registry(home).list()?;
    let wanted = name.to_ascii_uppercase();
    let is_named = |id: String, other: &str| other == name || (name.len() >= 8 && id.starts_with(&wanted));
    let found: Vec<_> = projects.iter().filter(|project| is_named(project.id.to_string(), &project.name)).collect();
    match found.as_slice() {
        [one] => Ok(one.path.clone()),
        [] if PathBuf::from(name).is_dir() => Ok(PathBuf::from(name)),
        [] => Err(Fault::user(format!("there is no project \"{name}\"")).hint("`mxd projects` lists them")),
        [_, ..] => {
            Err(Fault::user(format!("several projects are called \"{name}\"")).hint("name it by its id or its folder"))
        }
    }
}

/// Copies stdin to the engine and the engine to stdout, until either ends.
fn bridge(project: &LocatedProject) -> Outcome {
    let mut connector = connector(&project.folder, &project.project);
    runtime()?.block_on(async {
        let started = tokio::time::Instant::now();
        let connection = loop {
            match connector.connect().await {
                Ok(connection) => break connection,
                Err(ConnectError::Gone(fault)) => return Err(fault),
                Err(ConnectError::Away(fault)) => {
                    if connector.patience().is_some_and(|patience| started.elapsed() >= patience) {
                        return Err(fault);
                    }
                }
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        };
        let (mut reader, mut writer) = (connection.reader, connection.writer);
        let mut input = read_stdin();
        let to_engine = async {
            while let Some(bytes) = input.recv().await {
                writer.write_all(&bytes).await?;
                writer.flush().await?;
            }
            writer.shutdown().await
        };
        let from_engine = async {
            let mut buffer = vec![0; BUFFER];
            loop {
                let read = reader.read(&mut buffer).await?;
                if read == 0 {
                    return std::io::Result::Ok(());
                }
                // The screen elsewhere waits for it. It may be slow, and nothing else happens here meanwhile.
                tokio::task::block_in_place(|| {
                    let mut output = std::io::stdout().lock();
                    output.write_all(&buffer[..read])?;
                    output.flush()
                })?;
            }
        };
        // Whichever side ends ends the bridge. The other side notices that.
        tokio::select! {
            _ = to_engine => {}
            _ = from_engine => {}
        }
        Ok(())
    })?;
    // The thread that reads stdin cannot be interrupted.
    std::process::exit(0);
}

/// Reads stdin in a thread of its own.
fn read_stdin() -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel(4);
    std::thread::spawn(move || {
        let mut buffer = vec![0; BUFFER];
        loop {
            match std::io::stdin().read(&mut buffer) {
                Ok(read) if read > 0 && sender.blocking_send(buffer[..read].to_vec()).is_ok() => {}
                Ok(_) | Err(_) => return,
            }
        }
    });
    receiver
}

/// A host and a folder on it.
#[derive(Debug, PartialEq, Eq)]
struct SshAddress {
    host: String,
    port: Option<u16>,
    /// As the shell of the host reads it. `None` for the home folder.
    folder: Option<String>,
}

impl SshAddress {
    /// Reads `[user@]host[:port][/folder]`. A folder that begins with `~` is relative to the home folder.
    fn parse(address: &str) -> Result<Self, Fault> {
        let (authority, folder) = match address.split_once('/') {
            Some((authority, folder)) => (authority, Some(folder).filter(|folder| !folder.is_empty())),
            None => (address, None),
        };
        let wrong = |why: &str| Fault::user(format!("{SSH}{address} {why}")).hint("write ssh://HOST/FOLDER");
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

    fn connector(&self) -> ProgramConnector {
        let mut arguments =
            vec!["-T".to_owned(), "-oServerAliveInterval=5".to_owned(), "-oServerAliveCountMax=3".to_owned()];
        arguments.extend(self.port.map(|port| format!("-p{port}")));
        let folder = self.folder.as_ref().map_or_else(String::new, |folder| format!(" -C {folder}"));
        arguments.extend(["--".to_owned(), self.host.clone(), format!("mxd{folder} attach --stdio")]);
        ProgramConnector::new("ssh", arguments, vec!["-oBatchMode=yes".to_owned()])
    }
}

/// Quotes a word for a POSIX shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
#[path = "attach_tests.rs"]
mod tests;
