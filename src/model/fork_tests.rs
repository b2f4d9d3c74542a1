use super::*;
use crate::agent::conversation::Conversation;
use crate::base::{EventId, IdSource, Json, SystemClock, Timestamp};
use crate::model::conversation::{Block, Role, ToolUse};
use crate::model::event::{AssistantText, VERSION};
use crate::tools::names;

fn event(ids: &IdSource, body: impl Into<Body>) -> Event {
    Event {
        v: VERSION,
        id: EventId::fresh(ids),
        parent: None,
        ts: Timestamp::EPOCH,
        run: None,
        batch: None,
        body: body.into(),
    }
}

fn call(name: &str) -> ToolUse {
    ToolUse { call: format!("call-{name}"), name: names::wire(name), input: Json::object(), malformed: None }
}

#[test]
fn the_copy_has_every_call_answered_and_knows_who_it_is() {
    let ids = IdSource::seeded(std::sync::Arc::new(SystemClock), 1);
    let mut log = vec![
        event(&ids, AssistantText { text: "Splitting.".to_owned() }),
        event(&ids, call(names::FORK_TASK_CONTEXT)),
        event(&ids, call("bash")),
    ];
    let source = TaskId::fresh(&ids);
    let target = Target { source, title: "Child".to_owned(), description: "Do the other half.".to_owned() };
    let closing = target.closing(&log);
    log.extend(closing.into_iter().map(|body| event(&ids, body)));

    let conversation = Conversation::replay(&log);
    assert_eq!(conversation.open_calls().count(), 0);
    assert_eq!(conversation.last_role(), Some(Role::User));
    let blocks = &conversation.role_messages().last().unwrap().blocks;
    let texts: Vec<String> = blocks.iter().map(|block| format!("{block:?}")).collect();
    assert!(texts[0].contains("You are the copy"), "{texts:?}");
    assert!(texts[1].contains("not known here"), "{texts:?}");
    let Block::Text(marker) = &blocks[2] else { panic!("{texts:?}") };
    assert!(marker.contains(&source.to_string()) && marker.contains("Do the other half."));
    assert!(!conversation.has_work_context(), "the copy is told where it is, anew");
}
