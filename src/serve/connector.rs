//! How a client reaches a server, at first and again after a cut.

use std::path::PathBuf;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::process::Child;
use tokio::time::Instant;

use super::place::ServerPlace;
use crate::base::Fault;
use crate::process::{ErrorStream, start_with_pipes};
use crate::store::EngineLock;

/// Both directions of a connection.
pub struct Connection {
    pub reader: Box<dyn AsyncRead + Send + Unpin>,
    pub writer: Box<dyn AsyncWrite + Send + Unpin>,
    /// The program that carries the connection. It ends with it.
    pub carrier: Option<Child>,
}

impl Connection {
    pub fn new(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        Self { reader: Box::new(reader), writer: Box::new(writer), carrier: None }
    }
}

/// Why there is no connection.
#[derive(Debug)]
pub enum ConnectError {
    /// It may work in a moment.
    Away(Fault),
    /// It will not work.
    Gone(Fault),
}

/// Connects to a server.
pub trait Connector: Send + 'static {
    /// Tries once.
    fn connect(&mut self) -> BoxFuture<'_, Result<Connection, ConnectError>>;
    /// Called when a connection was greeted.
    fn on_connected(&mut self) {}
    /// Called when the server said that another process takes over. `may_start` is false if that process is somebody
    /// else's to start.
    fn on_moved(&mut self, _may_start: bool) {}
    /// How long to try again. `None` for ever.
    fn patience(&self) -> Option<Duration>;
}

/// Starts a server for a project that nobody has open.
pub type Starter = Box<dyn FnMut() -> Result<(), Fault> + Send>;

/// How long another process may take to open the project.
const OPEN_TIMEOUT: Duration = Duration::from_secs(20);
/// How long a server that was started may take before another one is started.
const START_PAUSE: Duration = Duration::from_secs(8);
/// How long somebody else may take to open a project whose engine has died.
const TAKEOVER_TIMEOUT: Duration = Duration::from_secs(2);

/// Connects to the socket of a project on this machine.
pub struct SocketConnector {
    place: ServerPlace,
    lock: PathBuf,
    starter: Option<Starter>,
    started: Option<Instant>,
}

impl SocketConnector {
    pub fn new(place: ServerPlace, lock: PathBuf) -> Self {
        Self { place, lock, starter: None, started: None }
    }

    /// Starts a server with `starter` when nobody has the project open.
    pub fn or_start(self, starter: Starter) -> Self {
        Self { starter: Some(starter), ..self }
    }

    /// Lets somebody else start the server first.
    pub fn waiting_for_another(mut self) -> Self {
        self.on_moved(false);
        self
    }

    async fn try_connect(&mut self) -> Result<Connection, ConnectError> {
        let gone = |error: &dyn std::fmt::Display| ConnectError::Gone(Fault::environment(error.to_string()));
        match self.place.connect().await {
            Ok(Some(stream)) => {
                let (reader, writer) = stream.into_split();
                return Ok(Connection::new(reader, writer));
            }
            Ok(None) => {}
            Err(error) => return Err(gone(&format!("cannot connect to the engine: {error}"))),
        }
        if EngineLock::holder(&self.lock).map_err(|error| gone(&error))?.is_some() {
            return Err(ConnectError::Away(crate::engine::refusal(&self.lock)));
        }
        if let Some(start) = &mut self.starter
            && self.started.is_none_or(|started| started.elapsed() >= START_PAUSE)
        {
            self.started = Some(Instant::now());
            start().map_err(ConnectError::Gone)?;
        }
        Err(ConnectError::Away(Fault::environment("the mxd process that had this project open has ended")))
    }
}

impl Connector for SocketConnector {
    fn connect(&mut self) -> BoxFuture<'_, Result<Connection, ConnectError>> {
        self.try_connect().boxed()
    }

    fn on_moved(&mut self, may_start: bool) {
        self.started = (!may_start).then(Instant::now);
    }

    fn patience(&self) -> Option<Duration> {
        Some(if self.starter.is_some() { OPEN_TIMEOUT } else { TAKEOVER_TIMEOUT })
    }
}

/// Connects through the stdin and stdout of a program such as ssh.
pub struct ProgramConnector {
    program: String,
    arguments: Vec<String>,
    /// Arguments that come first when it is started again: it must not ask the user anything then.
    again: Vec<String>,
    was_connected: bool,
}

impl ProgramConnector {
    pub fn new(program: impl Into<String>, arguments: Vec<String>, again: Vec<String>) -> Self {
        Self { program: program.into(), arguments, again, was_connected: false }
    }

    fn start(&self) -> Result<Connection, ConnectError> {
        let (errors, first) = if self.was_connected {
            (ErrorStream::Nowhere, self.again.as_slice())
        } else {
            (ErrorStream::Terminal, [].as_slice())
        };
        let arguments: Vec<String> = first.iter().chain(&self.arguments).cloned().collect();
        let (carrier, stdin, stdout) = start_with_pipes(&self.program, &arguments, errors).map_err(|error| {
            ConnectError::Gone(Fault::environment(format!("cannot start {}: {error}", self.program)))
        })?;
        Ok(Connection { carrier: Some(carrier), ..Connection::new(stdout, stdin) })
    }
}

impl Connector for ProgramConnector {
    fn connect(&mut self) -> BoxFuture<'_, Result<Connection, ConnectError>> {
        futures::future::ready(self.start()).boxed()
    }

    fn on_connected(&mut self) {
        self.was_connected = true;
    }

    /// Once connected, the user decides how long to wait.
    fn patience(&self) -> Option<Duration> {
        (!self.was_connected).then_some(Duration::ZERO)
    }
}
