//! Counts work outside of the machine: which effects start it and which inputs end it. While some is outstanding, the
//! engine is neither quiet nor over.

use crate::engine::machine::{Effect, Input};

impl Effect {
    /// Returns true if this starts work outside of the machine that one input will answer.
    pub(super) fn begins_work(&self) -> bool {
        match self {
            Self::RemoveWorktree { .. }
            | Self::RestoreWorktree { .. }
            | Self::ReadDeletedTask { .. }
            | Self::CopyConversation { .. }
            | Self::RunJob { .. }
            | Self::WritePlan { .. }
            | Self::SaveRules(_)
            | Self::JudgeCalls(_)
            | Self::SaveDecision(_) => true,
            // Appends and saves are counted by their continuations, runs by the slots of their tasks.
            Self::Append { .. }
            | Self::SendOnce { .. }
            | Self::SaveTree { .. }
            | Self::Launch(_)
            | Self::CancelLaunch { .. }
            | Self::SendToRun { .. }
            | Self::DiscardEnvelope { .. }
            | Self::JudgeIfChanged
            | Self::SetPolicies(_)
            | Self::SetTimer { .. }
            | Self::Reply { .. }
            | Self::Notify(_)
            | Self::Ended => false,
        }
    }
}

impl Input {
    /// Returns true if this answers an effect that [begins work](Effect::begins_work).
    pub(super) fn ends_work(&self) -> bool {
        matches!(
            self,
            Self::WorktreeRemoved { .. }
                | Self::WorktreeRestored { .. }
                | Self::DeletedTaskRead { .. }
                | Self::ConversationCopied { .. }
                | Self::JobDone(_)
                | Self::PlanWritten { .. }
                | Self::RulesSaved { .. }
                | Self::CallsJudged(_)
                | Self::DecisionSaved { .. }
        )
    }
}
