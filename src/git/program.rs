//! Runs the `git` program. The only place that does.
//!
//! The repository is fixed by the environment, so that nothing in a worktree can redirect it. No hooks, fsmonitor,
//! signing, prompts or fetches; no stdin unless there is input; bounded output, a timeout, English messages. The
//! repository's content filters still run in calls that fill or compare a worktree: without them Git LFS would not
//! work.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::time::{sleep, timeout};

use super::error::Error;
use super::exec_settings;
use super::library;
use super::shadow::Inside;
use crate::process::{ChildSpec, Environment, Process, StdioPipes, start_with_stdio};

/// The timeout of calls that do not touch many files.
pub(super) const SHORT: Duration = Duration::from_mins(2);
/// The timeout of calls that fill a worktree.
pub(super) const LONG: Duration = Duration::from_mins(60);
/// The most output of a call.
const MAX_OUTPUT: usize = 64 << 20;
/// Bytes of git's error output that are repeated.
const MAX_MESSAGE: usize = 2_000;
/// Attempts of a call that finds a lock held, and the first delay.
const TRIES: u32 = 8;
const FIRST_WAIT: Duration = Duration::from_millis(20);
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/// Settings of our own calls, whatever the repository has configured.
const SETTINGS: &[(&str, &str)] = &[
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("protocol.ext.allow", "never"),
    ("commit.gpgSign", "false"),
    ("tag.gpgSign", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("submodule.recurse", "false"),
    ("core.quotePath", "false"),
    ("color.ui", "false"),
];

/// The author of commits that only Matrix sees.
pub(super) const MXD_IDENTITY: (&str, &str) = ("mxd", "mxd@localhost");

/// One checkout of a repository: its folder and its git folders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkout {
    pub path: PathBuf,
    /// The git folder of this checkout: HEAD, index.
    pub git_dir: PathBuf,
    /// The git folder shared by all checkouts: objects, branches, settings.
    pub common: PathBuf,
}

impl Checkout {
    /// Opens the checkout with libgit2, at the fixed git folder and not where its own `.git` points.
    pub(super) fn open(&self) -> Result<git2::Repository, Error> {
        let failed = Error::read(&self.path);
        let repository = library::open(&self.git_dir).map_err(&failed)?;
        repository.set_workdir(&self.path, false).map_err(&failed)?;
        Ok(repository)
    }

    /// Returns the replacements for repository settings that would run programs.
    fn safe_overrides(&self) -> Result<exec_settings::Overrides, Error> {
        // A checkout with a damaged git folder has no settings of its own.
        let opened = library::open(&self.git_dir).or_else(|_| library::open(&self.common));
        exec_settings::overrides(&opened.map_err(Error::read(&self.path))?)
    }

    /// Returns a git call in this checkout.
    pub(super) fn git<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Call {
        Call {
            arguments: arguments.into_iter().map(|argument| argument.as_ref().to_owned()).collect(),
            cwd: self.path.clone(),
            checkout: Some(self.clone()),
            environment: self.environment(),
            limit: SHORT,
            input: Vec::new(),
            records: None,
            fetches: false,
            inside: None,
            settings: SETTINGS.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        }
    }

    fn environment(&self) -> Environment {
        Environment::new()
            .with("GIT_DIR", &self.git_dir)
            .with("GIT_COMMON_DIR", &self.common)
            // Missing objects of a partial clone are fetched only on request.
            .with("GIT_NO_LAZY_FETCH", "1")
            // The folder that the call starts in, wherever its path points by then.
            .with("GIT_WORK_TREE", ".")
            .with("GIT_OPTIONAL_LOCKS", "0")
            .with("GIT_ADVICE", "0")
            .with("LC_ALL", "C")
            .with("LANGUAGE", "C")
    }
}

/// A git call that was not started yet.
#[derive(Clone, Debug)]
#[must_use]
pub(super) struct Call {
    arguments: Vec<OsString>,
    cwd: PathBuf,
    /// The checkout to run in. Its folder is opened and verified at the last moment.
    checkout: Option<Checkout>,
    environment: Environment,
    limit: Duration,
    input: Vec<u8>,
    records: Option<PathBuf>,
    fetches: bool,
    settings: Vec<(String, String)>,
    /// The sandbox to run in.
    inside: Option<Arc<dyn Inside>>,
}

impl Call {
    /// Returns a call that runs inside a sandbox, on the repository that is mounted there at the paths of `checkout`.
    /// Nothing of the repository is read or verified out here.
    pub(super) fn inside<A: AsRef<OsStr>>(
        checkout: &Checkout,
        sandbox: Arc<dyn Inside>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Self {
        let mut call = checkout.git(arguments);
        // A folder opened out here would lead out of the sandbox.
        call.checkout = None;
        call.cwd = PathBuf::from("/");
        call.environment = call.environment.with("GIT_WORK_TREE", &checkout.path);
        call.inside = Some(sandbox);
        call
    }

    /// Returns a call without a repository.
    pub(super) fn anywhere<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Self {
        Self {
            arguments: arguments.into_iter().map(|argument| argument.as_ref().to_owned()).collect(),
            // Always exists, whatever TMPDIR is.
            cwd: PathBuf::from("/"),
            checkout: None,
            environment: Environment::new().with("LC_ALL", "C").with("LANGUAGE", "C"),
            limit: SHORT,
            input: Vec::new(),
            records: None,
            fetches: false,
            inside: None,
            settings: Vec::new(),
        }
    }

    pub(super) fn argument(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// Sets the long timeout, and the folder for a process record, so that a crash leaves no git running.
    pub(super) fn long(mut self, records: Option<&Path>) -> Self {
        self.limit = LONG;
        self.records = records.map(Path::to_owned);
        self
    }

    /// Lets git fetch missing objects of a partial clone. The user's settings, not the repository's, decide which
    /// programs that runs.
    pub(super) fn fetching(mut self) -> Self {
        self.fetches = true;
        self
    }

    pub(super) fn input(mut self, input: Vec<u8>) -> Self {
        self.input = input;
        self
    }

    /// Uses another index than the checkout's own.
    pub(super) fn index(mut self, index: &Path) -> Self {
        self.environment = self.environment.with("GIT_INDEX_FILE", index);
        self
    }

    /// Writes new objects to `quarantine`, and reads those of the repository `common` as well.
    pub(super) fn quarantine(mut self, quarantine: &Path, common: &Path) -> Self {
        self.environment = self
            .environment
            .with("GIT_OBJECT_DIRECTORY", quarantine)
            .with("GIT_ALTERNATE_OBJECT_DIRECTORIES", common.join("objects"))
            .with("GIT_QUARANTINE_PATH", quarantine);
        self
    }

    /// Reads and writes files byte for byte: no line end conversion, encoding or filter.
    pub(super) fn raw(mut self) -> Self {
        self.environment = self.environment.with("GIT_ATTR_SOURCE", EMPTY_TREE);
        for (key, value) in
            [("core.autocrlf", "false"), ("core.safecrlf", "false"), ("core.attributesFile", "/dev/null")]
        {
            self.settings.push((key.to_owned(), value.to_owned()));
        }
        self
    }

    /// Flushes written objects to disk, once per call.
    pub(super) fn durable(mut self) -> Self {
        for (key, value) in [("core.fsync", "committed,loose-object,reference"), ("core.fsyncMethod", "batch")] {
            self.settings.push((key.to_owned(), value.to_owned()));
        }
        self
    }

    /// Commits as Matrix itself, independent of the user's settings.
    pub(super) fn with_own_identity(mut self) -> Self {
        let (name, email) = MXD_IDENTITY;
        for role in ["AUTHOR", "COMMITTER"] {
            self.environment =
                self.environment.with(format!("GIT_{role}_NAME"), name).with(format!("GIT_{role}_EMAIL"), email);
        }
        self
    }

    fn name(&self) -> String {
        let words = self.arguments.iter().take(2).map(|word| word.to_string_lossy().into_owned());
        words.collect::<Vec<_>>().join(" ")
    }

    /// Runs the call. A failure is an error with git's message.
    pub(super) async fn run(self) -> Result<Vec<u8>, Error> {
        let (call, folder) = (self.name(), self.cwd.clone());
        let output = self.output().await?;
        if output.code == Some(0) {
            return Ok(output.out);
        }
        Err(Error::Failed { call, folder, code: output.code, message: output.message })
    }

    /// Runs the call, and retries for a while if another process holds one of git's locks.
    pub(super) async fn run_with_retries(self) -> Result<Vec<u8>, Error> {
        let mut wait = FIRST_WAIT;
        for _ in 1..TRIES {
            match self.clone().run().await {
                Err(error) if error.is_contention() => {
                    tracing::debug!(%error, "git found a lock held; trying again");
                    sleep(wait).await;
                    wait *= 2;
                }
                done => return done,
            }
        }
        self.run().await
    }

    /// Runs the call and returns its output as one trimmed line.
    pub(super) async fn line(self) -> Result<String, Error> {
        let out = self.run().await?;
        Ok(String::from_utf8_lossy(&out).trim_end().to_owned())
    }

    /// Runs the call and returns its output, whatever its exit code.
    pub(super) async fn output(mut self) -> Result<CallOutput, Error> {
        let input = std::mem::take(&mut self.input);
        self.output_of(&mut input.as_slice()).await
    }

    /// Runs the call with input from a stream. A failure is an error with git's message.
    pub(super) async fn run_on(self, input: &mut (dyn AsyncRead + Send + Unpin)) -> Result<Vec<u8>, Error> {
        let (call, folder) = (self.name(), self.cwd.clone());
        let output = self.output_of(input).await?;
        if output.code == Some(0) {
            return Ok(output.out);
        }
        Err(Error::Failed { call, folder, code: output.code, message: output.message })
    }

    /// Starts the call. The caller reads its output while it runs.
    pub(super) fn start(self) -> Result<(RunningCall, StdioPipes), Error> {
        static CALLS: AtomicU64 = AtomicU64::new(0);
        let (call, limit) = (self.name(), self.limit);
        let mut spec = ChildSpec::new(
            format!("git-{}-{}", std::process::id(), CALLS.fetch_add(1, Ordering::Relaxed)),
            "git",
            self.cwd.clone(),
        );
        spec.label = format!("git {call}");
        spec.arguments = self.arguments;
        spec.records = self.records;
        let (mut settings, mut environment, mut fetch_note) = (self.settings, self.environment, String::new());
        if let Some(checkout) = &self.checkout {
            spec.cwd_dir = Some(checkout.handle()?);
            // Before our own settings, which take precedence.
            let overrides = checkout.safe_overrides()?;
            settings.splice(0..0, overrides.settings);
            if overrides.own_proxy {
                let (name, value) = exec_settings::NO_PROXY;
                environment = environment.with(name, value);
            }
            if let Some(transport) = overrides.own_transport.filter(|_| self.fetches) {
                fetch_note = format!(
                    ". Nothing was fetched, because the repository's setting {transport} names a program to fetch with; \
                     unset it if you do not know it"
                );
            } else if self.fetches {
                environment = environment.with("GIT_NO_LAZY_FETCH", "0");
            }
        }
        spec.environment = environment.with("GIT_CONFIG_COUNT", settings.len().to_string());
        for (at, (key, value)) in settings.iter().enumerate() {
            spec.environment = spec.environment.with(format!("GIT_CONFIG_KEY_{at}"), key);
            spec.environment = spec.environment.with(format!("GIT_CONFIG_VALUE_{at}"), value);
        }
        if let Some(sandbox) = self.inside {
            spec = sandbox.enter(spec);
        }
        let (process, stdio) = start_with_stdio(spec)?;
        Ok((RunningCall { call, folder: self.cwd, limit, fetch_note, process }, stdio))
    }

    async fn output_of(self, input: &mut (dyn AsyncRead + Send + Unpin)) -> Result<CallOutput, Error> {
        let (running, StdioPipes { input: mut pipe, output }) = self.start()?;
        let RunningCall { call, limit, fetch_note, process, .. } = running;
        let write_input = async move {
            // A git that stops reading reports the reason itself.
            let _ = tokio::io::copy(input, &mut pipe).await;
            drop(pipe);
        };
        let mut out = Vec::new();
        let mut bounded = output.take(MAX_OUTPUT as u64 + 1);
        let read_output = async {
            let _ = bounded.read_to_end(&mut out).await;
            out
        };
        let run = async {
            let ((), out) = tokio::join!(write_input, read_output);
            if out.len() > MAX_OUTPUT {
                return Err(Error::TooMuch { call: call.clone(), cap: MAX_OUTPUT });
            }
            Ok((out, process.wait_exited().await))
        };
        let Ok(done) = timeout(limit, run).await else {
            return Err(Error::TooSlow { call, limit });
        };
        let (out, exit) = done?;
        Ok(CallOutput { code: exit.code, out, message: error_message(&process) + &fetch_note })
    }
}

/// Returns what a git process wrote to its error stream.
fn error_message(process: &Process) -> String {
    let stderr = process.output().snapshot().head;
    let stderr = String::from_utf8_lossy(&stderr[..stderr.len().min(MAX_MESSAGE)]).trim().to_owned();
    if stderr.is_empty() { "no error message".to_owned() } else { stderr }
}

/// A git process that was started.
#[derive(Debug)]
pub(super) struct RunningCall {
    call: String,
    folder: PathBuf,
    limit: Duration,
    fetch_note: String,
    process: Process,
}

impl RunningCall {
    /// Waits for the end of a call whose output was read.
    pub(super) async fn finish(self) -> Result<(), Error> {
        let Ok(exit) = timeout(self.limit, self.process.wait_exited()).await else {
            return Err(Error::TooSlow { call: self.call, limit: self.limit });
        };
        if exit.is_success() {
            return Ok(());
        }
        let message = error_message(&self.process);
        Err(Error::Failed { call: self.call, folder: self.folder, code: exit.code, message })
    }
}

/// The output of a call.
#[derive(Debug)]
pub(super) struct CallOutput {
    pub(super) code: Option<i32>,
    pub(super) out: Vec<u8>,
    pub(super) message: String,
}
