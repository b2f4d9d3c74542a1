//! Starts a child process, and the handle to it.

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

use super::child_handle::ChildHandle;
use super::environment::{Environment, RUN_MARKER};
use super::output::{Capture, HEAD};
use super::record::{ProcessIdentity, RecordFile};
use super::spawn::{SpawnRequest, spawn};
use super::supervise::{Supervisor, supervise};
use super::terminate::ProcessTree;

/// How long processes that a finished child left behind may take to end by themselves.
const LINGER: Duration = Duration::from_millis(500);

/// Whether the two output streams of a child are merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Streams {
    /// One stream, in the order in which it was written.
    #[default]
    Merged,
    Separate,
}

/// A child process to start.
#[derive(Clone, Debug)]
pub struct ChildSpec {
    /// Names the child in its environment, its record and its output files. Safe as a file name.
    pub id: String,
    pub program: OsString,
    pub arguments: Vec<OsString>,
    pub cwd: PathBuf,
    /// An open directory to run in. Takes precedence over `cwd`, so that the folder cannot be swapped.
    pub cwd_dir: Option<Arc<OwnedFd>>,
    pub environment: Environment,
    pub streams: Streams,
    /// Shown to users in place of program and arguments.
    pub label: String,
    /// Bytes of the beginning of each stream to keep in memory.
    pub head: usize,
    /// The folder for output that does not fit in memory. `None`: such output is counted and dropped.
    pub overflow_dir: Option<PathBuf>,
    /// The folder for the record of the running child. `None`: a crash may leave the child behind.
    pub records: Option<PathBuf>,
}

impl ChildSpec {
    pub fn new(id: impl Into<String>, program: impl Into<OsString>, cwd: impl Into<PathBuf>) -> Self {
        let program = program.into();
        Self {
            id: id.into(),
            label: program.to_string_lossy().into_owned(),
            program,
            arguments: Vec::new(),
            cwd: cwd.into(),
            cwd_dir: None,
            environment: Environment::new(),
            streams: Streams::Merged,
            head: HEAD,
            overflow_dir: None,
            records: None,
        }
    }

    pub fn arguments<A: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("the folder {0} does not exist or is not a folder; choose another folder")]
    NoFolder(PathBuf),
    #[error("\"{0}\" was not found; install it or check PATH")]
    NoProgram(String),
    #[error("cannot start \"{program}\": {source}")]
    Failed { program: String, source: io::Error },
    #[error("cannot create a pipe for \"{program}\": {source}; too many files may be open")]
    NoPipe { program: String, source: io::Error },
    #[error("cannot write the process record of \"{program}\": {source}")]
    NoRecord { program: String, source: io::Error },
}

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessExit {
    /// `None` if a signal ended it, or the status is unknown.
    pub code: Option<i32>,
    pub signal: Option<i32>,
    /// True if it was terminated on request.
    pub killed: bool,
}

impl ProcessExit {
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

/// The phase of a child's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessPhase {
    Running,
    /// The child has exited; a process it started still runs or holds its output.
    Exited(ProcessExit),
    /// No process of it is left.
    Gone(ProcessExit),
}

impl ProcessPhase {
    pub fn exit(self) -> Option<ProcessExit> {
        match self {
            Self::Running => None,
            Self::Exited(exit) | Self::Gone(exit) => Some(exit),
        }
    }

    pub fn is_gone(self) -> bool {
        matches!(self, Self::Gone(_))
    }
}

/// A running child. Dropping the handle terminates the child and everything it started.
#[derive(Debug)]
pub struct Process {
    id: String,
    pid: i32,
    phase: watch::Receiver<ProcessPhase>,
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

    pub fn phase(&self) -> ProcessPhase {
        *self.phase.borrow()
    }

    /// Returns the captured output, of both streams if they are merged.
    pub fn output(&self) -> &Arc<Capture> {
        &self.output
    }

    /// Returns the captured error stream, or `None` if the streams are merged.
    pub fn error(&self) -> Option<&Arc<Capture>> {
        self.error.as_ref()
    }

    /// Waits until the child has exited and its output so far is captured.
    pub async fn wait_exited(&self) -> ProcessExit {
        self.wait_for_phase(|phase| phase.exit().is_some()).await
    }

    /// Waits until no process of it is left.
    pub async fn wait_gone(&self) -> ProcessExit {
        self.wait_for_phase(ProcessPhase::is_gone).await
    }

    async fn wait_for_phase(&self, is_reached: impl Fn(ProcessPhase) -> bool) -> ProcessExit {
        let mut phase = self.phase.clone();
        let unknown = ProcessExit { code: None, signal: None, killed: true };
        // The sender is dropped without a final phase only when the runtime shuts down.
        phase.wait_for(|phase| is_reached(*phase)).await.map_or(unknown, |phase| phase.exit().unwrap_or(unknown))
    }

    /// Waits until the child has exited, at most `limit`, and then terminates whatever of it still runs: a command that
    /// leaves a daemon behind is done when it exits. Returns `None` if it took too long.
    pub async fn finish(&self, limit: Duration) -> Option<ProcessExit> {
        let exit = timeout(limit, self.wait_exited()).await.ok();
        // Let a short-lived rest finish, such as a `tee` in a process substitution.
        if exit.is_none() || timeout(LINGER, self.wait_gone()).await.is_err() {
            self.kill();
            self.wait_gone().await;
        }
        exit
    }

    /// Requests termination of the child and everything it started: TERM, a grace period, KILL. Does not wait.
    pub fn kill(&self) {
        // The supervisor ends only after the child.
        let _ = self.kill.send(());
    }
}

/// The stdin and stdout pipes of a child.
#[derive(Debug)]
pub struct StdioPipes {
    /// The child's stdin. Dropping it sends end of file.
    pub input: ChildStdin,
    /// The child's stdout.
    pub output: ChildStdout,
}

/// The child's ends of its streams, and ours.
struct ChildPipes {
    child: [OwnedFd; 3],
    /// Captured streams: one if merged, else output and error.
    captured: (PipeReader, Option<PipeReader>),
    stdio: Option<(PipeWriter, PipeReader)>,
}

fn null_input() -> io::Result<OwnedFd> {
    File::open("/dev/null").map(OwnedFd::from)
}

/// Starts a child. Must be called in a runtime, which then supervises it.
pub fn start(spec: ChildSpec) -> Result<Process, StartError> {
    let streams = spec.streams;
    let make_pipes = || {
        let (output, pipe) = io::pipe()?;
        let (error, error_pipe) = match streams {
            Streams::Merged => (None, pipe.try_clone()?),
            Streams::Separate => io::pipe().map(|(end, pipe)| (Some(end), pipe))?,
        };
        let child = [null_input()?, pipe.into(), error_pipe.into()];
        Ok(ChildPipes { child, captured: (output, error), stdio: None })
    };
    launch(spec, make_pipes).map(|(process, _)| process)
}

/// Starts a child with pipes to its stdin and stdout, and captures its error stream. Otherwise like [`start`].
pub fn start_with_stdio(spec: ChildSpec) -> Result<(Process, StdioPipes), StartError> {
    let program = spec.label.clone();
    let make_pipes = || {
        let ((input, ours), (replies, output), (error, error_pipe)) = (io::pipe()?, io::pipe()?, io::pipe()?);
        let child = [input.into(), output.into(), error_pipe.into()];
        Ok(ChildPipes { child, captured: (error, None), stdio: Some((ours, replies)) })
    };
    let (process, ends) = launch(spec, make_pipes)?;
    let to_async = |(input, output): (PipeWriter, PipeReader)| {
        let input = ChildStdin::from_std(OwnedFd::from(input).into())?;
        Ok(StdioPipes { input, output: ChildStdout::from_std(OwnedFd::from(output).into())? })
    };
    let stdio = ends.map_or(Err(io::ErrorKind::BrokenPipe.into()), to_async);
    stdio.map(|stdio| (process, stdio)).map_err(|source| StartError::NoPipe { program, source })
}

/// Starts a child with the streams that `make_pipes` returns. Also returns our ends of its stdin and stdout, if it has
/// any.
fn launch(
    spec: ChildSpec,
    make_pipes: impl FnOnce() -> io::Result<ChildPipes>,
) -> Result<(Process, Option<(PipeWriter, PipeReader)>), StartError> {
    let program = spec.program.to_string_lossy().into_owned();
    let no_pipe = |source| StartError::NoPipe { program: program.clone(), source };
    let no_record = |source| StartError::NoRecord { program: program.clone(), source };
    let mut record = spec
        .records
        .as_ref()
        .map(|folder| RecordFile::create(folder, &spec.id, &spec.label))
        .transpose()
        .map_err(no_record)?;

    let ChildPipes { child: streams, captured, stdio } = make_pipes().map_err(no_pipe)?;
    let spawned = spawn(&SpawnRequest {
        program: &spec.program,
        arguments: &spec.arguments,
        cwd: &spec.cwd,
        cwd_dir: spec.cwd_dir.as_ref().map(|dir| dir.as_fd()),
        environment: &variables(&spec),
        streams: streams.each_ref().map(AsFd::as_fd),
    });
    // Our copies of the child's ends would keep the streams open.
    drop(streams);
    let pid = match spawned {
        Ok(pid) => pid,
        Err(source) => {
            if let Some(record) = record {
                record.remove();
            }
            return Err(start_error(&spec, program, source));
        }
    };
    // From here on, an early return kills it.
    let child = ChildHandle::new(pid);
    let pid = pid.as_raw_pid();
    let identity = ProcessIdentity::of(pid);
    if let Some(record) = &mut record
        && let Err(error) = record.set_child(identity)
    {
        // The incomplete record is on disk; the marker in the environment still finds the child.
        tracing::warn!(%error, id = spec.id, "cannot complete the record of a running process");
    }

    let capture = |end: PipeReader, suffix: &str| {
        let capture = Capture::new(spec.head);
        let overflow = spec.overflow_dir.as_ref().map(|folder| folder.join(format!("{}{suffix}", spec.id)));
        capture.drain(end, overflow).map(|drain| (capture, drain)).map_err(no_pipe)
    };
    let (output, drain) = capture(captured.0, ".out")?;
    let mut drains = vec![drain];
    let mut error = None;
    if let Some(end) = captured.1 {
        let (captured, drain) = capture(end, ".err")?;
        drains.push(drain);
        error = Some(captured);
    }
    let (phase_sender, phase) = watch::channel(ProcessPhase::Running);
    let (kill, kill_requests) = mpsc::unbounded_channel();
    let start = identity.map(|identity| identity.start);
    let tree = ProcessTree::new(&spec.id, pid, start, true);
    let supervisor = Supervisor { tree, child, phase: phase_sender, drains, record };
    tokio::spawn(supervise(supervisor, kill_requests));
    Ok((Process { id: spec.id, pid, phase, kill, output, error }, stdio))
}

/// Returns the child's variables: the scrubbed environment and its marker.
fn variables(spec: &ChildSpec) -> BTreeMap<OsString, OsString> {
    let mut variables = spec.environment.variables(std::env::vars_os());
    variables.insert(RUN_MARKER.into(), spec.id.clone().into());
    variables
}

/// Distinguishes a missing folder from a missing program: the system reports "not found" for both.
fn start_error(spec: &ChildSpec, program: String, source: io::Error) -> StartError {
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
