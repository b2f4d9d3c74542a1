//! Admits connections to hosts. One gate per project, so that a host is asked about once.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::watch;

use super::address::Reach;
use super::host::{HostError, Target};
use super::policy::{Grant, Listing};

/// The most hosts that wait for an answer at a time. An agent that tries names at random must not fill the user's list.
const MAX_QUESTIONS: usize = 16;
/// The most decisions and refusals that are kept for one client.
const MAX_KEPT: usize = 256;
/// How long a connection waits for an answer. The question stays.
const PATIENCE: Duration = Duration::from_mins(10);

/// Knows which hosts are allowed, and asks about others.
pub trait HostJudge: Send + Sync + 'static {
    /// Returns what is known about a host, by the settings as they are now.
    fn listing(&self, target: &Target) -> Listing;

    /// Asks about an unknown host. `asker` is the client whose connection came first. Saves an answer for the project
    /// before it returns. Called once at a time per host.
    fn ask(&self, asker: &str, target: &Target) -> BoxFuture<'static, Answer>;
}

/// The answer to a question about a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// For the clients that wait, as long as they live.
    Once,
    /// Allowed for the project.
    Project,
    /// Refused to the clients that wait, as long as they live.
    No,
    /// Refused for the project.
    Never,
    /// Nobody answers: the question was withdrawn.
    Withdrawn,
}

/// Why a connection was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the address is not valid: {0}")]
    Malformed(#[from] HostError),
    #[error("{target} is denied by the rule {rule}")]
    Denied { target: Target, rule: String },
    #[error("{0} is not a listed host, and the user did not allow it")]
    NotAllowed(Target),
    #[error("{0} is not a listed host; the user was asked and has not answered yet")]
    NoAnswer(Target),
    #[error("{0} is not a listed host, and too many questions about hosts are open")]
    TooManyQuestions(Target),
    #[error("{target} leads to {address}, an address of {}; list exactly this host in sandbox.hosts to allow that", whose(*.reach))]
    Reach { target: Target, address: IpAddr, reach: Reach },
    #[error("{target} cannot be reached: {reason}")]
    Unreachable { target: Target, reason: String },
}

fn whose(reach: Reach) -> &'static str {
    match reach {
        Reach::Internet => "the internet",
        Reach::Private => "the local network",
        Reach::Machine => "this machine",
        Reach::Nowhere => "no machine",
    }
}

/// A sandbox whose connections are admitted.
#[derive(Debug)]
pub struct Client {
    /// Shown with the question.
    name: String,
    /// Answers for this client alone.
    decided: Mutex<HashMap<Question, bool>>,
    refusals: Mutex<VecDeque<Refusal>>,
}

impl Client {
    pub fn new(name: impl Into<String>) -> Arc<Self> {
        Arc::new(Self { name: name.into(), decided: Mutex::default(), refusals: Mutex::default() })
    }

    /// Returns the refusals since the last call, the oldest first.
    pub fn take_refusals(&self) -> Vec<Refusal> {
        lock(&self.refusals).drain(..).collect()
    }

    /// Records a refusal.
    pub(super) fn noted(&self, refusal: Refusal) -> Refusal {
        let mut refusals = lock(&self.refusals);
        if refusals.back() != Some(&refusal) {
            refusals.push_back(refusal.clone());
        }
        while refusals.len() > MAX_KEPT {
            refusals.pop_front();
        }
        refusal
    }

    fn decide(&self, question: &Question, allowed: bool) {
        let mut decided = lock(&self.decided);
        if decided.len() < MAX_KEPT {
            decided.insert(question.clone(), allowed);
        }
    }
}

/// What is asked: the host, with its port if that is unusual.
type Question = String;

/// The gate of a project.
pub struct Gate {
    judge: Arc<dyn HostJudge>,
    waiting: Mutex<HashMap<Question, watch::Receiver<Option<Answer>>>>,
}

impl Gate {
    pub fn new(judge: Arc<dyn HostJudge>) -> Arc<Self> {
        Arc::new(Self { judge, waiting: Mutex::default() })
    }

    /// Returns how far a client may go to a host, or refuses. Waits for the user's answer if the host is unknown.
    pub(super) async fn admit(self: &Arc<Self>, client: &Client, target: &Target) -> Result<Grant, Refusal> {
        let question = target.rule_text();
        let judged = |listing| match listing {
            Listing::Allowed(grant) => Some(Ok(grant)),
            Listing::Denied { rule } => Some(Err(Refusal::Denied { target: target.clone(), rule })),
            Listing::Unknown => None,
        };
        if let Some(done) = judged(self.judge.listing(target)) {
            return done;
        }
        let decided = lock(&client.decided).get(&question).copied();
        match decided {
            Some(true) => return Ok(Grant::Public),
            Some(false) => return Err(Refusal::NotAllowed(target.clone())),
            None => {}
        }
        let Some(mut answer) = self.question(&client.name, &question, target) else {
            return Err(Refusal::TooManyQuestions(target.clone()));
        };
        let answered = tokio::time::timeout(PATIENCE, answer.wait_for(Option::is_some)).await;
        let Ok(answered) = answered else { return Err(Refusal::NoAnswer(target.clone())) };
        match answered.ok().and_then(|answer| *answer) {
            Some(Answer::Once) => {
                client.decide(&question, true);
                Ok(Grant::Public)
            }
            // A deny rule may have been made meanwhile.
            Some(Answer::Project) => judged(self.judge.listing(target)).unwrap_or(Ok(Grant::Public)),
            Some(Answer::No) => {
                client.decide(&question, false);
                Err(Refusal::NotAllowed(target.clone()))
            }
            Some(Answer::Never | Answer::Withdrawn) | None => Err(Refusal::NotAllowed(target.clone())),
        }
    }

    /// Returns the pending answer, after asking if nobody has.
    fn question(
        self: &Arc<Self>,
        asker: &str,
        question: &Question,
        target: &Target,
    ) -> Option<watch::Receiver<Option<Answer>>> {
        let mut waiting = lock(&self.waiting);
        if let Some(pending) = waiting.get(question) {
            return Some(pending.clone());
        }
        if waiting.len() >= MAX_QUESTIONS {
            return None;
        }
        let (sender, receiver) = watch::channel(None);
        waiting.insert(question.clone(), receiver.clone());
        let (gate, question, asked) = (Arc::clone(self), question.clone(), self.judge.ask(asker, target));
        // Not part of a connection: the question stays if all of them are gone.
        tokio::spawn(async move {
            let answer = asked.await;
            lock(&gate.waiting).remove(&question);
            let _ = sender.send(Some(answer));
        });
        Some(receiver)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
