//! Background processes: one registry per run of an agent.
//!
//! Every job's end is reported exactly once: by the agent's call that killed it or waited for it, otherwise by a
//! [`Completion`]. Finished jobs stay for a while, so that the agent can still ask about them.

mod report;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};

pub use report::{OutputReport, report};

use crate::model::BlobRef;
use crate::model::event::BackgroundRef;
use crate::process::{Process, ProcessExit};
use crate::tools::blobs::BlobSink;
use crate::tools::live::{LiveOutput, LiveSink};

/// How many finished jobs are kept.
const MAX_FINISHED: usize = 32;

/// The end of a job, for the owner of the run: it becomes a message to the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    pub id: String,
    pub command: String,
    pub exit: ProcessExit,
    pub duration: Duration,
    /// The output, bounded, with a reference to the rest.
    pub text: String,
    pub full: Option<BlobRef>,
}

/// Resources that a process needs for as long as it runs.
pub(super) type KeepAlive = Box<dyn Send>;

pub(super) struct BackgroundJob {
    pub(super) id: String,
    pub(super) command: String,
    pub(super) process: Process,
    pub(super) started: Instant,
    finished: OnceLock<Completion>,
    report_state: Mutex<ReportState>,
}

/// Who reports the end of a job to the agent.
#[derive(Debug, Default)]
struct ReportState {
    /// The number of the agent's calls that wait for the end, and will report it.
    waiting: usize,
    /// The end was reported, or is about to be.
    reported: bool,
}

/// A call of the agent that waits for the end of a job. While one waits, no completion is sent; if none of them
/// reports the end, a [`Completion`] is sent.
pub(super) struct Waiter {
    jobs: Arc<BackgroundJobs>,
    pub(super) job: Arc<BackgroundJob>,
}

impl Waiter {
    /// Records that this call reports the end.
    pub(super) fn report(self) {
        self.job.lock_report_state().reported = true;
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.job.lock_report_state().waiting -= 1;
        self.jobs.report_unclaimed(&self.job);
    }
}

impl BackgroundJob {
    pub(super) fn reference(&self) -> BackgroundRef {
        BackgroundRef { id: self.id.clone(), command: self.command.clone() }
    }

    fn lock_report_state(&self) -> MutexGuard<'_, ReportState> {
        self.report_state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn finished(&self) -> Option<&Completion> {
        self.finished.get()
    }

    /// Streams the output until it ends.
    async fn show(&self, live: &dyn LiveSink) {
        let mut output = LiveOutput::of_process(&self.id, self.process.output(), live);
        match self.process.error() {
            Some(error) => {
                let mut error = LiveOutput::of_process(&self.id, error, live);
                tokio::join!(output.follow(), error.follow());
            }
            None => output.follow().await,
        }
    }
}

/// The background processes of one run. The owner of the run calls [`BackgroundJobs::end_all`] before dropping it:
/// until then every process is supervised, even if nothing else holds the registry.
pub struct BackgroundJobs {
    table: Mutex<Table>,
    completions: mpsc::UnboundedSender<Completion>,
    blobs: Arc<dyn BlobSink>,
    budget: usize,
    /// Counts ends, so that waiting for any of them needs no list of handles.
    ends: watch::Sender<u64>,
}

#[derive(Default)]
struct Table {
    jobs: BTreeMap<String, Arc<BackgroundJob>>,
    /// The run is over: new processes would outlive it.
    closing: bool,
}

impl BackgroundJobs {
    /// Returns an empty registry. A job's end goes to `completions`, unless a call of the agent reports it; its text
    /// has about `budget` bytes.
    pub fn new(completions: mpsc::UnboundedSender<Completion>, blobs: Arc<dyn BlobSink>, budget: usize) -> Arc<Self> {
        let ends = watch::Sender::new(0);
        Arc::new(Self { table: Mutex::default(), completions, blobs, budget, ends })
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes over a process until it ends, is killed, or the run is over; if the run is already over, the process is
    /// killed at once. Its output goes to `live`; `resources` are dropped after it has ended.
    pub(super) fn adopt(
        self: &Arc<Self>,
        process: Process,
        command: String,
        started: Instant,
        live: Arc<dyn LiveSink>,
        resources: KeepAlive,
    ) -> Arc<BackgroundJob> {
        let id = process.id().to_owned();
        let job = Arc::new(BackgroundJob {
            id: id.clone(),
            command,
            process,
            started,
            finished: OnceLock::new(),
            report_state: Mutex::default(),
        });
        let mut table = self.lock();
        table.jobs.insert(id, Arc::clone(&job));
        if table.closing {
            job.process.kill();
        }
        drop(table);
        tokio::spawn(Arc::clone(self).follow(Arc::clone(&job), live, resources));
        job
    }

    async fn follow(self: Arc<Self>, job: Arc<BackgroundJob>, live: Arc<dyn LiveSink>, resources: KeepAlive) {
        let exit = tokio::select! {
            biased;
            exit = job.process.wait_gone() => exit,
            () = job.show(&*live) => job.process.wait_gone().await,
        };
        drop(resources);
        let duration = job.started.elapsed();
        let OutputReport { text, full } = report(&job.process, self.budget, &*self.blobs).await;
        let completion = Completion { id: job.id.clone(), command: job.command.clone(), exit, duration, text, full };
        if job.finished.set(completion).is_err() {
            return;
        }
        self.drop_oldest();
        self.report_unclaimed(&job);
        self.ends.send_modify(|ends| *ends += 1);
    }

    /// Sends the completion of an ended job, unless its end was reported or a call waits to report it.
    fn report_unclaimed(&self, job: &BackgroundJob) {
        let Some(completion) = job.finished() else { return };
        let mut audience = job.lock_report_state();
        if audience.waiting == 0 && !std::mem::replace(&mut audience.reported, true) {
            // Sending fails only when the run itself is over.
            let _ = self.completions.send(completion.clone());
        }
    }

    /// Registers a call of the agent that waits for the end of a job and reports it.
    pub(super) fn wait_for(self: &Arc<Self>, job: Arc<BackgroundJob>) -> Waiter {
        job.lock_report_state().waiting += 1;
        Waiter { jobs: Arc::clone(self), job }
    }

    fn drop_oldest(&self) {
        let mut table = self.lock();
        let mut finished: Vec<(Instant, String)> = table
            .jobs
            .values()
            .filter(|job| job.finished().is_some())
            .map(|job| (job.started, job.id.clone()))
            .collect();
        finished.sort_unstable();
        for (_, id) in finished.iter().take(finished.len().saturating_sub(MAX_FINISHED)) {
            table.jobs.remove(id);
        }
    }

    pub(super) fn get(&self, id: &str) -> Option<Arc<BackgroundJob>> {
        self.lock().jobs.get(id).cloned()
    }

    /// Returns every known job, oldest first.
    pub(super) fn all(&self) -> Vec<Arc<BackgroundJob>> {
        let mut all: Vec<_> = self.lock().jobs.values().cloned().collect();
        all.sort_by_key(|job| job.started);
        all
    }

    /// Kills one job. Returns false if it was not running.
    pub fn kill(&self, id: &str) -> bool {
        let running = self.get(id).filter(|job| job.finished().is_none());
        if let Some(job) = &running {
            job.process.kill();
        }
        running.is_some()
    }

    /// Kills every job and waits until all of them have ended and are reported. Later jobs are killed at once.
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
