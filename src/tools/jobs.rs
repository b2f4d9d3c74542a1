//! The processes that outlive the call that started them: one registry per run of an agent.
//!
//! Every job's end is reported exactly once: by the call of the agent that killed it or waited for it, otherwise by a
//! [`Completion`]. Finished jobs stay for a while, so that a late question about one still has an answer.

mod report;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};

pub use report::{Report, report};

use crate::model::BlobRef;
use crate::model::event::BackgroundRef;
use crate::process::{Exit, Process};
use crate::tools::blobs::BlobSink;
use crate::tools::live::{LiveSink, Stream};

/// How many finished jobs are remembered.
const REMEMBERED: usize = 32;

/// A job's end, for whoever owns the run: it becomes a message to the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    pub id: String,
    pub command: String,
    pub exit: Exit,
    pub duration: Duration,
    /// The output, bounded, with the way to the rest.
    pub text: String,
    pub full: Option<BlobRef>,
}

/// What a process needs for as long as it runs.
pub(super) type Belongings = Box<dyn Send>;

/// A process in the background.
pub(super) struct Job {
    pub(super) id: String,
    pub(super) command: String,
    pub(super) process: Process,
    pub(super) started: Instant,
    finished: OnceLock<Completion>,
    audience: Mutex<Audience>,
}

/// Who reports the end of a job to the agent.
#[derive(Debug, Default)]
struct Audience {
    /// How many calls of the agent wait for the end, and will report it.
    waiting: usize,
    /// The end was reported, or is about to be.
    reported: bool,
}

/// A call of the agent that waits for the end of a job. As long as one waits, nothing else reports the end; if none of
/// them does in the end, a [`Completion`] does.
pub(super) struct Waiter {
    jobs: Arc<Jobs>,
    pub(super) job: Arc<Job>,
}

impl Waiter {
    /// Takes note that the end is reported by this call.
    pub(super) fn report(self) {
        self.job.audience().reported = true;
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.job.audience().waiting -= 1;
        self.jobs.report_if_nobody_does(&self.job);
    }
}

impl Job {
    pub(super) fn reference(&self) -> BackgroundRef {
        BackgroundRef { id: self.id.clone(), command: self.command.clone() }
    }

    fn audience(&self) -> MutexGuard<'_, Audience> {
        self.audience.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn finished(&self) -> Option<&Completion> {
        self.finished.get()
    }

    /// Shows what it prints, until it prints nothing any more.
    async fn show(&self, live: &dyn LiveSink) {
        let mut output = Stream::of_process(&self.id, self.process.output(), live);
        match self.process.error() {
            Some(error) => {
                let mut error = Stream::of_process(&self.id, error, live);
                tokio::join!(output.follow(), error.follow());
            }
            None => output.follow().await,
        }
    }
}

/// The background processes of one run. Whoever owns the run calls [`Jobs::end_all`] before dropping it: until then
/// every process is looked after, also when nobody else holds the registry.
pub struct Jobs {
    table: Mutex<Table>,
    completions: mpsc::UnboundedSender<Completion>,
    blobs: Arc<dyn BlobSink>,
    budget: usize,
    /// Counts ends, so that waiting for "any of them" needs no list of handles.
    ends: watch::Sender<u64>,
}

#[derive(Default)]
struct Table {
    jobs: BTreeMap<String, Arc<Job>>,
    /// The run is over: what comes now would outlive it.
    closing: bool,
}

impl Jobs {
    /// Returns an empty registry. A job's end goes to `completions`, unless a call of the agent reports it; its text has
    /// about `budget` bytes.
    pub fn new(completions: mpsc::UnboundedSender<Completion>, blobs: Arc<dyn BlobSink>, budget: usize) -> Arc<Self> {
        let ends = watch::Sender::new(0);
        Arc::new(Self { table: Mutex::default(), completions, blobs, budget, ends })
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a process over. From now on it lives until it ends, is killed, or the run is over; if it is over already,
    /// it is killed at once.
    /// What it prints goes to `live`; `belongings` go when it is gone.
    pub(super) fn adopt(
        self: &Arc<Self>,
        process: Process,
        command: String,
        started: Instant,
        live: Arc<dyn LiveSink>,
        belongings: Belongings,
    ) -> Arc<Job> {
        let id = process.id().to_owned();
        let job = Arc::new(Job {
            id: id.clone(),
            command,
            process,
            started,
            finished: OnceLock::new(),
            audience: Mutex::default(),
        });
        let mut table = self.lock();
        table.jobs.insert(id, Arc::clone(&job));
        if table.closing {
            job.process.kill();
        }
        drop(table);
        tokio::spawn(Arc::clone(self).follow(Arc::clone(&job), live, belongings));
        job
    }

    async fn follow(self: Arc<Self>, job: Arc<Job>, live: Arc<dyn LiveSink>, belongings: Belongings) {
        let exit = tokio::select! {
            biased;
            exit = job.process.gone() => exit,
            () = job.show(&*live) => job.process.gone().await,
        };
        drop(belongings);
        let duration = job.started.elapsed();
        let Report { text, full } = report(&job.process, self.budget, &*self.blobs).await;
        let completion = Completion { id: job.id.clone(), command: job.command.clone(), exit, duration, text, full };
        if job.finished.set(completion).is_err() {
            return;
        }
        self.forget_oldest();
        self.report_if_nobody_does(&job);
        self.ends.send_modify(|ends| *ends += 1);
    }

    /// Sends the completion of a job that has ended, unless its end was reported or a call waits to report it.
    fn report_if_nobody_does(&self, job: &Job) {
        let Some(completion) = job.finished() else { return };
        let mut audience = job.audience();
        if audience.waiting == 0 && !std::mem::replace(&mut audience.reported, true) {
            // Nobody listens any more only when the run itself is over.
            let _ = self.completions.send(completion.clone());
        }
    }

    /// Lets a call of the agent wait for the end of a job, and report it.
    pub(super) fn wait_for(self: &Arc<Self>, job: Arc<Job>) -> Waiter {
        job.audience().waiting += 1;
        Waiter { jobs: Arc::clone(self), job }
    }

    fn forget_oldest(&self) {
        let mut table = self.lock();
        let mut finished: Vec<(Instant, String)> = table
            .jobs
            .values()
            .filter(|job| job.finished().is_some())
            .map(|job| (job.started, job.id.clone()))
            .collect();
        finished.sort_unstable();
        for (_, id) in finished.iter().take(finished.len().saturating_sub(REMEMBERED)) {
            table.jobs.remove(id);
        }
    }

    pub(super) fn get(&self, id: &str) -> Option<Arc<Job>> {
        self.lock().jobs.get(id).cloned()
    }

    /// Returns every job that is remembered, oldest first.
    pub(super) fn all(&self) -> Vec<Arc<Job>> {
        let mut all: Vec<_> = self.lock().jobs.values().cloned().collect();
        all.sort_by_key(|job| job.started);
        all
    }

    /// Asks for the end of one job. Tells whether it was running.
    pub fn kill(&self, id: &str) -> bool {
        let running = self.get(id).filter(|job| job.finished().is_none());
        if let Some(job) = &running {
            job.process.kill();
        }
        running.is_some()
    }

    /// Ends every job and waits until all of them are gone and reported. What is adopted later ends at once.
    pub async fn end_all(&self) {
        let mut ends = self.ends.subscribe();
        self.lock().closing = true;
        for job in self.all() {
            job.process.kill();
        }
        let _ = ends.wait_for(|_| self.all().iter().all(|job| job.finished().is_some())).await;
    }

    /// Waits until one of `wanted` has finished.
    pub(super) async fn any_finished(&self, wanted: &[Waiter]) {
        let mut ends = self.ends.subscribe();
        let _ = ends.wait_for(|_| wanted.iter().any(|waiter| waiter.job.finished().is_some())).await;
    }
}
