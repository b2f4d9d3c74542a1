//! What is done with a task's work: checked, merged, taken back, caught up. The machine decides whether and what to say of
//! it; the driver and git do it.

use std::fmt::Write as _;

use crate::base::{AskId, Fault, TaskId, Timestamp, text};
use crate::engine::command::{OnConflict, Outcome, SendMode};
use crate::engine::machine::delivering::Plan;
use crate::engine::machine::rewinding::{Forking, Return};
use crate::engine::machine::{Effect, Job, Machine, Pending, Ticket, Worked};
use crate::engine::review::{Conflict, ConflictKind, Goal, How, Landing, Receipt};
use crate::model::event::{AskAnswered, AskWithdrawn, Body};
use crate::model::message::Source;
use crate::model::work::Work;
use crate::model::{Answer, ask::AnsweredBy};

/// How many conflicts an agent is shown with both sides; the rest only by name.
const SHOWN: usize = 8;
/// How many bytes of both sides of one conflict.
const SHOWN_BYTES: usize = 3_000;

/// What waits for a job with a task's work, or for the event that says how it ended.
#[derive(Debug)]
pub(in crate::engine::machine) enum Waiting {
    Verify {
        ticket: Ticket,
        task: TaskId,
    },
    Merge(Merging),
    Undo {
        ticket: Ticket,
        task: TaskId,
        /// Who works where files are written meanwhile.
        host: Option<TaskId>,
    },
    CatchUp {
        ticket: Ticket,
        task: TaskId,
        target: String,
    },
    Return(Return),
    Fork(Forking),
    Measure {
        task: TaskId,
    },
    /// Its event is on the way to the disk: then whoever asked is answered, and the task let go.
    Kept {
        ticket: Option<Ticket>,
        task: TaskId,
        outcome: Outcome,
    },
}

/// A merge that was asked for.
#[derive(Clone, Debug)]
pub(in crate::engine::machine) struct Merging {
    ticket: Ticket,
    task: TaskId,
    target: String,
    how: How,
    conflicts: OnConflict,
    /// The question that is answered by it.
    ask: Option<AskId>,
    /// Who works where the target is checked out, while files are written there.
    host: Option<TaskId>,
}

impl Waiting {
    fn task(&self) -> TaskId {
        match self {
            Self::Verify { task, .. }
            | Self::Undo { task, .. }
            | Self::CatchUp { task, .. }
            | Self::Measure { task }
            | Self::Kept { task, .. } => *task,
            Self::Merge(merging) => merging.task,
            Self::Return(back) => back.task,
            Self::Fork(forking) => forking.to,
        }
    }

    fn ticket(&self) -> Option<Ticket> {
        match self {
            Self::Verify { ticket, .. } | Self::Undo { ticket, .. } | Self::CatchUp { ticket, .. } => Some(*ticket),
            Self::Merge(merging) => Some(merging.ticket),
            Self::Return(back) => back.ticket,
            Self::Fork(forking) => Some(forking.ticket),
            Self::Measure { .. } => None,
            Self::Kept { ticket, .. } => *ticket,
        }
    }
}

impl Machine {
    /// Refuses what must not happen while an agent is at work in a task's worktree.
    pub(super) fn at_rest(&self, task: TaskId, verb: &str) -> Result<(), Fault> {
        self.node(task)?;
        if self.is_busy(task) {
            return Err(Fault::user(format!("{} cannot be {verb}: it is at work", self.named(task)))
                .hint("wait until it rests, or stop it: `mxd stop TASK`"));
        }
        Ok(())
    }

    pub(super) fn start_job(&mut self, task: TaskId, job: Job, waiting: Waiting) {
        self.life(task).edited = true;
        let ticket = self.number();
        self.pending.insert(ticket, Pending::Work(Box::new(waiting)));
        self.out.push(Effect::Work { ticket, task, job: Box::new(job) });
    }

    pub(super) fn verify(&mut self, ticket: Ticket, task: TaskId) -> Result<(), Fault> {
        self.at_rest(task, "checked")?;
        let spot = self.spot_of(task)?;
        if spot.verify.is_none() {
            return Err(Fault::user("nothing says how to check this task's work")
                .hint("say it for the project: `mxd config set verify 'COMMAND'`")
                .hint("or for this task: `mxd task edit TASK --verify 'COMMAND'`"));
        }
        self.start_job(task, Job::Verify(spot), Waiting::Verify { ticket, task });
        Ok(())
    }

    pub(super) fn merge(
        &mut self,
        ticket: Ticket,
        task: TaskId,
        into: Goal,
        how: How,
        conflicts: OnConflict,
        ask: Option<AskId>,
    ) -> Result<(), Fault> {
        self.at_rest(task, "merged")?;
        let spot = self.spot_of(task)?;
        spot.own_branch()?;
        let target = spot.target(into).to_owned();
        if (conflicts, how) == (OnConflict::Solved, How::Rebase) {
            return Err(Fault::user(
                "what was solved for both branches does not say what each commit becomes in a rebase",
            )
            .hint("merge or squash instead"));
        }
        self.host_at_rest(task, &target)?;
        let merging = Merging { ticket, task, target: target.clone(), how, conflicts, ask, host: None };
        self.start_job(task, Job::Prepare { spot, target, conflicts }, Waiting::Merge(merging));
        Ok(())
    }

    /// Returns who works where a target is checked out. Refused while they are at work.
    fn host_at_rest(&self, task: TaskId, target: &str) -> Result<TaskId, Fault> {
        let host = self.tree.ancestors(task).find(|above| above.branch.as_deref() == Some(target));
        let host = host.map_or(self.tree.root_id(), |above| above.id);
        if self.is_working(host) {
            return Err(Fault::user(format!(
                "{} is at work where {target} is checked out: its files would change under its hands",
                self.named(host)
            ))
            .hint("wait until it rests, or stop it: `mxd stop TASK`"));
        }
        Ok(host)
    }

    /// Everything is checked, which may have taken long: files are written next, while nobody works there.
    fn prepared(&mut self, now: Timestamp, merging: Merging, commit: String) {
        let Merging { ticket, task, how, .. } = merging;
        let target = merging.target.clone();
        let ready = self.host_at_rest(task, &target).and_then(|host| Ok((host, self.spot_of(task)?)));
        match ready {
            Ok((host, spot)) => {
                self.visit(host);
                let message = self.merge_message(task);
                let job = Job::Land { spot, target, how, message, commit };
                self.start_job(task, job, Waiting::Merge(Merging { host: Some(host), ..merging }));
            }
            Err(fault) => {
                let fault = Fault { message: format!("nothing was merged: {}", fault.message), ..fault };
                self.settle_work(now, Some(ticket), task, Err(fault));
            }
        }
    }

    /// Lets nobody begin where files are being written.
    fn visit(&mut self, host: TaskId) {
        self.life(host).receiving += 1;
    }

    /// Nothing is written any more where the target is checked out.
    fn leave_host(&mut self, now: Timestamp, waiting: &Waiting) {
        let (Waiting::Merge(Merging { host: Some(host), .. }) | Waiting::Undo { host: Some(host), .. }) = waiting
        else {
            return;
        };
        if let Some(life) = self.lives.get_mut(host) {
            life.receiving = life.receiving.saturating_sub(1);
        }
        self.reconsider(now, *host);
    }

    /// Returns what the commit of a merge says: the task, and what its agent reported.
    fn merge_message(&self, task: TaskId) -> String {
        let Some(node) = self.tree.get(task) else { return String::new() };
        let result = node.results.last().map(|round| round.result.trim()).unwrap_or_default();
        let title = text::headline(&node.title, 72);
        if result.is_empty() { title } else { format!("{title}\n\n{result}") }
    }

    pub(super) fn undo_merge(&mut self, ticket: Ticket, task: TaskId) -> Result<(), Fault> {
        self.at_rest(task, "changed")?;
        let landing = self.state(task).and_then(|state| state.work.landing.clone());
        let host = landing.as_ref().map(|landing| self.host_at_rest(task, &landing.target)).transpose()?;
        if let Some(host) = host {
            self.visit(host);
        }
        let undo = landing.map(|landing| landing.undo);
        self.start_job(task, Job::UndoLanding { undo }, Waiting::Undo { ticket, task, host });
        Ok(())
    }

    pub(super) fn catch_up(&mut self, ticket: Ticket, task: TaskId) -> Result<(), Fault> {
        let spot = self.spot_of(task)?;
        let branch = spot.own_branch()?.to_owned();
        let ticket_of_job = self.number();
        let waiting = Waiting::CatchUp { ticket, task, target: spot.above.clone() };
        self.pending.insert(ticket_of_job, Pending::Work(Box::new(waiting)));
        let job = Box::new(Job::Foresee { branch, target: spot.above });
        self.out.push(Effect::Work { ticket: ticket_of_job, task, job });
        Ok(())
    }

    /// A job is done, or could not be.
    pub(super) fn worked(&mut self, now: Timestamp, ticket: Ticket, result: Result<Worked, Fault>) {
        let Some(Pending::Work(waiting)) = self.pending.remove(&ticket) else { return };
        self.leave_host(now, &waiting);
        match result {
            Ok(worked) => self.go_on_working(now, *waiting, worked),
            Err(fault) => self.work_failed(now, &waiting, fault),
        }
    }

    fn go_on_working(&mut self, now: Timestamp, waiting: Waiting, worked: Worked) {
        match (waiting, worked) {
            (Waiting::Merge(merging), Worked::Prepared { commit }) => self.prepared(now, merging, commit),
            (Waiting::Merge(merging), Worked::Landed { landing, checkout }) => {
                let place = checkout.map_or_else(
                    || ", which is checked out nowhere: only the branch moved".to_owned(),
                    |path| format!(", and {} has it", path.display()),
                );
                self.landed(now, &merging, landing, &place);
            }
            (Waiting::Merge(merging), Worked::Conflicts(conflicts)) => self.conflicted(now, &merging, &conflicts),
            (Waiting::Merge(merging), Worked::NothingToLand) => {
                let noted = format!("{} has everything already", merging.target);
                let outcome = Outcome::Noted(noted);
                match merging.ask {
                    Some(ask) => self.approve_with(now, merging.ticket, merging.task, ask, Vec::new(), outcome),
                    None => self.settle_work(now, Some(merging.ticket), merging.task, Ok(outcome)),
                }
            }
            (Waiting::Merge(Merging { ticket, task, .. }), Worked::CheckFailed(receipt)) => {
                let fault = Fault::user(format!("nothing was merged: {}", check_failed(&receipt)));
                self.settle_work(now, Some(ticket), task, Err(fault));
            }
            (Waiting::Verify { ticket, task }, Worked::Verified(receipt)) => {
                let result = if receipt.passed() {
                    let seconds = receipt.duration_ms / 1000;
                    Ok(Outcome::Noted(format!("`{}` succeeded after {seconds} s", receipt.command)))
                } else {
                    Err(Fault::user(check_failed(&receipt)))
                };
                self.settle_work(now, Some(ticket), task, result);
            }
            (Waiting::Undo { ticket, task, .. }, Worked::Undone { undo, target, checkout }) => {
                let place = checkout.map_or_else(String::new, |path| format!("; {} follows", path.display()));
                let outcome = Outcome::Noted(format!("{target} is where it was before the merge{place}"));
                let bodies = vec![Work::LandingUndone { undo, at: now }.into()];
                self.keep_work(task, bodies, Some(ticket), outcome);
            }
            (Waiting::CatchUp { ticket, task, target }, Worked::Foreseen { behind, conflicts }) => {
                if behind == 0 {
                    let outcome = Outcome::Noted(format!("it has everything that {target} has"));
                    return self.out.push(Effect::Reply { ticket, result: Ok(outcome) });
                }
                let commits = text::count(behind, "commit", "commits");
                let words = format!(
                    "{target} has {commits} that your branch does not have. Take them in now: run `git merge {target}` in \
                     your worktree, resolve what conflicts so that both sides' intentions hold, check that everything \
                     still works, and commit.{}",
                    about(&conflicts)
                );
                self.ask_agent(now, ticket, task, words);
            }
            (Waiting::Return(back), Worked::WentBack(went)) => self.went_back(now, back, went),
            (Waiting::Fork(forking), Worked::Forked) => self.forked(now, &forking),
            (Waiting::Measure { task }, Worked::Measured(diff)) => self.measured(task, diff),
            // Every job answers in its own words.
            (waiting, worked) => {
                let fault = Fault::internal(format!("an answer that fits no question: {worked:?}"));
                self.work_failed(now, &waiting, fault);
            }
        }
    }

    fn landed(&mut self, now: Timestamp, merging: &Merging, landing: Landing, place: &str) {
        let verb = match merging.how {
            How::Merge => "merged",
            How::Squash => "squashed",
            How::Rebase => "rebased",
        };
        let noted = format!("{verb} into {}{place}; `mxd merge --undo` takes it back", merging.target);
        let outcome = Outcome::Noted(noted);
        let task = merging.task;
        let words = format!(
            "The person {verb} the work of \"{}\" ({task}) into {}.",
            self.tree.get(task).map(|node| node.title.clone()).unwrap_or_default(),
            merging.target
        );
        self.tell_above(now, task, &Source::WorkContext, &words);
        let bodies = vec![Work::Landed { landing }.into()];
        match merging.ask {
            Some(ask) => self.approve_with(now, merging.ticket, task, ask, bodies, outcome),
            None => self.keep_work(task, bodies, Some(merging.ticket), outcome),
        }
    }

    /// Says in the session that the person approved the work, together with what else happened.
    pub(super) fn approve_with(
        &mut self,
        now: Timestamp,
        ticket: Ticket,
        task: TaskId,
        ask: AskId,
        mut bodies: Vec<Body>,
        outcome: Outcome,
    ) {
        let approved = super::reviewing::APPROVE.to_owned();
        let answer = Answer { text: approved, choice: Some(0), by: AnsweredBy::Person };
        bodies.push(AskAnswered { id: ask, answer }.into());
        bodies.push(AskWithdrawn { id: ask, reason: "the work was approved".to_owned() }.into());
        bodies.extend(self.approval(now, task));
        self.keep_work(task, bodies, Some(ticket), outcome);
    }

    fn conflicted(&mut self, now: Timestamp, merging: &Merging, conflicts: &[Conflict]) {
        let (ticket, task, target) = (merging.ticket, merging.task, &merging.target);
        match merging.conflicts {
            // What was solved is in the branch by now: the target has gained something else.
            OnConflict::Refuse | OnConflict::Solved => {
                let names: Vec<String> =
                    conflicts.iter().take(SHOWN).map(|conflict| conflict.path.display().to_string()).collect();
                let files = text::count(conflicts.len(), "file", "files");
                let fault = Fault::user(format!(
                    "nothing was merged: it conflicts with {target} in {files}, such as {}",
                    names.join(", ")
                ))
                .hint("let its agent resolve it: `mxd merge TASK --resolve`")
                .hint("or solve it yourself, in your editor: `mxd merge TASK --edit`");
                self.settle_work(now, Some(ticket), task, Err(fault));
            }
            OnConflict::AskAgent => {
                self.release(task);
                let words = format!(
                    "Your branch is to be merged into {target}, and the two conflict. Run `git merge {target}` in your \
                     worktree, resolve the conflicts so that both sides' intentions hold, check that everything still \
                     works, commit, and call done again.{}",
                    about(conflicts)
                );
                self.ask_agent(now, ticket, task, words);
            }
        }
    }

    /// Says something to the agent in the person's name.
    fn ask_agent(&mut self, now: Timestamp, ticket: Ticket, task: TaskId, words: String) {
        let message = self.message(now, Source::User, words);
        let then = Pending::Reply(ticket, Outcome::Noted("its agent was asked to".to_owned()));
        let with = self.withdraw_review(task, "the agent was asked to change the work");
        self.deliver_with(task, with, message, Plan::of_person(SendMode::Steer), then);
    }

    /// Says in the session what was done; then whoever asked is answered.
    pub(super) fn keep_work(&mut self, task: TaskId, bodies: Vec<Body>, ticket: Option<Ticket>, outcome: Outcome) {
        let kept = Waiting::Kept { ticket, task, outcome };
        self.append(task, bodies, Pending::Work(Box::new(kept)));
    }

    pub(super) fn work_kept(&mut self, now: Timestamp, waiting: Waiting) {
        match waiting {
            Waiting::Kept { ticket, task, outcome } => self.settle_work(now, ticket, task, Ok(outcome)),
            Waiting::Return(back) => self.returned(now, &back),
            Waiting::Verify { .. }
            | Waiting::Merge(_)
            | Waiting::Undo { .. }
            | Waiting::CatchUp { .. }
            | Waiting::Fork(_)
            | Waiting::Measure { .. } => {}
        }
    }

    pub(super) fn work_failed(&mut self, now: Timestamp, waiting: &Waiting, fault: Fault) {
        let task = waiting.task();
        match waiting {
            Waiting::Return(back) if back.began(self) => self.stayed(task, &fault),
            Waiting::Fork(forking) => self.not_forked(forking),
            Waiting::Measure { .. } => self.measured(task, None),
            Waiting::Verify { .. }
            | Waiting::Merge(_)
            | Waiting::Undo { .. }
            | Waiting::CatchUp { .. }
            | Waiting::Return(_)
            | Waiting::Kept { .. } => {}
        }
        self.settle_work(now, waiting.ticket(), task, Err(fault));
    }

    /// Answers whoever asked, and lets the task go.
    pub(super) fn settle_work(
        &mut self,
        now: Timestamp,
        ticket: Option<Ticket>,
        task: TaskId,
        result: Result<Outcome, Fault>,
    ) {
        if let Some(ticket) = ticket {
            self.out.push(Effect::Reply { ticket, result });
        }
        if self.lives.contains_key(&task) {
            self.let_go(now, &[task]);
        }
    }

    /// Lets a task go without looking whether it has something to do: something is about to be said to it.
    fn release(&mut self, task: TaskId) {
        self.life(task).edited = false;
    }
}

fn check_failed(receipt: &Receipt) -> String {
    let how = receipt
        .exit
        .map_or_else(|| "did not come to its end".to_owned(), |code| format!("failed with exit code {code}"));
    let said = text::suffix(receipt.output.trim(), 1_000);
    if said.is_empty() {
        format!("`{}` {how}", receipt.command)
    } else {
        format!("`{}` {how}:\n{said}", receipt.command)
    }
}

/// Says what two branches disagree about, with both sides.
fn about(conflicts: &[Conflict]) -> String {
    if conflicts.is_empty() {
        return String::new();
    }
    let mut said = format!("\n\n{} will conflict:", text::count(conflicts.len(), "file", "files"));
    for conflict in conflicts.iter().take(SHOWN) {
        let _ = write!(said, "\n\n{}: {}", conflict.path.display(), kind(conflict.kind));
        let shown = |side: &str| text::prefix(side, SHOWN_BYTES / 2).to_owned();
        match (&conflict.marked, &conflict.ours, &conflict.theirs) {
            (Some(marked), ..) => {
                let _ = write!(said, "\n```\n{}\n```", text::prefix(&marked.text, SHOWN_BYTES));
            }
            (None, ours, theirs) => {
                for (name, side) in [("theirs", ours), ("yours", theirs)] {
                    if let Some(side) = side {
                        let _ = write!(said, "\n{name}:\n```\n{}\n```", shown(&side.text));
                    }
                }
            }
        }
    }
    for conflict in conflicts.iter().skip(SHOWN) {
        let _ = write!(said, "\n{}: {}", conflict.path.display(), kind(conflict.kind));
    }
    said
}

fn kind(kind: ConflictKind) -> &'static str {
    match kind {
        ConflictKind::Content => "both changed the same lines",
        ConflictKind::BothAdded => "both made a file of this name",
        ConflictKind::DeletedByUs => "you changed it, and it was deleted or renamed there",
        ConflictKind::DeletedByThem => "you deleted or renamed it, and it was changed there",
        ConflictKind::BothMoved => "both renamed it, to different names",
        ConflictKind::Binary => "both changed it, and it is not text",
        ConflictKind::Mode => "both changed whether it is a file, a program or a link",
        ConflictKind::Submodule => "both moved the submodule",
    }
}
