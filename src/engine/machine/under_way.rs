//! Work that goes on outside of the machine: which effects begin it, and which inputs end it. As long as some is under way,
//! the engine is neither quiet nor over.

use crate::engine::machine::{Effect, Input};

impl Effect {
    /// Tells whether this is work outside of the machine that one input will answer, with what goes on then.
    pub(super) fn begins_work(&self) -> bool {
        match self {
            Self::Clear { .. }
            | Self::Restore { .. }
            | Self::Recall { .. }
            | Self::Copy { .. }
            | Self::Work { .. }
            | Self::WriteDown { .. }
            | Self::Decide(_) => true,
            // Appends and saves are counted where somebody waits for them; runs, by the slots of their tasks.
            Self::Append { .. }
            | Self::SendOnce { .. }
            | Self::SaveTree { .. }
            | Self::Launch(_)
            | Self::CancelLaunch { .. }
            | Self::Tell { .. }
            | Self::DiscardLetter { .. }
            | Self::Wake { .. }
            | Self::Reply { .. }
            | Self::Notify(_)
            | Self::Ended => false,
        }
    }
}

impl Input {
    /// Tells whether this is the answer to an effect that [begins work](Effect::begins_work).
    pub(super) fn ends_work(&self) -> bool {
        matches!(
            self,
            Self::Cleared { .. }
                | Self::Restored { .. }
                | Self::Recalled { .. }
                | Self::Copied { .. }
                | Self::Worked(_)
                | Self::WrittenDown { .. }
                | Self::Decided { .. }
        )
    }
}
