//! An Ask: something only the user can answer. One type for questions, failures, budgets and reviews.

mod choice;
mod permission;
mod plan;
mod stored;

use serde::{Deserialize, Serialize};

pub use self::choice::{Choice, ChoiceId};
pub use self::permission::{PermissionRequest, RequestedAction};
pub use self::plan::{HeldRequest, PlanRequest};
use crate::base::{AskId, ProjectId, Timestamp};
use crate::model::event::{BudgetExceeded, PermissionCause};

/// The subject of an Ask, with the facts that are needed to act on its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Subject {
    /// An agent has a question.
    Clarify,
    /// A tool call waits for permission.
    Permission(Box<PermissionRequest>),
    /// An agent hands in a plan, and waits for its approval.
    Plan(Box<PlanRequest>),
    /// A task could not be launched.
    LaunchFailed(LaunchProblem),
    /// The model API kept failing.
    RetriesExhausted {
        /// The auth group whose credential has no quota or is rejected. Every task of the group has the same problem, so
        /// one answer counts for all of them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        group: Option<String>,
    },
    /// A budget is spent, or cannot be enforced.
    Budget {
        #[serde(default)]
        cause: BudgetCause,
        /// The spent budget. Asks of earlier versions do not have it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exceeded: Option<BudgetExceeded>,
    },
    /// An agent repeats itself.
    Loop {
        #[serde(default, skip_serializing_if = "LoopCause::is_calls")]
        of: LoopCause,
    },
    /// An agent has reached the turn limit of its profile.
    TurnLimit,
    /// The model stopped for a reason that only the user can judge: a refusal, or an unknown reason.
    ModelStopped,
    /// A summary could not be made.
    CompactionFailed,
    /// A worktree's setup hook failed.
    SetupHook,
    /// A tool server needs approval.
    McpApproval {
        #[serde(default)]
        of: ServerApproval,
    },
    /// A branch is ready for review.
    Review,
    /// The check of a task's work keeps failing in the same way.
    CheckFailed,
    /// An agent wants to create more tasks than the settings allow.
    TaskLimit,
    /// The repository, or another project, requests something that the user has not allowed.
    Approval { approval: Approval },
    /// A task has no profile, or its profile cannot be used.
    Bind {
        /// Why its profile cannot be used. `None` if it has none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<LaunchProblem>,
    },
}

/// The kind of an Ask, without its facts. Decides glyph and order, never how the answer is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AskKind {
    Clarify,
    Permission,
    Plan,
    LaunchFailed,
    RetriesExhausted,
    Budget,
    Loop,
    TurnLimit,
    ModelStopped,
    CompactionFailed,
    SetupHook,
    McpApproval,
    Review,
    CheckFailed,
    TaskLimit,
    Approval,
    Bind,
}

impl Subject {
    pub fn kind(&self) -> AskKind {
        match self {
            Self::Clarify => AskKind::Clarify,
            Self::Permission(_) => AskKind::Permission,
            Self::Plan(_) => AskKind::Plan,
            Self::LaunchFailed(_) => AskKind::LaunchFailed,
            Self::RetriesExhausted { .. } => AskKind::RetriesExhausted,
            Self::Budget { .. } => AskKind::Budget,
            Self::Loop { .. } => AskKind::Loop,
            Self::TurnLimit => AskKind::TurnLimit,
            Self::ModelStopped => AskKind::ModelStopped,
            Self::CompactionFailed => AskKind::CompactionFailed,
            Self::SetupHook => AskKind::SetupHook,
            Self::McpApproval { .. } => AskKind::McpApproval,
            Self::Review => AskKind::Review,
            Self::CheckFailed => AskKind::CheckFailed,
            Self::TaskLimit => AskKind::TaskLimit,
            Self::Approval { .. } => AskKind::Approval,
            Self::Bind { .. } => AskKind::Bind,
        }
    }
}

impl AskKind {
    /// Returns true if it holds one tool call, and not the run: the call has no result until the Ask is answered or
    /// withdrawn.
    pub fn holds_call(self) -> bool {
        matches!(self, Self::Permission | Self::Plan)
    }

    /// Returns true if a run raises it for itself and waits for the answer.
    pub fn is_raised_by_run(self) -> bool {
        match self {
            Self::RetriesExhausted
            | Self::Budget
            | Self::Loop
            | Self::TurnLimit
            | Self::ModelStopped
            | Self::CompactionFailed
            | Self::CheckFailed => true,
            Self::Clarify
            | Self::Permission
            | Self::Plan
            | Self::LaunchFailed
            | Self::SetupHook
            | Self::McpApproval
            | Self::Review
            | Self::TaskLimit
            | Self::Approval
            | Self::Bind => false,
        }
    }
}

/// Why a task could not be launched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LaunchProblem {
    /// What failed, as the end of a sentence about the task: "could not be started".
    #[serde(default)]
    pub failed: String,
    #[serde(default)]
    pub reason: String,
    /// The next steps for the user.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
}

/// What an agent repeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoopCause {
    /// The same calls with the same results.
    #[default]
    Calls,
    /// It calls `done`, and is refused.
    Done,
    /// It wants to stop, and a hook sends it back.
    Stop,
}

impl LoopCause {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
    fn is_calls(&self) -> bool {
        *self == Self::Calls
    }
}

/// Why a budget stops a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BudgetCause {
    #[default]
    Spent,
    /// The model has no known price, so the budget cannot be enforced.
    Unpriced,
}

/// What needs approval about a tool server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServerApproval {
    /// The repository wants to start it.
    #[default]
    Start,
    /// Its list of tools changed since it was approved.
    Tools,
}

/// Something that only the user can allow. The local settings of the project store the decision.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum Approval {
    /// Starts the tool server whose entry has this hash.
    McpServer { hash: String },
    /// Runs a recurring task whose id and file together have this hash.
    RecurringTask { hash: String },
    /// Runs the setup hook with this hash in new worktrees.
    SetupHook { hash: String },
    /// Gives messages from this project to the root.
    Project { project: ProjectId },
}

/// Whether the agent waits for the answer or continues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AskMode {
    #[default]
    Blocks,
    Continues,
}

/// A question to the user, with everything needed to answer it after any restart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(from = "stored::StoredAsk")]
#[schemars(!from)]
pub struct Ask {
    pub id: AskId,
    #[serde(flatten)]
    pub subject: Subject,
    /// The question in one line.
    pub question: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Choice>,
    /// The answer after a timeout. `None` waits for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<AskReply>,
    pub mode: AskMode,
    /// When the default is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// The tool call that waits for this Ask.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call: Option<String>,
}

/// The input of an answer: a choice, or free text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AskReply {
    Choice(ChoiceId),
    Text(String),
    /// Allow a held call, and save these rules for the project instead of those that the choice shows.
    Rules(Vec<String>),
    /// Approve a plan in this form.
    Plan(String),
}

impl Ask {
    pub fn kind(&self) -> AskKind {
        self.subject.kind()
    }

    /// Returns the auth group whose failure it is about. Questions about the same group are one question.
    pub fn failed_group(&self) -> Option<&str> {
        match &self.subject {
            Subject::RetriesExhausted { group } => group.as_deref(),
            _ => None,
        }
    }

    pub fn choice(&self, id: &ChoiceId) -> Option<&Choice> {
        self.choices.iter().find(|choice| choice.id == *id)
    }

    /// Returns the reply for a choice by its number, counted from one as displayed. An unknown number is refused by
    /// [`Ask::answer`].
    pub fn reply_with_number(&self, number: usize) -> AskReply {
        let at = number.saturating_sub(1);
        AskReply::Choice(self.choices.get(at).map_or(ChoiceId::Option(at), |choice| choice.id.clone()))
    }

    /// Returns the choice with this label. For a held call, its id selects it, too. Other text never selects a choice.
    pub fn choice_by_label(&self, text: &str) -> Option<&Choice> {
        let text = text.trim();
        let is_id = |choice: &Choice| self.kind().holds_call() && choice.id.to_string() == text;
        self.choices.iter().find(|choice| choice.label.eq_ignore_ascii_case(text) || is_id(choice))
    }

    /// Returns the choice of an answer. Sessions of earlier versions store its position.
    pub fn choice_of<'a>(&'a self, answer: &'a Answer) -> Option<&'a ChoiceId> {
        match answer.choice.as_ref()? {
            Chosen::Id(id) => Some(id),
            Chosen::Position(at) => self.choices.get(*at).map(|choice| &choice.id),
        }
    }

    /// Returns the permission rules that a choice saves.
    pub fn rules_of(&self, choice: &ChoiceId) -> Vec<String> {
        match (&self.subject, choice) {
            (Subject::Permission(request), ChoiceId::Project) => request.rules.clone(),
            (Subject::Permission(request), ChoiceId::ThisTask | ChoiceId::Never) => request.exact.clone(),
            _ => Vec::new(),
        }
    }

    /// Returns the call that waits for this Ask.
    pub fn held_call(&self) -> Option<&str> {
        self.tool_call.as_deref().filter(|_| self.kind().holds_call())
    }

    /// Returns the text of the default answer.
    pub fn default_text(&self) -> Option<&str> {
        match self.default.as_ref()? {
            AskReply::Choice(id) => self.choice(id).map(|choice| choice.label.as_str()),
            AskReply::Text(text) => Some(text),
            AskReply::Rules(_) | AskReply::Plan(_) => None,
        }
    }

    /// Returns the answer for a reply, or `None` if it is none of the choices.
    pub fn answer(&self, given: AskReply, by: AnsweredBy) -> Option<Answer> {
        match given {
            AskReply::Choice(id) => {
                let text = self.choice(&id)?.label.clone();
                let rules = self.rules_of(&id);
                Some(Answer { text, choice: Some(Chosen::Id(id)), by, rules, cause: None, client: None })
            }
            AskReply::Text(text) => {
                Some(Answer { text, choice: None, by, rules: Vec::new(), cause: None, client: None })
            }
            AskReply::Plan(plan) => {
                let (Subject::Plan(_), false) = (&self.subject, plan.trim().is_empty()) else { return None };
                let choice = Some(Chosen::Id(ChoiceId::ApproveEdited));
                Some(Answer { text: plan, choice, by, rules: Vec::new(), cause: None, client: None })
            }
            AskReply::Rules(rules) => {
                let (Subject::Permission(_), false) = (&self.subject, rules.is_empty()) else { return None };
                Some(Answer {
                    text: rules.join(", "),
                    choice: Some(Chosen::Id(ChoiceId::Project)),
                    by,
                    rules,
                    cause: None,
                    client: None,
                })
            }
        }
    }
}

/// Who gave an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnsweredBy {
    #[serde(rename = "person")]
    User,
    /// The deadline passed and the default was used.
    Timeout,
    /// A permission rule or a mode that was set after the question was asked.
    Rule,
    /// The agent of the task above.
    Task,
}

/// The answer to an Ask. [`Ask::choice_of`] returns its choice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Answer {
    /// The user's text, or the label of the choice as displayed.
    pub text: String,
    /// `None` for free text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<Chosen>,
    pub by: AnsweredBy,
    /// The permission rules that it saved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// The rule or mode that decided instead of the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<PermissionCause>,
    /// The name of the client through which the user answered, if it gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
}

/// A choice in an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum Chosen {
    Id(ChoiceId),
    /// The position among the choices, counted from zero, as earlier versions stored it.
    Position(usize),
}

#[cfg(test)]
#[path = "ask_tests.rs"]
mod tests;
