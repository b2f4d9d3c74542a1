//! What was done with a task's files: the last check, the last landing, what a redo would take back.

use serde::{Deserialize, Serialize};

use crate::base::EventId;
use crate::model::work::{Landing, Moving, QueuedMerge, Receipt, Rewound, Work};

/// What is in force of what was done with the work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkDone {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Receipt>,
    /// How many checks in a row failed in the same way, up to the last one.
    #[serde(skip_serializing_if = "is_zero")]
    pub failures: u32,
    /// The last landing that was not taken back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub landing: Option<Landing>,
    /// The merge that waits for a pause of whoever works where its target is checked out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queued: Option<QueuedMerge>,
    /// How often the person reviewed it.
    pub rounds: u32,
    /// The rewind that can be taken back, as long as nothing was said since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rewound: Option<Rewound>,
    /// A rewind that has begun and has not ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moving: Option<Moving>,
    /// The end of a run that the person approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved: Option<EventId>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl WorkDone {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Forgets the rewind that could be taken back: the conversation goes on from where it was rewound to.
    pub fn conversation_went_on(&mut self) {
        self.rewound = None;
    }

    /// Forgets the queued merge: a task that is brought back later is not merged by itself.
    pub fn task_removed(&mut self) {
        self.queued = None;
    }

    pub fn done(&mut self, work: &Work) {
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
            Work::Landed { landing } => (self.landing, self.queued) = (Some(landing.clone()), None),
            Work::LandingUndone { undo, .. } => {
                self.landing.take_if(|landing| landing.undo == *undo);
            }
            Work::MergeQueued { queued } => self.queued = Some(queued.clone()),
            Work::MergeDequeued { .. } => self.queued = None,
            Work::Reviewed { .. } => self.rounds += 1,
            Work::Rewound { rewound } => (self.rewound, self.moving) = (Some(rewound.clone()), None),
            Work::Redone { .. } => (self.rewound, self.moving) = (None, None),
            Work::Moving { moving } => self.moving = Some(moving.clone()),
            Work::Stayed { .. } => self.moving = None,
            Work::Approved { exit, .. } => self.approved = Some(*exit),
        }
    }
}
