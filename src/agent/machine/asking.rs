//! Waiting for the person. Everything that stops a run for good goes through here: it never just stays silent.

use crate::agent::compaction::Trim;
use crate::agent::machine::{Effect, Machine, Phase, Purpose, Then};
use crate::base::{AskId, Timestamp};
use crate::model::ask::{AskMode, BudgetCause, Choice, ChoiceId, Subject};
use crate::model::event::{AskAnswered, AskWithdrawn, Body, Event, Exit, Grant, Granted, InterruptReason, RunEnded};
use crate::model::fold::Decision;
use crate::model::live::Activity;
use crate::model::message::Source;
use crate::model::{Answer, Ask};

/// What an Ask of the run's own is about, and so what its answer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::agent) enum About {
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
    /// The check of the work keeps failing.
    Check,
}

/// How a model is chosen in an answer.
pub(super) const ANOTHER_MODEL: &str =
    "To use another model, answer with its name, or with `model: NAME` if mxd does not know it.";

const ACCEPTED: &str =
    "The user accepts your work as it is, although its check fails. Call done again: the check is not run.";
const TRY_AGAIN: &str = "The user asks you to go on: find out why the check fails, mend it, and call done again.";

const RETRY: (ChoiceId, &str) = (ChoiceId::Retry, "Try again");
const STOP: (ChoiceId, &str) = (ChoiceId::Stop, "Stop");
const CONTINUE: (ChoiceId, &str) = (ChoiceId::Continue, "Go on");

impl About {
    /// Returns what an Ask that was raised before a restart is about. Others are not the run's own.
    pub(in crate::agent) fn of(ask: &Ask) -> Option<Self> {
        match &ask.subject {
            Subject::RetriesExhausted => Some(Self::Provider),
            Subject::ModelStopped => Some(Self::Stopped),
            Subject::Budget { cause: BudgetCause::Spent } => Some(Self::Budget),
            Subject::Budget { cause: BudgetCause::Unpriced } => Some(Self::Price),
            Subject::Loop => Some(Self::Loop),
            Subject::TurnLimit => Some(Self::TurnLimit),
            Subject::CompactionFailed => Some(Self::Compaction),
            Subject::CheckFailed => Some(Self::Check),
            Subject::Clarify
            | Subject::Permission
            | Subject::LaunchFailed(_)
            | Subject::SetupHook
            | Subject::McpApproval { .. }
            | Subject::Review
            | Subject::TaskLimit
            | Subject::Approval { .. } => None,
        }
    }

    fn subject(self) -> Subject {
        match self {
            Self::Provider => Subject::RetriesExhausted,
            Self::Stopped => Subject::ModelStopped,
            Self::Budget => Subject::Budget { cause: BudgetCause::Spent },
            Self::Price => Subject::Budget { cause: BudgetCause::Unpriced },
            Self::Loop => Subject::Loop,
            Self::TurnLimit => Subject::TurnLimit,
            Self::Compaction => Subject::CompactionFailed,
            Self::Check => Subject::CheckFailed,
        }
    }

    /// Returns what came of the work where the user answers that it is to stop.
    fn given_up(self) -> &'static str {
        match self {
            Self::Provider => "Its model could not be reached, and the person left it at that.",
            Self::Stopped => "Its model did not go on, and the person left it at that.",
            Self::Budget => "Its budget is spent, and the person left it at that.",
            Self::Price => "What its model costs is not known, and the person left it at that.",
            Self::Loop => "It did the same again and again, and the person left it at that.",
            Self::TurnLimit => "It has had as many turns as it may have, and the person left it at that.",
            Self::Compaction => "Its conversation could not be summarised, and the person left it at that.",
            Self::Check => "Its check keeps failing, and the user gave it up.",
        }
    }

    fn choices(self) -> Vec<Choice> {
        let choices: &[(ChoiceId, &str)] = match self {
            Self::Provider => &[RETRY, STOP],
            Self::Compaction => &[RETRY, (ChoiceId::SkipSummary, "Go on without"), STOP],
            Self::Price => &[(ChoiceId::ContinueUnpriced, "Go on without a limit"), STOP],
            Self::Check => &[CONTINUE, (ChoiceId::Accept, "Accept it as it is"), (ChoiceId::Fail, "Fail the task")],
            Self::Stopped | Self::Budget | Self::Loop | Self::TurnLimit => &[CONTINUE, STOP],
        };
        choices.iter().map(|(id, label)| Choice::new(id.clone(), *label)).collect()
    }
}

impl Machine {
    /// Returns an Ask for the person.
    pub(super) fn new_ask(&self, about: About, question: &str, detail: &str) -> Ask {
        Ask {
            id: AskId::fresh(&self.ids),
            subject: about.subject(),
            question: question.to_owned(),
            detail: detail.to_owned(),
            choices: about.choices(),
            default: None,
            mode: AskMode::Blocks,
            deadline: None,
            tool_call: None,
        }
    }

    /// Raises an Ask and waits for its answer.
    pub(super) fn ask(&mut self, about: About, question: &str, detail: &str) {
        self.ask_after(Vec::new(), about, question, detail);
    }

    /// As [`Machine::ask`], in one append with what led to it.
    pub(super) fn ask_after(&mut self, mut bodies: Vec<Body>, about: About, question: &str, detail: &str) {
        let ask = self.new_ask(about, question, detail);
        let id = ask.id;
        bodies.push(ask.into());
        self.save(bodies, Then::Ask { ask: id, about });
    }

    pub(super) fn wait_for(&mut self, now: Timestamp, ask: AskId, about: About) {
        // Answered while it was being written.
        if self.state.asks.get(ask).is_none() {
            return self.advance(now);
        }
        self.settle_standing(ask, about);
    }

    /// Returns an Ask of the run's own that is still open, from before a restart.
    pub(super) fn standing_ask(&self) -> Option<(AskId, About)> {
        self.state.asks.iter().find_map(|ask| Some((ask.id, About::of(ask)?)))
    }

    /// Waits for an Ask, unless the person has said something instead: then that is the answer.
    pub(super) fn settle_standing(&mut self, ask: AskId, about: About) {
        if self.state.messages.iter().any(|message| message.from.is_of_user()) {
            return self.dismiss(ask, about);
        }
        // Whatever was to be cut short has stopped by itself.
        self.wants.interrupt = false;
        self.phase = Phase::Asking { ask, about };
        self.out.push(Effect::Activity(Activity::Waiting));
    }

    /// Returns an answer that was given when nobody was there to act on it.
    pub(super) fn standing_decision(&mut self) -> Option<(About, Decision)> {
        let (about, decision) = self.state.decisions.iter().find_map(|decision| {
            let about = About::of(&decision.ask).filter(|_| !self.acted_on.contains(&decision.ask.id))?;
            Some((about, decision.clone()))
        })?;
        self.acted_on.insert(decision.ask.id);
        Some((about, decision))
    }

    /// Takes an Ask back and goes on with what the person said.
    fn dismiss(&mut self, id: AskId, about: About) {
        let reason = "the agent was spoken to and goes on".to_owned();
        self.held.clear();
        let mut bodies = vec![AskWithdrawn { id, reason }.into()];
        match about {
            // Whoever speaks wants to be heard, which takes a request. That nobody counts what it costs, and what all that
            // follow cost, takes an answer.
            About::Price => self.tries.reserved = true,
            About::Provider
            | About::Stopped
            | About::Budget
            | About::Loop
            | About::TurnLimit
            | About::Compaction
            | About::Check => bodies.extend(self.allow(id, about)),
        }
        bodies.extend(self.unwished(about));
        self.save(bodies, Then::Advance);
    }

    /// Returns what takes the person's wish for a summary back, where the Ask was about one that could not be made.
    fn unwished(&self, about: About) -> Option<Body> {
        match about {
            About::Compaction => self.drop_wishes(),
            About::Provider
            | About::Stopped
            | About::Budget
            | About::Price
            | About::Loop
            | About::TurnLimit
            | About::Check => None,
        }
    }

    /// Lifts the limit that an Ask was about, as far as one answer can. Returns what of it has to outlive this run.
    fn allow(&mut self, ask: AskId, about: About) -> Option<Body> {
        let grant = match about {
            About::TurnLimit => {
                Some(Grant::Turns { up_to: self.state.turns.ended.saturating_add(self.limits.max_turns.unwrap_or(0)) })
            }
            About::Price => Some(Grant::Unpriced { model: self.model().to_owned() }),
            // For one request: until that is answered, the answer to the Ask itself is what is kept.
            About::Budget => {
                self.tries.reserved = true;
                None
            }
            About::Stopped => {
                self.tries.unfinished = 0;
                None
            }
            About::Compaction => {
                self.tries.compacted = true;
                self.tries.hasty_compactions = 0;
                self.is_overfull().then_some(Grant::Overfull)
            }
            About::Loop => {
                self.watch.spoken_to();
                None
            }
            About::Provider | About::Check => None,
        };
        grant.map(|grant| Granted { ask, grant }.into())
    }

    pub(super) fn heard_while_asking(&mut self, now: Timestamp, event: &Event, ask: AskId, about: About) {
        if let Body::AskAnswered(AskAnswered { id, .. }) = &event.body
            && *id == ask
            && let Some(decision) = self.state.decisions.of(ask).cloned()
        {
            self.acted_on.insert(ask);
            return self.answered(now, about, &decision);
        }
        if self.state.asks.get(ask).is_none() {
            return self.advance(now);
        }
        self.settle_standing(ask, about);
    }

    /// Does what the user decided.
    pub(super) fn answered(&mut self, now: Timestamp, about: About, decision: &Decision) {
        let Decision { ask, answer, event: decided } = decision;
        let id = ask.id;
        let chosen = ask.chosen(answer);
        if matches!(chosen, Some(ChoiceId::Stop | ChoiceId::Fail)) {
            let exit = Exit::Interrupted(InterruptReason::Stopped);
            let unwished = self.unwished(about);
            // Whoever waits for this task would wait for ever. A summary that was only wished for is no part of its work.
            let result = if unwished.is_some() { "" } else { about.given_up() };
            let ended = RunEnded { result: result.to_owned(), decided: *decided, ..RunEnded::from(exit.clone()) };
            let bodies = unwished.into_iter().chain([ended.into()]).collect();
            return self.save(bodies, Then::End(exit));
        }
        let free = chosen.is_none();
        // A summary that the person wished for while the agent slept: it sleeps on, whatever becomes of that.
        let model = if free { self.named_model(&answer.text) } else { None };
        let is_said = free && model.is_none();
        let of_sleeper =
            about == About::Compaction && !is_said && !self.control_messages().is_empty() && self.is_asleep();
        self.asleep |= of_sleeper;
        // Whoever answers wants the agent to go on, whatever cut it short before.
        self.halted &= of_sleeper;
        match about {
            About::Provider | About::Compaction if model.is_some() => {
                self.out.extend(model.map(|model| Effect::UseModel { model }));
                self.phase = Phase::Preparing { after: None };
                self.out.push(Effect::Prepare { config: true, context: false });
            }
            // Guidance for the agent, and a retry with it.
            About::Provider if free => self.go_on(now, None, answer, free),
            About::Provider => self.call(Purpose::Respond, 1),
            // Whoever says something wants to be heard, as if they had spoken to the agent: not another try.
            About::Compaction if chosen == Some(&ChoiceId::SkipSummary) || is_said => {
                let mut bodies: Vec<Body> = self.allow(id, about).into_iter().collect();
                bodies.extend(self.unwished(about));
                if is_said && !answer.text.trim().is_empty() {
                    bodies.push(self.message(now, Source::Notice, &answer.text).into());
                }
                self.save_any(now, bodies);
            }
            About::Compaction => {
                self.tries.bad_summaries = 0;
                self.tries.hasty_compactions = 0;
                self.call(Purpose::Summarise { trim: Trim::Whole }, 1);
            }
            About::Budget | About::Price | About::TurnLimit | About::Loop => {
                let granted = self.allow(id, about);
                self.go_on(now, granted, answer, free);
            }
            About::Check => {
                let accepts = chosen == Some(&ChoiceId::Accept);
                let text = match (accepts, free) {
                    (true, _) => ACCEPTED,
                    (false, true) => answer.text.as_str(),
                    (false, false) => TRY_AGAIN,
                };
                let granted = accepts.then(|| Granted { ask: id, grant: Grant::Unchecked }.into());
                let notice = self.message(now, Source::Notice, text).into();
                self.save(granted.into_iter().chain([notice]).collect(), Then::Advance);
            }
            About::Stopped => {
                self.allow(id, about);
                let text = if free { answer.text.clone() } else { "The person asks you to go on.".to_owned() };
                let notice = self.message(now, Source::Notice, &text);
                self.save(vec![notice.into()], Then::Advance);
            }
        }
    }

    /// Goes on, with what the person allowed and what they said beyond "yes".
    fn go_on(&mut self, now: Timestamp, granted: Option<Body>, answer: &Answer, free: bool) {
        let mut bodies: Vec<Body> = granted.into_iter().collect();
        if free && !answer.text.trim().is_empty() {
            bodies.push(self.message(now, Source::Notice, &answer.text).into());
        }
        self.save_any(now, bodies);
    }

    /// Returns the model that an answer names: one that the catalogue knows, or any after `model:`. Other words are
    /// never a model's name, however short they are.
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

    /// Goes on once `bodies` are kept, or at once if there are none.
    fn save_any(&mut self, now: Timestamp, bodies: Vec<Body>) {
        if bodies.is_empty() {
            return self.advance(now);
        }
        self.save(bodies, Then::Advance);
    }
}
