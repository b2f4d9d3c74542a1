//! The Asks of a run: raising them, waiting for the answer, applying it. A run that cannot continue always asks.

use crate::agent::compaction::Trim;
use crate::agent::machine::{AfterSave, Effect, Machine, Phase, Purpose};
use crate::base::{AskId, Timestamp};
use crate::model::ask::{AskMode, BudgetCause, Choice, ChoiceId, LoopCause, Subject};
use crate::model::event::{AskAnswered, AskWithdrawn, Body, Event, Exit, Grant, Granted, InterruptReason, RunEnded};
use crate::model::fold::Decision;
use crate::model::live::Activity;
use crate::model::message::MessageSource;
use crate::model::{Answer, Ask};

/// Why a run asks, which determines what the answer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::agent) enum AskCause {
    /// The model API kept failing.
    Provider,
    /// The model stopped in a way that needs a decision.
    Stopped,
    Budget,
    /// There is a budget, and the model has no price.
    Price,
    Loop,
    TurnLimit,
    Compaction,
    /// The task's verify check keeps failing.
    Check,
    /// `done` keeps being refused.
    Refused,
    /// A hook keeps sending the agent back.
    SentBack,
}

/// Hint on how to choose a model in an answer.
pub(super) const ANOTHER_MODEL: &str =
    "To switch models, answer with a model's name, or with `model: NAME` if mxd does not know it.";

const ACCEPTED: &str =
    "The user accepts your work as it is, although its check fails. Call done again: the check is not run.";
const ACCEPTED_REFUSED: &str = "The user accepts your work as it is. Call done again: only open sub tasks still count.";
const GO_ON: &str = "The user asks you to go on: deal with what refuses done, and call it again.";
const TRY_AGAIN: &str = "The user asks you to go on: find out why the check fails, mend it, and call done again.";

const RETRY: (ChoiceId, &str) = (ChoiceId::Retry, "Try again");
const STOP: (ChoiceId, &str) = (ChoiceId::Stop, "Stop");
const CONTINUE: (ChoiceId, &str) = (ChoiceId::Continue, "Continue");

impl AskCause {
    /// Returns the cause of an Ask that a run raised, or `None` for other Asks.
    pub(in crate::agent) fn of(ask: &Ask) -> Option<Self> {
        match &ask.subject {
            Subject::RetriesExhausted { .. } => Some(Self::Provider),
            Subject::ModelStopped => Some(Self::Stopped),
            Subject::Budget { cause: BudgetCause::Spent, .. } => Some(Self::Budget),
            Subject::Budget { cause: BudgetCause::Unpriced, .. } => Some(Self::Price),
            Subject::Loop { of: LoopCause::Calls } => Some(Self::Loop),
            Subject::Loop { of: LoopCause::Done } => Some(Self::Refused),
            Subject::Loop { of: LoopCause::Stop } => Some(Self::SentBack),
            Subject::TurnLimit => Some(Self::TurnLimit),
            Subject::CompactionFailed => Some(Self::Compaction),
            Subject::CheckFailed => Some(Self::Check),
            Subject::Clarify
            | Subject::Permission(_)
            | Subject::Plan(_)
            | Subject::LaunchFailed(_)
            | Subject::SetupHook
            | Subject::McpApproval { .. }
            | Subject::Review
            | Subject::TaskLimit
            | Subject::Approval { .. }
            | Subject::Bind { .. } => None,
        }
    }

    fn subject(self) -> Subject {
        match self {
            Self::Provider => Subject::RetriesExhausted { group: None },
            Self::Stopped => Subject::ModelStopped,
            Self::Budget => Subject::Budget { cause: BudgetCause::Spent, exceeded: None },
            Self::Price => Subject::Budget { cause: BudgetCause::Unpriced, exceeded: None },
            Self::Loop => Subject::Loop { of: LoopCause::Calls },
            Self::Refused => Subject::Loop { of: LoopCause::Done },
            Self::SentBack => Subject::Loop { of: LoopCause::Stop },
            Self::TurnLimit => Subject::TurnLimit,
            Self::Compaction => Subject::CompactionFailed,
            Self::Check => Subject::CheckFailed,
        }
    }

    /// Returns the result of the run if the user chooses to stop. The parent task's agent reads it.
    fn give_up_reason(self) -> &'static str {
        match self {
            Self::Provider => "Its model could not be reached, and the user left it at that.",
            Self::Stopped => "Its model did not go on, and the user left it at that.",
            Self::Budget => "Its budget is spent, and the user left it at that.",
            Self::Price => "What its model costs is not known, and the user left it at that.",
            Self::Loop => "It did the same again and again, and the user left it at that.",
            Self::TurnLimit => "It has had as many turns as it may have, and the user left it at that.",
            Self::Compaction => "Its conversation could not be summarised, and the user left it at that.",
            Self::Check => "Its check keeps failing, and the user gave it up.",
            Self::Refused => "It could not be declared done, and the user gave it up.",
            Self::SentBack => "A hook did not let it stop, and the user gave it up.",
        }
    }

    fn choices(self) -> Vec<Choice> {
        let choices: &[(ChoiceId, &str)] = match self {
            Self::Provider => &[RETRY, STOP],
            Self::Compaction => &[RETRY, (ChoiceId::SkipSummary, "Continue without a summary"), STOP],
            Self::Price => &[(ChoiceId::ContinueUnpriced, "Continue without a limit"), STOP],
            Self::SentBack => &[CONTINUE, (ChoiceId::Accept, "Let it stop"), (ChoiceId::Fail, "Fail the task")],
            Self::Check | Self::Refused => {
                &[CONTINUE, (ChoiceId::Accept, "Accept as is"), (ChoiceId::Fail, "Fail the task")]
            }
            Self::Budget => &[(ChoiceId::Continue, "Allow one more request"), STOP],
            Self::Stopped | Self::Loop | Self::TurnLimit => &[CONTINUE, STOP],
        };
        choices.iter().map(|(id, label)| Choice::new(id.clone(), *label)).collect()
    }
}

impl Machine {
    pub(super) fn new_ask(&self, cause: AskCause, question: &str, detail: &str) -> Ask {
        Ask {
            id: AskId::fresh(&self.ids),
            subject: cause.subject(),
            question: question.to_owned(),
            detail: detail.to_owned(),
            choices: cause.choices(),
            default: None,
            mode: AskMode::Blocks,
            deadline: None,
            tool_call: None,
        }
    }

    /// Raises an Ask and waits for its answer.
    pub(super) fn ask(&mut self, cause: AskCause, question: &str, detail: &str) {
        self.ask_after(Vec::new(), cause, question, detail);
    }

    /// Like [`Machine::ask`], in one append with the events that led to it.
    pub(super) fn ask_after(&mut self, bodies: Vec<Body>, cause: AskCause, question: &str, detail: &str) {
        let ask = self.new_ask(cause, question, detail);
        self.raise(bodies, cause, ask);
    }

    /// Saves an Ask with the events that led to it, and waits for its answer.
    pub(super) fn raise(&mut self, mut bodies: Vec<Body>, cause: AskCause, ask: Ask) {
        let id = ask.id;
        bodies.push(ask.into());
        self.save(bodies, AfterSave::Ask { ask: id, cause });
    }

    pub(super) fn await_answer(&mut self, now: Timestamp, ask: AskId, cause: AskCause) {
        // It was answered while it was being saved.
        if self.state.asks.get(ask).is_none() {
            return self.advance(now);
        }
        self.resume_open_ask(ask, cause);
    }

    /// Returns the run's open Ask, possibly from before a restart.
    pub(super) fn open_ask(&self) -> Option<(AskId, AskCause)> {
        self.state.asks.iter().find_map(|ask| Some((ask.id, AskCause::of(ask)?)))
    }

    /// Waits for an Ask, unless the user has sent a message: that answers it.
    pub(super) fn resume_open_ask(&mut self, ask: AskId, cause: AskCause) {
        if self.state.messages.iter().any(|message| message.from.is_from_user()) {
            return self.dismiss(ask, cause);
        }
        // Nothing is running that could be interrupted.
        self.stop_requests.interrupt = false;
        self.phase = Phase::Asking { ask, cause };
        self.effects.push(Effect::Activity(Activity::Waiting));
    }

    /// Returns an answer that no run has applied yet.
    pub(super) fn unapplied_decision(&mut self) -> Option<(AskCause, Decision)> {
        let (cause, decision) = self.state.decisions.iter().find_map(|decision| {
            let cause = AskCause::of(&decision.ask).filter(|_| !self.applied_answers.contains(&decision.ask.id))?;
            Some((cause, decision.clone()))
        })?;
        self.applied_answers.insert(decision.ask.id);
        Some((cause, decision))
    }

    /// Withdraws an Ask because the user sent a message, and continues.
    fn dismiss(&mut self, id: AskId, cause: AskCause) {
        let reason = "the user sent a message instead".to_owned();
        self.held.clear();
        let mut bodies = vec![AskWithdrawn { id, reason }.into()];
        match cause {
            // A message allows one request. Requests without a price in general need an explicit answer.
            AskCause::Price => self.attempts.reserved = true,
            AskCause::Provider
            | AskCause::Stopped
            | AskCause::Budget
            | AskCause::Loop
            | AskCause::TurnLimit
            | AskCause::Compaction
            | AskCause::Check
            | AskCause::Refused
            | AskCause::SentBack => bodies.extend(self.lift_limit(id, cause)),
        }
        bodies.extend(self.withdraw_compaction(cause));
        self.save(bodies, AfterSave::Advance);
    }

    /// Returns the event that withdraws the user's request for a summary, if the Ask was about that.
    fn withdraw_compaction(&self, cause: AskCause) -> Option<Body> {
        match cause {
            AskCause::Compaction => self.withdraw_compact_requests(),
            AskCause::Provider
            | AskCause::Stopped
            | AskCause::Budget
            | AskCause::Price
            | AskCause::Loop
            | AskCause::TurnLimit
            | AskCause::Check
            | AskCause::Refused
            | AskCause::SentBack => None,
        }
    }

    /// Lifts the limit that an Ask was about. Returns the grant to store, if it must outlive this run.
    fn lift_limit(&mut self, ask: AskId, cause: AskCause) -> Option<Body> {
        let grant = match cause {
            AskCause::TurnLimit => Some(Grant::Turns {
                up_to: self.state.turns.of_profile().saturating_add(self.limits.max_turns.unwrap_or(0)),
            }),
            AskCause::Price => Some(Grant::Unpriced { model: self.model().to_owned() }),
            // Allows one request. Until that is answered, the stored answer to the Ask is the record of it.
            AskCause::Budget => {
                self.attempts.reserved = true;
                None
            }
            AskCause::Stopped => {
                self.attempts.unfinished = 0;
                None
            }
            AskCause::Compaction => {
                self.attempts.compacted = true;
                self.attempts.hasty_compactions = 0;
                self.is_overfull().then_some(Grant::Overfull)
            }
            AskCause::Loop => {
                self.watch.on_message();
                None
            }
            AskCause::Provider | AskCause::Check | AskCause::Refused | AskCause::SentBack => None,
        };
        grant.map(|grant| Granted { ask, grant }.into())
    }

    pub(super) fn on_event_while_asking(&mut self, now: Timestamp, event: &Event, ask: AskId, cause: AskCause) {
        if let Body::AskAnswered(AskAnswered { id, .. }) = &event.body
            && *id == ask
            && let Some(decision) = self.state.decisions.of(ask).cloned()
        {
            self.applied_answers.insert(ask);
            return self.on_decision(now, cause, &decision);
        }
        if self.state.asks.get(ask).is_none() {
            return self.advance(now);
        }
        self.resume_open_ask(ask, cause);
    }

    /// Applies an answer.
    pub(super) fn on_decision(&mut self, now: Timestamp, cause: AskCause, decision: &Decision) {
        let Decision { ask, answer, event: decided } = decision;
        let id = ask.id;
        let chosen = ask.choice_of(answer);
        if matches!(chosen, Some(ChoiceId::Stop | ChoiceId::Fail)) {
            let exit = Exit::Interrupted(InterruptReason::Stopped);
            let withdrawal = self.withdraw_compaction(cause);
            // The parent needs a result, or it would wait for ever. A requested summary is no part of the task's work.
            let result = if withdrawal.is_some() { "" } else { cause.give_up_reason() };
            let ended = RunEnded { result: result.to_owned(), decided: *decided, ..RunEnded::from(exit.clone()) };
            let bodies = withdrawal.into_iter().chain([ended.into()]).collect();
            return self.save(bodies, AfterSave::End(exit));
        }
        let is_free_text = chosen.is_none();
        let chosen_model = match chosen {
            Some(ChoiceId::Model(name)) => Some(name.clone()),
            _ => None,
        };
        // If the user requested the summary while the agent slept, the agent stays asleep.
        let model = if is_free_text { self.named_model(&answer.text) } else { chosen_model };
        let is_message = is_free_text && model.is_none();
        let stays_asleep =
            cause == AskCause::Compaction && !is_message && !self.control_messages().is_empty() && self.is_asleep();
        self.asleep |= stays_asleep;
        // An answer resumes an interrupted agent.
        self.halted &= stays_asleep;
        match cause {
            AskCause::Provider | AskCause::Compaction if model.is_some() => {
                self.effects.extend(model.map(|model| Effect::UseModel { model }));
                self.phase = Phase::Preparing { after: None };
                self.effects.push(Effect::Prepare { config: true, context: false });
            }
            // The key is read again with the settings.
            AskCause::Provider if chosen == Some(&ChoiceId::ChangeKey) => {
                self.phase = Phase::Preparing { after: None };
                self.effects.push(Effect::Prepare { config: true, context: false });
            }
            // Free text is guidance for the agent: retry with it.
            AskCause::Provider if is_free_text => self.continue_run(now, None, answer, is_free_text),
            AskCause::Provider => self.call(Purpose::Respond, 1),
            // Free text counts as a message to the agent, not as a retry.
            AskCause::Compaction if chosen == Some(&ChoiceId::SkipSummary) || is_message => {
                let mut bodies: Vec<Body> = self.lift_limit(id, cause).into_iter().collect();
                bodies.extend(self.withdraw_compaction(cause));
                if is_message && !answer.text.trim().is_empty() {
                    bodies.push(self.message(now, MessageSource::Notice, &answer.text).into());
                }
                self.save_or_advance(now, bodies);
            }
            AskCause::Compaction => {
                self.attempts.bad_summaries = 0;
                self.attempts.hasty_compactions = 0;
                self.call(Purpose::Summarise { trim: Trim::Whole }, 1);
            }
            AskCause::Budget | AskCause::Price | AskCause::TurnLimit | AskCause::Loop => {
                let granted = match (chosen, &ask.subject) {
                    (Some(ChoiceId::Spend(amount)), Subject::Budget { exceeded: Some(exceeded), .. }) => {
                        Some(Granted { ask: id, grant: exceeded.allow(*amount) }.into())
                    }
                    _ => self.lift_limit(id, cause),
                };
                self.continue_run(now, granted, answer, is_free_text);
            }
            AskCause::SentBack if chosen == Some(&ChoiceId::Accept) => self.advance(now),
            AskCause::SentBack => {
                let text = if is_free_text { answer.text.clone() } else { "The user asks you to go on.".to_owned() };
                let notice = self.message(now, MessageSource::Notice, &text);
                self.save(vec![notice.into()], AfterSave::Advance);
            }
            AskCause::Check | AskCause::Refused => {
                let accepts = chosen == Some(&ChoiceId::Accept);
                let text = match (accepts, is_free_text) {
                    (true, _) if cause == AskCause::Refused => ACCEPTED_REFUSED,
                    (true, _) => ACCEPTED,
                    (false, true) => answer.text.as_str(),
                    (false, false) if cause == AskCause::Refused => GO_ON,
                    (false, false) => TRY_AGAIN,
                };
                let granted = accepts.then(|| Granted { ask: id, grant: Grant::Unchecked }.into());
                let notice = self.message(now, MessageSource::Notice, text).into();
                self.save(granted.into_iter().chain([notice]).collect(), AfterSave::Advance);
            }
            AskCause::Stopped => {
                self.lift_limit(id, cause);
                let text = if is_free_text { answer.text.clone() } else { "The user asks you to go on.".to_owned() };
                let notice = self.message(now, MessageSource::Notice, &text);
                self.save(vec![notice.into()], AfterSave::Advance);
            }
        }
    }

    /// Continues with the user's grant, and passes free text on to the agent.
    fn continue_run(&mut self, now: Timestamp, granted: Option<Body>, answer: &Answer, is_free_text: bool) {
        let mut bodies: Vec<Body> = granted.into_iter().collect();
        if is_free_text && !answer.text.trim().is_empty() {
            bodies.push(self.message(now, MessageSource::Notice, &answer.text).into());
        }
        self.save_or_advance(now, bodies);
    }

    /// Returns the model that an answer names: one in the catalogue, or any name after `model:`. No other word counts
    /// as a model's name.
    fn named_model(&self, text: &str) -> Option<String> {
        let text = text.trim();
        let explicit = text
            .split_once(':')
            .filter(|(word, _)| word.trim().eq_ignore_ascii_case("model"))
            .map(|(_, name)| name.trim());
        let name = explicit.unwrap_or(text);
        let is_word = !name.is_empty() && !name.contains(char::is_whitespace);
        (is_word && (explicit.is_some() || self.limits.catalogue.facts(name).is_ok())).then(|| name.to_owned())
    }

    /// Saves `bodies` and then advances, or advances at once if there are none.
    fn save_or_advance(&mut self, now: Timestamp, bodies: Vec<Body>) {
        if bodies.is_empty() {
            return self.advance(now);
        }
        self.save(bodies, AfterSave::Advance);
    }
}
