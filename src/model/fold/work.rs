//! The state of a task's work: the last check, the last merge, and what a redo would restore.

use serde::{Deserialize, Serialize};

use crate::base::EventId;
use crate::model::work::{CheckResult, MergeRecord, QueuedMerge, RewindIntent, Rewound, Work};

/// The current state of the work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkState {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt: Option<CheckResult>,
    /// How many checks in a row failed in the same way, up to the last one.
    #[serde(skip_serializing_if = "is_zero")]
    pub failures: u32,
    /// The last merge that was not undone.
    #[serde(rename = "landing", skip_serializing_if = "Option::is_none")]
    pub last_merge: Option<MergeRecord>,
    /// The merge that waits for a pause of the agent in the checkout of its target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queued: Option<QueuedMerge>,
    /// The number of reviews by the user.
    #[serde(rename = "rounds")]
    pub reviews: u32,
    /// The rewind that can be redone, as long as no message was sent since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rewound: Option<Rewound>,
    /// A rewind that has started and not ended.
    #[serde(rename = "moving", skip_serializing_if = "Option::is_none")]
    pub rewind_intent: Option<RewindIntent>,
    /// The end of the run that the user approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved: Option<EventId>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl WorkState {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Drops the rewind that could be redone: the conversation continues from where it was rewound to.
    pub fn on_conversation_continued(&mut self) {
        self.rewound = None;
    }

    /// Drops the queued merge: a restored task is not merged by itself.
    pub fn on_task_removed(&mut self) {
        self.queued = None;
    }

    pub fn on_work(&mut self, work: &Work) {
        match work {
            Work::Verified { receipt } => {
                let again = self.receipt.as_ref().is_some_and(|last| receipt.fails_like(last));
                self.failures = match (receipt.passed(), again) {
                    (true, _) => 0,
                    (false, true) => self.failures + 1,
                    (false, false) => 1,
                };
                self.receipt = Some(receipt.clone());
            }
            Work::Merged { merge } => (self.last_merge, self.queued) = (Some(merge.clone()), None),
            Work::MergeUndone { undo, .. } => {
                self.last_merge.take_if(|merge| merge.undo == *undo);
            }
            Work::MergeQueued { queued } => self.queued = Some(queued.clone()),
            Work::MergeDequeued { .. } => self.queued = None,
            Work::Reviewed { .. } => self.reviews += 1,
            Work::Rewound { rewound } => (self.rewound, self.rewind_intent) = (Some(rewound.clone()), None),
            Work::Redone { .. } => (self.rewound, self.rewind_intent) = (None, None),
            Work::RewindStarted { intent } => self.rewind_intent = Some(intent.clone()),
            Work::RewindFailed { .. } => self.rewind_intent = None,
            Work::Approved { exit, .. } => self.approved = Some(*exit),
        }
    }
}
