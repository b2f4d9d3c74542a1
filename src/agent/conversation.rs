//! The conversation as a fold over the log: the only way it ever grows, live, after a restart and in a fork alike.
//!
//! There is no second formatter that could drift from this one, so the same log always gives the same requests.
//! Results that answer no open call are left out: a log that was written by two hands still gives a valid request.

use std::sync::Arc;

use crate::base::MessageId;
use crate::model::conversation::{Block, Role, Speech, ToolOutcome};
use crate::model::event::{Body, Event, ForkMarker, SessionConfig, ToolResult};
use crate::model::fold::PendingMessages;
use crate::model::message::{Message, Source};
use crate::model::render;

/// What a model has been told and has said, since the last compaction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conversation {
    /// Shared with requests that are being spelled; only the last one ever grows.
    speeches: Vec<Arc<Speech>>,
    config: Option<Arc<SessionConfig>>,
    /// Messages that were sent and may still be consumed.
    sent: PendingMessages,
    /// The calls of the last response, in order, and whether each has its result.
    calls: Vec<(String, bool)>,
    has_work_context: bool,
}

impl Conversation {
    pub fn replay<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut conversation = Self::default();
        events.into_iter().for_each(|event| conversation.apply(event));
        conversation
    }

    pub fn speeches(&self) -> &[Arc<Speech>] {
        &self.speeches
    }

    /// Returns what every request of this segment starts with, once it is decided.
    pub fn config(&self) -> Option<&Arc<SessionConfig>> {
        self.config.as_ref()
    }

    /// Tells whether the agent has been told where it is, in this segment and under its present identity.
    pub fn has_work_context(&self) -> bool {
        self.has_work_context
    }

    /// Returns who spoke last: a user's speech wants a response.
    pub fn last_role(&self) -> Option<Role> {
        self.speeches.last().map(|speech| speech.role)
    }

    /// Tells whether a call of this segment has this id.
    pub fn has_call(&self, id: &str) -> bool {
        let blocks = self.speeches.iter().rev().flat_map(|speech| &speech.blocks);
        blocks.into_iter().any(|block| matches!(block, Block::ToolUse(call) if call.call == id))
    }

    /// Returns the calls that have no result yet, in order.
    #[cfg(test)]
    pub(crate) fn open_calls(&self) -> impl Iterator<Item = &str> {
        self.calls.iter().filter(|(_, answered)| !answered).map(|(call, _)| call.as_str())
    }

    pub fn apply(&mut self, event: &Event) {
        match &event.body {
            Body::AssistantText(said) if !said.text.trim().is_empty() => self.say(Block::Text(said.text.clone())),
            Body::Thinking(thought) => self.say(Block::Thinking(thought.clone())),
            Body::ToolCall(call) => {
                self.say(Block::ToolUse(call.clone()));
                self.calls.push((call.call.clone(), false));
            }
            Body::ToolResult(result) => self.answer(result),
            Body::MessagesConsumed(consumed) => self.consume(&consumed.ids),
            Body::SessionConfig(config) => self.config = Some(Arc::new(config.clone())),
            Body::Message(message) => self.sent.sent(message),
            Body::MessagesWithdrawn(withdrawn) => self.sent.settled(&withdrawn.ids),
            Body::CompactMarker(marker) => *self = Self { sent: marker.carry.messages.clone(), ..Self::default() },
            Body::HeadMoved(moved) => self.sent = moved.carry.messages.clone(),
            Body::ForkMarker(marker) => {
                self.sent = PendingMessages::default();
                self.hear(Block::Text(fork_notice(marker)));
                self.has_work_context = false;
            }
            // The model is told nothing else.
            _ => {}
        }
    }

    fn say(&mut self, block: Block) {
        if self.last_role() != Some(Role::Assistant) {
            self.calls.clear();
        }
        self.speech(Role::Assistant).push(block);
    }

    fn hear(&mut self, block: Block) {
        self.speech(Role::User).push(block);
    }

    /// Returns the blocks of the last speech if `role` has it, or of a new one.
    fn speech(&mut self, role: Role) -> &mut Vec<Block> {
        if self.last_role() != Some(role) {
            self.speeches.push(Arc::new(Speech { role, blocks: Vec::new() }));
        }
        let last = self.speeches.len() - 1;
        &mut Arc::make_mut(&mut self.speeches[last]).blocks
    }

    /// Adds a result where its call stood among the calls, whenever it came in.
    fn answer(&mut self, result: &ToolResult) {
        let Some(position) = self.calls.iter().position(|(call, answered)| *call == result.call && !answered) else {
            return;
        };
        let before = self.calls[..position].iter().filter(|(_, answered)| *answered).count();
        self.calls[position].1 = true;
        let outcome = ToolOutcome {
            call: result.call.clone(),
            content: result.content.clone(),
            is_error: result.is_error,
            images: result.images.clone(),
        };
        self.speech(Role::User).insert(before, Block::ToolResult(outcome));
    }

    fn consume(&mut self, ids: &[MessageId]) {
        // Images stand last in a turn. One that may have been sent already must not get words in front of them.
        let closed = self.speeches.last().is_some_and(|speech| {
            speech.role == Role::User && speech.blocks.iter().any(|block| matches!(block, Block::Image(_)))
        });
        if closed {
            self.speeches.push(Arc::new(Speech { role: Role::User, blocks: Vec::new() }));
        }
        let messages: Vec<Message> = ids.iter().filter_map(|id| self.sent.take(*id)).collect();
        for message in messages {
            self.has_work_context |= message.from == Source::WorkContext;
            if let Some(text) = render::render(&message) {
                self.hear(Block::Text(text));
            }
            message.images.into_iter().for_each(|image| self.hear(Block::Image(image)));
        }
        self.speeches.pop_if(|speech| speech.blocks.is_empty());
    }
}

/// Returns how an agent learns that the conversation so far was another's.
fn fork_notice(marker: &ForkMarker) -> String {
    let ForkMarker { source, title, description, .. } = marker;
    let card = if description.is_empty() { title.clone() } else { format!("{title}\n\n{description}") };
    let card = render::neutral(&card).into_owned();
    format!(
        "<notice>\nThis conversation was copied from task {source}. You are not that task: everything above is background \
         knowledge, and its promises and open work are not yours. Your own task from here on:\n\n{card}\n</notice>"
    )
}

#[cfg(test)]
#[path = "conversation_tests.rs"]
mod tests;
