//! The conversation as a fold over the session log. It is built only this way: live, after a restart and in a fork.
//!
//! Because there is no second formatter, the same log always gives the same requests. Results that match no open call
//! are ignored, so a log with interleaved writers still gives a valid request.

use std::sync::Arc;

use crate::base::MessageId;
use crate::model::conversation::{Block, Role, RoleMessage, ToolOutcome, ToolUse};
use crate::model::event::{Body, Event, ForkMarker, SessionConfig, ToolResult};
use crate::model::fold::PendingMessages;
use crate::model::message::{Message, MessageSource};
use crate::model::render;

/// The messages between agent and model since the last compaction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conversation {
    /// Shared with requests that are being encoded. Only the last one ever grows.
    role_messages: Vec<Arc<RoleMessage>>,
    config: Option<Arc<SessionConfig>>,
    /// Messages sent but not yet consumed.
    pending: PendingMessages,
    /// The calls of the last response in order, and whether each has a result.
    calls: Vec<(String, bool)>,
    has_work_context: bool,
}

impl Conversation {
    pub fn replay<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut conversation = Self::default();
        events.into_iter().for_each(|event| conversation.apply(event));
        conversation
    }

    pub fn role_messages(&self) -> &[Arc<RoleMessage>] {
        &self.role_messages
    }

    /// Returns the frozen configuration of this segment, or `None` before there is one.
    pub fn config(&self) -> Option<&Arc<SessionConfig>> {
        self.config.as_ref()
    }

    /// Returns true if this segment has a work context for the current task. A fork needs a new one.
    pub fn has_work_context(&self) -> bool {
        self.has_work_context
    }

    /// Returns the role of the last message. After `User`, the model owes a response.
    pub fn last_role(&self) -> Option<Role> {
        self.role_messages.last().map(|message| message.role)
    }

    /// Returns true if a call of this segment has this id.
    pub fn has_call(&self, id: &str) -> bool {
        self.call(id).is_some()
    }

    /// Returns a call of this segment.
    pub fn call(&self, id: &str) -> Option<&ToolUse> {
        let blocks = self.role_messages.iter().rev().flat_map(|message| &message.blocks);
        blocks.into_iter().find_map(|block| match block {
            Block::ToolUse(call) if call.call == id => Some(call),
            _ => None,
        })
    }

    /// Returns the calls that have no result yet, in order.
    #[cfg(test)]
    pub(crate) fn open_calls(&self) -> impl Iterator<Item = &str> {
        self.calls.iter().filter(|(_, answered)| !answered).map(|(call, _)| call.as_str())
    }

    /// Returns the agent's last text. Empty if it has said nothing.
    pub fn last_text(&self) -> String {
        let own = self.role_messages().iter().rev().find(|message| message.role == Role::Assistant);
        let blocks = own.iter().flat_map(|message| &message.blocks);
        let texts = blocks.filter_map(|block| match block {
            Block::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    pub fn apply(&mut self, event: &Event) {
        match &event.body {
            Body::AssistantText(assistant) if !assistant.text.trim().is_empty() => {
                self.push_assistant(Block::Text(assistant.text.clone()));
            }
            Body::Thinking(thought) => self.push_assistant(Block::Thinking(thought.clone())),
            Body::ToolCall(call) => {
                self.push_assistant(Block::ToolUse(call.clone()));
                self.calls.push((call.call.clone(), false));
            }
            Body::ToolResult(result) => self.answer(result),
            Body::MessagesConsumed(consumed) => self.consume(&consumed.ids),
            Body::SessionConfig(config) => self.config = Some(Arc::new(config.clone())),
            Body::Message(message) => self.pending.on_sent(message),
            Body::MessagesWithdrawn(withdrawn) => self.pending.remove(&withdrawn.ids),
            Body::CompactMarker(marker) => *self = Self { pending: marker.carry.messages.clone(), ..Self::default() },
            Body::HandedOver(handed) => *self = Self { pending: handed.carry.messages.clone(), ..Self::default() },
            Body::HeadMoved(moved) => self.pending = moved.carry.messages.clone(),
            Body::ForkMarker(marker) => {
                self.pending = PendingMessages::default();
                self.push_user(Block::Text(fork_notice(marker)));
                self.has_work_context = false;
            }
            // The model sees nothing else.
            _ => {}
        }
    }

    fn push_assistant(&mut self, block: Block) {
        if self.last_role() != Some(Role::Assistant) {
            self.calls.clear();
        }
        self.blocks_of(Role::Assistant).push(block);
    }

    fn push_user(&mut self, block: Block) {
        self.blocks_of(Role::User).push(block);
    }

    /// Returns the blocks of the last message if it has this role, or else of a new message.
    fn blocks_of(&mut self, role: Role) -> &mut Vec<Block> {
        if self.last_role() != Some(role) {
            self.role_messages.push(Arc::new(RoleMessage { role, blocks: Vec::new() }));
        }
        let last = self.role_messages.len() - 1;
        &mut Arc::make_mut(&mut self.role_messages[last]).blocks
    }

    /// Adds a result in the position of its call, whenever it arrives.
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
        self.blocks_of(Role::User).insert(before, Block::ToolResult(outcome));
    }

    fn consume(&mut self, ids: &[MessageId]) {
        // Images come last in a message. A message with images may have been sent, so nothing may be put before them.
        let closed = self.role_messages.last().is_some_and(|message| {
            message.role == Role::User && message.blocks.iter().any(|block| matches!(block, Block::Image(_)))
        });
        if closed {
            self.role_messages.push(Arc::new(RoleMessage { role: Role::User, blocks: Vec::new() }));
        }
        let messages: Vec<Message> = ids.iter().filter_map(|id| self.pending.take(*id)).collect();
        for message in messages {
            self.has_work_context |= message.from == MessageSource::WorkContext;
            if let Some(text) = render::render(&message) {
                self.push_user(Block::Text(text));
            }
            message.images.into_iter().for_each(|image| self.push_user(Block::Image(image)));
        }
        self.role_messages.pop_if(|message| message.blocks.is_empty());
    }
}

/// Returns the notice that tells an agent that the conversation so far belongs to another task.
fn fork_notice(marker: &ForkMarker) -> String {
    let ForkMarker { source, title, description, .. } = marker;
    let task = if description.is_empty() { title.clone() } else { format!("{title}\n\n{description}") };
    let task = render::escape_tags(&task).into_owned();
    format!(
        "<notice>\nThis conversation was copied from task {source}. You are not that task: everything above is background \
         knowledge, and its promises and open work are not yours. Your own task from here on:\n\n{task}\n</notice>"
    )
}

#[cfg(test)]
#[path = "conversation_tests.rs"]
mod tests;
