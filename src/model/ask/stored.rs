//! Deserializes Asks, including those of earlier versions, which stored choices as bare labels and the subject as
//! sentences. Only this module parses those sentences.

use serde::Deserialize;

use crate::base::{AskId, Timestamp};
use crate::model::ask::{Ask, AskMode, AskReply, BudgetCause, Choice, ChoiceId, LaunchProblem, Subject};

#[derive(Deserialize)]
pub(super) struct StoredAsk {
    id: AskId,
    #[serde(flatten)]
    subject: Subject,
    question: String,
    #[serde(default)]
    detail: String,
    #[serde(default)]
    choices: Vec<StoredChoice>,
    #[serde(default)]
    default: Option<StoredDefault>,
    #[serde(default)]
    mode: AskMode,
    #[serde(default)]
    deadline: Option<Timestamp>,
    #[serde(default)]
    tool_call: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum StoredChoice {
    Choice(Choice),
    Label(String),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum StoredDefault {
    Given(AskReply),
    Label(String),
}

impl From<StoredAsk> for Ask {
    fn from(stored: StoredAsk) -> Self {
        let StoredAsk { id, mut subject, question, detail, choices, default, mode, deadline, tool_call } = stored;
        let count = choices.len();
        let choices: Vec<Choice> = choices
            .into_iter()
            .enumerate()
            .map(|(at, choice)| match choice {
                StoredChoice::Choice(choice) => choice,
                StoredChoice::Label(label) => Choice { id: id_of_label(&subject, at, count, &label), label },
            })
            .collect();
        let default = default.map(|default| match default {
            StoredDefault::Given(given) => given,
            StoredDefault::Label(text) => match choices.iter().find(|choice| choice.label == text) {
                Some(choice) => AskReply::Choice(choice.id.clone()),
                None => AskReply::Text(text),
            },
        });
        match &mut subject {
            Subject::Budget { cause, .. } if choices.iter().any(|choice| choice.id == ChoiceId::ContinueUnpriced) => {
                *cause = BudgetCause::Unpriced;
            }
            Subject::LaunchFailed(problem) if problem.failed.is_empty() => *problem = problem_in(&question, &detail),
            _ => {}
        }
        Self { id, subject, question, detail, choices, default, mode, deadline, tool_call }
    }
}

/// Returns the id of a choice that was stored without one: by its position where labels varied, by its label
/// elsewhere.
fn id_of_label(subject: &Subject, at: usize, count: usize, label: &str) -> ChoiceId {
    let of = |ids: &[ChoiceId]| ids.get(at).cloned();
    let known = match subject {
        // Earlier versions had none.
        Subject::Bind { .. } => None,
        Subject::Clarify | Subject::Permission(_) | Subject::Plan(_) => Some(ChoiceId::Option(at)),
        Subject::McpApproval { .. } | Subject::Approval { .. } | Subject::TaskLimit => {
            of(&[ChoiceId::Approve, ChoiceId::Decline])
        }
        Subject::Review => of(&[ChoiceId::Approve, ChoiceId::Merge]),
        Subject::LaunchFailed(_) => of(&[ChoiceId::Retry, ChoiceId::Leave]),
        Subject::SetupHook if count == 3 => of(&[ChoiceId::Retry, ChoiceId::SkipHook, ChoiceId::Leave]),
        Subject::SetupHook => of(&[ChoiceId::Retry, ChoiceId::RunEditedHook, ChoiceId::SkipHook, ChoiceId::Leave]),
        Subject::RetriesExhausted { .. } => of(&[ChoiceId::Retry, ChoiceId::Stop]),
        Subject::CompactionFailed => of(&[ChoiceId::Retry, ChoiceId::SkipSummary, ChoiceId::Stop]),
        Subject::CheckFailed => of(&[ChoiceId::Continue, ChoiceId::Accept, ChoiceId::Fail]),
        Subject::Budget { .. } if at == 0 && label == "Go on without a limit" => Some(ChoiceId::ContinueUnpriced),
        Subject::Budget { .. } | Subject::Loop { .. } | Subject::TurnLimit | Subject::ModelStopped => {
            of(&[ChoiceId::Continue, ChoiceId::Stop])
        }
    };
    known.unwrap_or_else(|| ChoiceId::Other(label.to_owned()))
}

/// Returns why a launch failed, from the sentences of earlier versions.
fn problem_in(question: &str, detail: &str) -> LaunchProblem {
    let hint = |line: &str| line.trim_start().strip_prefix("hint: ").map(str::to_owned);
    let reason: Vec<&str> = detail.lines().filter(|line| hint(line).is_none()).collect();
    // The title of the task precedes it in quotes.
    let failed = question.strip_suffix(". Try again?").unwrap_or(question);
    let failed = failed.rsplit_once("\" ").map_or(failed, |(_, failed)| failed);
    LaunchProblem {
        failed: failed.to_owned(),
        reason: reason.join("\n"),
        hints: detail.lines().filter_map(hint).collect(),
    }
}
