//! The one place that runs the `git` program, and how: the repository pinned by environment so that nothing in a
//! worktree can point it elsewhere, no hooks, no fsmonitor, no signing, no prompt, no fetch, no stdin unless there is
//! something to say, bounded output, a time limit, English messages.
//!
//! What still runs by the repository's configuration is its content filters, in the calls that fill or compare a
//! worktree: without them Git LFS would not work.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::{sleep, timeout};

use super::error::Error;
use super::exec_settings;
use super::library;
use crate::process::{Environment, Spec, converse};

/// How long a call may take that does not touch files in number.
pub(super) const SHORT: Duration = Duration::from_mins(2);
/// How long a call may take that fills a worktree.
pub(super) const LONG: Duration = Duration::from_mins(60);
/// How much a call may answer.
const ANSWER: usize = 64 << 20;
/// How much of git's complaint is repeated.
const COMPLAINT: usize = 2_000;
/// How often a call is made again that found a lock held, and how long it first waits.
const TRIES: u32 = 8;
const FIRST_WAIT: Duration = Duration::from_millis(20);
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/// Settings that hold in our own calls whatever the repository says.
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

/// The name that stands on commits which only Matrix sees.
pub(super) const OURSELVES: (&str, &str) = ("mxd", "mxd@localhost");

/// One checkout of a repository: its folder, and where git keeps what belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkout {
    pub path: PathBuf,
    /// What belongs to this checkout alone: HEAD, index.
    pub git_dir: PathBuf,
    /// What all checkouts share: objects, branches, settings.
    pub common: PathBuf,
}

impl Checkout {
    /// Opens the checkout for reading, where it was pinned and not where its own files say.
    pub(super) fn open(&self) -> Result<git2::Repository, Error> {
        let failed = Error::read(&self.path);
        let repository = library::open(&self.git_dir).map_err(&failed)?;
        repository.set_workdir(&self.path, false).map_err(&failed)?;
        Ok(repository)
    }

    /// Returns what takes the place of settings with which the repository would run programs.
    fn harmless_settings(&self) -> Result<exec_settings::Overrides, Error> {
        // A checkout whose own files are torn has no settings of its own that git would read.
        let opened = library::open(&self.git_dir).or_else(|_| library::open(&self.common));
        exec_settings::overrides(&opened.map_err(Error::read(&self.path))?)
    }

    /// Returns a call of git in this checkout.
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
            settings: SETTINGS.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        }
    }

    fn environment(&self) -> Environment {
        Environment::new()
            .with("GIT_DIR", &self.git_dir)
            .with("GIT_COMMON_DIR", &self.common)
            // Missing objects of a partial clone are fetched only where that is asked for.
            .with("GIT_NO_LAZY_FETCH", "1")
            // The folder that the call starts in, whatever its path leads to by then.
            .with("GIT_WORK_TREE", ".")
            .with("GIT_OPTIONAL_LOCKS", "0")
            .with("GIT_ADVICE", "0")
            .with("LC_ALL", "C")
            .with("LANGUAGE", "C")
    }
}

/// A call of git, before it is made.
#[derive(Clone, Debug)]
#[must_use]
pub(super) struct Call {
    arguments: Vec<OsString>,
    cwd: PathBuf,
    /// The checkout to run in. Its folder is opened and made sure of at the last moment.
    checkout: Option<Checkout>,
    environment: Environment,
    limit: Duration,
    input: Vec<u8>,
    records: Option<PathBuf>,
    fetches: bool,
    settings: Vec<(String, String)>,
}

impl Call {
    /// Returns a call that is about git itself and no repository.
    pub(super) fn anywhere<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Self {
        Self {
            arguments: arguments.into_iter().map(|argument| argument.as_ref().to_owned()).collect(),
            // There always is one, whatever TMPDIR says.
            cwd: PathBuf::from("/"),
            checkout: None,
            environment: Environment::new().with("LC_ALL", "C").with("LANGUAGE", "C"),
            limit: SHORT,
            input: Vec::new(),
            records: None,
            fetches: false,
            settings: Vec::new(),
        }
    }

    pub(super) fn argument(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// Gives the call as long as filling a worktree takes, and a record that lets a crash's leftover be ended.
    pub(super) fn long(mut self, records: Option<&Path>) -> Self {
        self.limit = LONG;
        self.records = records.map(Path::to_owned);
        self
    }

    /// Lets git fetch objects that a partial clone does not have yet. Which programs that may run is decided by the user's
    /// own settings and not by the repository's.
    pub(super) fn fetching(mut self) -> Self {
        self.fetches = true;
        self
    }

    pub(super) fn input(mut self, input: Vec<u8>) -> Self {
        self.input = input;
        self
    }

    /// Works on another index than the checkout's own.
    pub(super) fn index(mut self, index: &Path) -> Self {
        self.environment = self.environment.with("GIT_INDEX_FILE", index);
        self
    }

    /// Takes files byte for byte: no line ending, encoding or filter is applied on the way in or out.
    pub(super) fn raw(mut self) -> Self {
        self.environment = self.environment.with("GIT_ATTR_SOURCE", EMPTY_TREE);
        for (key, value) in
            [("core.autocrlf", "false"), ("core.safecrlf", "false"), ("core.attributesFile", "/dev/null")]
        {
            self.settings.push((key.to_owned(), value.to_owned()));
        }
        self
    }

    /// Saves what is made against a loss of power, with one flush per call.
    pub(super) fn durable(mut self) -> Self {
        for (key, value) in [("core.fsync", "committed,loose-object,reference"), ("core.fsyncMethod", "batch")] {
            self.settings.push((key.to_owned(), value.to_owned()));
        }
        self
    }

    /// Signs what is made with Matrix' own name: nobody's settings are needed for it.
    pub(super) fn by_ourselves(mut self) -> Self {
        let (name, email) = OURSELVES;
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

    /// Makes the call; anything but success is an error with what git said.
    pub(super) async fn run(self) -> Result<Vec<u8>, Error> {
        let (call, folder) = (self.name(), self.cwd.clone());
        let answer = self.answer().await?;
        if answer.code == Some(0) {
            return Ok(answer.out);
        }
        Err(Error::Failed { call, folder, code: answer.code, said: answer.said })
    }

    /// Makes the call again for a while if somebody else holds one of git's locks.
    pub(super) async fn run_patiently(self) -> Result<Vec<u8>, Error> {
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

    /// Makes the call and trims the line it answers.
    pub(super) async fn line(self) -> Result<String, Error> {
        let out = self.run().await?;
        Ok(String::from_utf8_lossy(&out).trim_end().to_owned())
    }

    /// Makes the call, whatever its exit code.
    pub(super) async fn answer(self) -> Result<Answer, Error> {
        static CALLS: AtomicU64 = AtomicU64::new(0);
        let call = self.name();
        let mut spec =
            Spec::new(format!("git-{}-{}", std::process::id(), CALLS.fetch_add(1, Ordering::Relaxed)), "git", self.cwd);
        spec.shown = format!("git {call}");
        spec.arguments = self.arguments;
        spec.records = self.records;
        let (mut settings, mut environment, mut unfetched) = (self.settings, self.environment, String::new());
        if let Some(checkout) = &self.checkout {
            spec.cwd_dir = Some(checkout.handle()?);
            // Before ours, which win over them.
            let overrides = checkout.harmless_settings()?;
            settings.splice(0..0, overrides.settings);
            if overrides.own_proxy {
                let (name, value) = exec_settings::NO_PROXY;
                environment = environment.with(name, value);
            }
            if let Some(transport) = overrides.own_transport.filter(|_| self.fetches) {
                unfetched = format!(
                    ". Nothing was fetched, because the setting {transport} of the repository names a program of its own to \
                     fetch with; unset it if you do not know it"
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
        let (process, mut dialogue) = converse(spec)?;
        let input = self.input;
        let speak = async move {
            // A git that stops listening says why by itself.
            let _ = dialogue.input.write_all(&input).await;
            drop(dialogue.input);
        };
        let mut out = Vec::new();
        let mut bounded = dialogue.output.take(ANSWER as u64 + 1);
        let listen = async {
            let _ = bounded.read_to_end(&mut out).await;
            out
        };
        let talk = async {
            let ((), out) = tokio::join!(speak, listen);
            if out.len() > ANSWER {
                return Err(Error::TooMuch { call: call.clone(), cap: ANSWER });
            }
            Ok((out, process.left().await))
        };
        let Ok(done) = timeout(self.limit, talk).await else {
            return Err(Error::TooSlow { call, limit: self.limit });
        };
        let (out, exit) = done?;
        let complaint = process.output().glimpse().head;
        let complaint = String::from_utf8_lossy(&complaint[..complaint.len().min(COMPLAINT)]).trim().to_owned();
        let said = if complaint.is_empty() { "it did not say why".to_owned() } else { complaint };
        Ok(Answer { code: exit.code, out, said: said + &unfetched })
    }
}

/// What came of a call.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) code: Option<i32>,
    pub(super) out: Vec<u8>,
    pub(super) said: String,
}
