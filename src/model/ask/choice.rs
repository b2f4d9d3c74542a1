//! The choices of an Ask. The id of a choice is its meaning; its label is only displayed.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::base::MicroUsd;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Choice {
    pub id: ChoiceId,
    pub label: String,
}

impl Choice {
    pub fn new(id: ChoiceId, label: impl Into<String>) -> Self {
        Self { id, label: label.into() }
    }

    /// Returns the choices for the options that an agent offers with its question.
    pub fn options<Label: Into<String>>(labels: impl IntoIterator<Item = Label>) -> Vec<Self> {
        labels.into_iter().enumerate().map(|(at, label)| Self::new(ChoiceId::Option(at), label)).collect()
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.label)
    }
}

/// The meaning of a choice. Sessions store its word, so a word never changes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum ChoiceId {
    /// One of the options that an agent offered with its question, counted from zero.
    Option(usize),
    /// Retry the failed step.
    Retry,
    /// Lift the limit, or continue despite the finding.
    Continue,
    /// Raise the spent budget by this amount, for the agent that asks.
    Spend(MicroUsd),
    /// Continue with another model.
    Model(String),
    /// Let this profile do the work.
    Profile(String),
    /// Retry with another key, which the user enters first.
    ChangeKey,
    /// Continue without the limit for as long as the model has no price.
    ContinueUnpriced,
    /// Continue without the summary that could not be made.
    SkipSummary,
    /// Continue without the setup hook.
    SkipHook,
    /// Run the setup hook from the user's checkout, where they have edited it.
    RunEditedHook,
    /// Accept work whose check fails.
    Accept,
    /// Give up the task because its check fails.
    Fail,
    /// End the run.
    Stop,
    /// Leave a task that could not be started as it is.
    Leave,
    /// Allow it, or count the work as done.
    Approve,
    Decline,
    /// Count the work as done, and merge it.
    Merge,
    /// Run the held call, this time.
    Once,
    /// Run the held call, and calls equal to it in the same task.
    ThisTask,
    /// Run the held call, and save the displayed rule for the project.
    Project,
    /// Approve the plan as the user has edited it.
    ApproveEdited,
    /// Do not run the held call.
    No,
    /// Do not run the held call, and refuse it from now on in the project.
    Never,
    /// A word of a later version. Nothing acts on it.
    Other(String),
}

const OPTION: &str = "option-";
const SPEND: &str = "spend-";
const MODEL: &str = "model-";
const PROFILE: &str = "profile-";

const WORDS: [(&str, ChoiceId); 20] = [
    ("retry", ChoiceId::Retry),
    ("continue", ChoiceId::Continue),
    ("change-key", ChoiceId::ChangeKey),
    ("continue-unpriced", ChoiceId::ContinueUnpriced),
    ("skip-summary", ChoiceId::SkipSummary),
    ("skip-hook", ChoiceId::SkipHook),
    ("run-edited-hook", ChoiceId::RunEditedHook),
    ("accept", ChoiceId::Accept),
    ("fail", ChoiceId::Fail),
    ("stop", ChoiceId::Stop),
    ("leave", ChoiceId::Leave),
    ("approve", ChoiceId::Approve),
    ("decline", ChoiceId::Decline),
    ("merge", ChoiceId::Merge),
    ("once", ChoiceId::Once),
    ("task", ChoiceId::ThisTask),
    ("project", ChoiceId::Project),
    ("approve-edited", ChoiceId::ApproveEdited),
    ("no", ChoiceId::No),
    ("never", ChoiceId::Never),
];

impl fmt::Display for ChoiceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Users count from one.
            Self::Option(index) => write!(f, "{OPTION}{}", index + 1),
            Self::Spend(amount) => write!(f, "{SPEND}{}", amount.0),
            Self::Model(name) => write!(f, "{MODEL}{name}"),
            Self::Profile(name) => write!(f, "{PROFILE}{name}"),
            Self::Other(word) => f.write_str(word),
            known => f.write_str(WORDS.iter().find(|(_, id)| id == known).map_or("", |(word, _)| word)),
        }
    }
}

impl schemars::JsonSchema for ChoiceId {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ChoiceId".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"description": "The meaning of a choice, such as `option-1`, `retry` or `approve`.", "type": "string"})
    }
}

impl From<String> for ChoiceId {
    fn from(word: String) -> Self {
        let option = word.strip_prefix(OPTION).and_then(|number| number.parse::<usize>().ok()?.checked_sub(1));
        let spend = || Some(Self::Spend(MicroUsd(word.strip_prefix(SPEND)?.parse().ok()?)));
        let model = || Some(Self::Model(word.strip_prefix(MODEL)?.to_owned()));
        let profile = || Some(Self::Profile(word.strip_prefix(PROFILE)?.to_owned()));
        let known = || WORDS.iter().find(|(known, _)| *known == word).map(|(_, id)| id.clone());
        option
            .map(Self::Option)
            .or_else(spend)
            .or_else(model)
            .or_else(profile)
            .or_else(known)
            .unwrap_or(Self::Other(word))
    }
}

impl From<ChoiceId> for String {
    fn from(id: ChoiceId) -> Self {
        id.to_string()
    }
}
