//! A child process: what is asked for, and the handle to what runs.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use super::end::Family;
use super::environment::{Environment, RUN_MARKER};
use super::leader::Leader;
use super::output::{Capture, HEAD};
use super::record::{Identity, Note};
use super::spawn::{Order, spawn};
use super::supervise::{Supervisor, supervise};

/// How long what a child leaves behind may take to end by itself, where nobody wants it.
const FAREWELL: Duration = Duration::from_millis(500);

/// Whether the two output streams of a child stay apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Streams {
    /// One stream, in the order in which it was written.
    #[default]
    Merged,
    Separate,
}

/// A child to be started.
#[derive(Clone, Debug)]
pub struct Spec {
    /// Names the child in its environment, its record and its output files. Safe as a file name.
    pub id: String,
    pub program: OsString,
    pub arguments: Vec<OsString>,
    pub cwd: PathBuf,
    /// An open directory to run in. It wins over `cwd`, so that nobody can put another folder in its place.
    pub cwd_dir: Option<Arc<OwnedFd>>,
    pub environment: Environment,
    pub streams: Streams,
    /// What a person reads in place of program and arguments.
    pub shown: String,
    /// How much of the beginning of each stream is kept in memory.
    pub head: usize,
    /// Where output goes that does not fit in memory. Nothing: it is counted and dropped.
    pub spool: Option<PathBuf>,
    /// Where the record of the running child is kept. Nothing: a crash of ours may leave it behind.
    pub records: Option<PathBuf>,
}

impl Spec {
    pub fn new(id: impl Into<String>, program: impl Into<OsString>, cwd: impl Into<PathBuf>) -> Self {
        let program = program.into();
        Self {
            id: id.into(),
            shown: program.to_string_lossy().into_owned(),
            program,
            arguments: Vec::new(),
            cwd: cwd.into(),
            cwd_dir: None,
            environment: Environment::new(),
            streams: Streams::Merged,
            head: HEAD,
            spool: None,
            records: None,
        }
    }

    pub fn arguments<A: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }
}

/// Why a child could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("the folder {0} does not exist or is not a folder; choose another one to run in")]
    NoFolder(PathBuf),
    #[error("\"{0}\" was not found; install it or check PATH")]
    NoProgram(String),
    #[error("\"{program}\" could not be started: {source}")]
    Failed { program: String, source: io::Error },
    #[error("no pipe for the output of \"{program}\": {source}; too many files may be open")]
    NoPipe { program: String, source: io::Error },
    #[error("the note that \"{program}\" runs could not be written: {source}")]
    NoRecord { program: String, source: io::Error },
}

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// The exit code. Nothing: a signal ended it, or nobody could tell.
    pub code: Option<i32>,
    pub signal: Option<i32>,
    /// It was ended because we were asked to.
    pub killed: bool,
}

impl Exit {
    pub(super) fn from_status(status: &io::Result<ExitStatus>, killed: bool) -> Self {
        match status {
            Ok(status) => Self { code: status.code(), signal: status.signal(), killed },
            Err(_) => Self { code: None, signal: None, killed },
        }
    }

    pub fn is_success(self) -> bool {
        self.code == Some(0)
    }
}

/// How far a child's life has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Running,
    /// The child itself has ended; something it started still runs or holds its output.
    Left(Exit),
    /// Nothing of it is left that we can see.
    Gone(Exit),
}

impl Phase {
    pub fn exit(self) -> Option<Exit> {
        match self {
            Self::Running => None,
            Self::Left(exit) | Self::Gone(exit) => Some(exit),
        }
    }

    pub fn is_gone(self) -> bool {
        matches!(self, Self::Gone(_))
    }
}

/// A running child. Dropping the handle ends the child and everything it started.
#[derive(Debug)]
pub struct Process {
    id: String,
    pid: i32,
    phase: watch::Receiver<Phase>,
    kill: mpsc::UnboundedSender<()>,
    output: Arc<Capture>,
    error: Option<Arc<Capture>>,
}

impl Process {
    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn pid(&self) -> i32 {
        self.pid
    }

    pub fn phase(&self) -> Phase {
        *self.phase.borrow()
    }

    /// Returns the output; of both streams, if they were merged.
    pub fn output(&self) -> &Arc<Capture> {
        &self.output
    }

    /// Returns the error stream, if it was asked for separately.
    pub fn error(&self) -> Option<&Arc<Capture>> {
        self.error.as_ref()
    }

    /// Waits until the child itself has ended and what it said by then is captured.
    pub async fn left(&self) -> Exit {
        self.reached(|phase| phase.exit().is_some()).await
    }

    /// Waits until nothing of it runs any more.
    pub async fn gone(&self) -> Exit {
        self.reached(Phase::is_gone).await
    }

    async fn reached(&self, far_enough: impl Fn(Phase) -> bool) -> Exit {
        let mut phase = self.phase.clone();
        let unknown = Exit { code: None, signal: None, killed: true };
        // The sender only goes away without a last word when the runtime is shut down.
        phase.wait_for(|phase| far_enough(*phase)).await.map_or(unknown, |phase| phase.exit().unwrap_or(unknown))
    }

    /// Waits until the child itself has ended, `limit` at most, and then ends whatever of it still runs: a command that
    /// leaves a daemon behind is done when it says so. Returns how it ended. Nothing: it took too long.
    pub async fn finish(&self, limit: Duration) -> Option<Exit> {
        let exit = timeout(limit, self.left()).await.ok();
        // What only has to finish a sentence, as a `tee` in a substitution does, is let finish it.
        if exit.is_none() || timeout(FAREWELL, self.gone()).await.is_err() {
            self.kill();
            self.gone().await;
        }
        exit
    }

    /// Asks for the end of the child and everything it started: TERM, a grace period, KILL. Does not wait.
    pub fn kill(&self) {
        // The supervisor is gone only when the child is.
        let _ = self.kill.send(());
    }
}

/// The two pipes of a child that is spoken with.
#[derive(Debug)]
pub struct Dialogue {
    /// What the child reads. Dropping it tells the child that nobody will say anything more.
    pub input: ChildStdin,
    /// What the child answers.
    pub output: ChildStdout,
}

/// Our ends of a child's streams, and the child's own.
struct Wiring {
    child: [OwnedFd; 3],
    /// What is captured: of both streams, or of one and the other.
    captured: (PipeReader, Option<PipeReader>),
    dialogue: Option<(PipeWriter, PipeReader)>,
}

/// Returns the input of a child that nobody speaks with.
fn nothing_to_read() -> io::Result<OwnedFd> {
    File::open("/dev/null").map(OwnedFd::from)
}

/// Starts a child. Must be called in a runtime, which then looks after it.
pub fn start(spec: Spec) -> Result<Process, StartError> {
    let streams = spec.streams;
    let wired = || {
        let (output, pipe) = io::pipe()?;
        let (error, error_pipe) = match streams {
            Streams::Merged => (None, pipe.try_clone()?),
            Streams::Separate => io::pipe().map(|(end, pipe)| (Some(end), pipe))?,
        };
        let child = [nothing_to_read()?, pipe.into(), error_pipe.into()];
        Ok(Wiring { child, captured: (output, error), dialogue: None })
    };
    launch(spec, wired).map(|(process, _)| process)
}

/// Starts a child that is spoken with over its own input and output; what is captured is its error stream. All else
/// is as in [`start`].
pub fn converse(spec: Spec) -> Result<(Process, Dialogue), StartError> {
    let program = spec.shown.clone();
    let wired = || {
        let ((input, ours), (answers, output), (error, error_pipe)) = (io::pipe()?, io::pipe()?, io::pipe()?);
        let child = [input.into(), output.into(), error_pipe.into()];
        Ok(Wiring { child, captured: (error, None), dialogue: Some((ours, answers)) })
    };
    let (process, ends) = launch(spec, wired)?;
    let spoken = |(input, output): (PipeWriter, PipeReader)| {
        let input = ChildStdin::from_std(OwnedFd::from(input).into())?;
        Ok(Dialogue { input, output: ChildStdout::from_std(OwnedFd::from(output).into())? })
    };
    let dialogue = ends.map_or(Err(io::ErrorKind::BrokenPipe.into()), spoken);
    dialogue.map(|dialogue| (process, dialogue)).map_err(|source| StartError::NoPipe { program, source })
}

/// Starts a child with the streams that `wired` makes. Returns our ends of a dialogue, if that is among them.
fn launch(
    spec: Spec,
    wired: impl FnOnce() -> io::Result<Wiring>,
) -> Result<(Process, Option<(PipeWriter, PipeReader)>), StartError> {
    let shown = spec.program.to_string_lossy().into_owned();
    let no_pipe = |source| StartError::NoPipe { program: shown.clone(), source };
    let no_record = |source| StartError::NoRecord { program: shown.clone(), source };
    let mut note = spec
        .records
        .as_ref()
        .map(|folder| Note::announce(folder, &spec.id, &spec.shown))
        .transpose()
        .map_err(no_record)?;

    let Wiring { child: streams, captured, dialogue } = wired().map_err(no_pipe)?;
    let spawned = spawn(&Order {
        program: &spec.program,
        arguments: &spec.arguments,
        cwd: &spec.cwd,
        cwd_dir: spec.cwd_dir.as_ref().map(|dir| dir.as_fd()),
        environment: &variables(&spec),
        streams: streams.each_ref().map(AsFd::as_fd),
    });
    // While our copies of the child's ends live, the streams cannot end.
    drop(streams);
    let pid = match spawned {
        Ok(pid) => pid,
        Err(source) => {
            if let Some(note) = note {
                note.remove();
            }
            return Err(why_not(&spec, shown, source));
        }
    };
    // From here on it is killed unless it is looked after.
    let child = Leader::new(pid);
    let pid = pid.as_raw_pid();
    let identity = Identity::of(pid);
    if let Some(note) = &mut note
        && let Err(error) = note.started(identity)
    {
        // The announcement is on disk; the marker in its environment still finds the child.
        tracing::warn!(%error, id = spec.id, "the note of a running process could not be completed");
    }

    let capture = |end: PipeReader, suffix: &str| {
        let capture = Capture::new(spec.head);
        let spool = spec.spool.as_ref().map(|folder| folder.join(format!("{}{suffix}", spec.id)));
        capture.drain(end, spool).map(|drain| (capture, drain)).map_err(no_pipe)
    };
    let (output, drain) = capture(captured.0, ".out")?;
    let mut drains = vec![drain];
    let mut error = None;
    if let Some(end) = captured.1 {
        let (captured, drain) = capture(end, ".err")?;
        drains.push(drain);
        error = Some(captured);
    }
    let (phase_sender, phase) = watch::channel(Phase::Running);
    let (kill, kill_requests) = mpsc::unbounded_channel();
    let start = identity.map(|identity| identity.start);
    let family = Family::new(&spec.id, pid, start, true);
    let supervisor = Supervisor { family, child, phase: phase_sender, drains, note };
    tokio::spawn(supervise(supervisor, kill_requests));
    Ok((Process { id: spec.id, pid, phase, kill, output, error }, dialogue))
}

/// Returns what a child sees: the scrubbed environment, and its mark.
fn variables(spec: &Spec) -> BTreeMap<OsString, OsString> {
    let mut variables = spec.environment.variables(std::env::vars_os());
    variables.insert(RUN_MARKER.into(), spec.id.clone().into());
    variables
}

/// Finds the reason that a person can act on: the system says "not found" for a folder and for a program alike.
fn why_not(spec: &Spec, program: String, source: io::Error) -> StartError {
    if spec.cwd_dir.is_none() && !spec.cwd.is_dir() {
        StartError::NoFolder(spec.cwd.clone())
    } else if source.kind() == io::ErrorKind::NotFound {
        StartError::NoProgram(program)
    } else {
        StartError::Failed { program, source }
    }
}

#[cfg(test)]
#[path = "child_tests.rs"]
mod tests;
