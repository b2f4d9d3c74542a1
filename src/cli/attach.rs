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
use crate::serve::connector::{ConnectError, Connector as _};
use crate::serve::ssh::{SCHEME, SshAddress};

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
    if let Some(address) = args.target.as_deref().and_then(|project| project.strip_prefix(SCHEME)) {
        return screen::run_on_host(console, here, SshAddress::parse(address)?);
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
