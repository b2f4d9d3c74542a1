use super::*;
use crate::agent::testing::*;
use crate::base::{IdSource, TaskId};
use crate::model::event::{CompactMarker, MessagesConsumed, MessagesWithdrawn};
use crate::model::{BlobId, BlobRef, Image, SessionState};

fn fold(ids: &IdSource, bodies: Vec<Body>) -> Conversation {
    let events: Vec<Event> = bodies.into_iter().map(|body| event(ids, body)).collect();
    Conversation::replay(&events)
}

/// Returns the roles and kinds of blocks, in order.
fn shape(conversation: &Conversation) -> String {
    let messages = conversation.role_messages().iter().map(|message| {
        let who = match message.role {
            Role::User => "u",
            Role::Assistant => "a",
        };
        let blocks = message.blocks.iter().map(|block| match block {
            Block::Text(_) => "text",
            Block::Thinking(_) => "thinking",
            Block::ToolUse(_) => "call",
            Block::ToolResult(_) => "result",
            Block::Image(_) => "image",
        });
        format!("{who}:{}", blocks.collect::<Vec<_>>().join("+"))
    });
    messages.collect::<Vec<_>>().join(" ")
}

#[test]
fn blank_texts_are_ignored() {
    let ids = ids();
    assert_eq!(shape(&fold(&ids, vec![assistant_text(" \n"), assistant_text("Hm.")])), "a:text");
}

#[test]
fn a_message_appears_once_it_is_consumed() {
    let ids = ids();
    let hello = message(&ids, MessageSource::User, "Hello");
    let taken = consumed(&hello);
    assert_eq!(shape(&fold(&ids, vec![hello.clone().into()])), "");
    assert_eq!(shape(&fold(&ids, vec![hello.clone().into(), taken.clone()])), "u:text");
    assert_eq!(shape(&fold(&ids, vec![hello.into(), taken.clone(), taken])), "u:text");
}

#[test]
fn a_message_that_was_withdrawn_cannot_be_consumed() {
    let ids = ids();
    let hello = message(&ids, MessageSource::User, "Hello");
    let (withdrawn, taken) = (MessagesWithdrawn { ids: vec![hello.id] }.into(), consumed(&hello));
    assert_eq!(shape(&fold(&ids, vec![hello.into(), withdrawn, taken])), "");
}

#[test]
fn messages_and_their_pictures_are_in_order_of_consumption() {
    let ids = ids();
    let mut first = message(&ids, MessageSource::User, "first");
    first.images.push(Image {
        data: BlobRef { blob: BlobId::of_hash(&[7; 32]), bytes: 1 },
        media_type: "image/png".to_owned(),
        name: None,
    });
    let second = message(&ids, MessageSource::User, "second");
    let taken = MessagesConsumed { ids: vec![second.id, first.id] };
    let conversation = fold(&ids, vec![first.into(), second.into(), taken.into()]);
    assert_eq!(shape(&conversation), "u:text+text+image");
    assert!(matches!(&conversation.role_messages()[0].blocks[0], Block::Text(text) if text.contains("second")));
}

#[test]
fn results_are_in_call_order_and_texts_follow() {
    let ids = ids();
    let hello = message(&ids, MessageSource::User, "Hello");
    let taken = consumed(&hello);
    let conversation = fold(
        &ids,
        vec![
            call("a", "bash").into(),
            call("b", "bash").into(),
            hello.into(),
            result("b", "two").into(),
            taken,
            result("a", "one").into(),
        ],
    );
    assert_eq!(shape(&conversation), "a:call+call u:result+result+text");
    let Block::ToolResult(first) = &conversation.role_messages()[1].blocks[0] else { panic!("no result") };
    assert_eq!(first.call, "a");
}

#[test]
fn a_result_without_an_open_call_is_ignored() {
    let ids = ids();
    let bodies = vec![
        result("z", "whose?").into(),
        call("a", "bash").into(),
        result("a", "one").into(),
        result("a", "again").into(),
    ];
    assert_eq!(shape(&fold(&ids, bodies)), "a:call u:result");
}

#[test]
fn two_responses_in_a_row_are_one_message() {
    let ids = ids();
    assert_eq!(
        shape(&fold(
            &ids,
            vec![assistant_text("One."), ended(&ids, crate::model::event::StopReason::Pause), assistant_text("Two.")]
        )),
        "a:text+text"
    );
}

#[test]
fn a_compaction_keeps_only_pending_messages() {
    let ids = ids();
    let (early, late) =
        (message(&ids, MessageSource::WorkContext, "Here."), message(&ids, MessageSource::User, "Later."));
    let (early_taken, late_taken) = (consumed(&early), consumed(&late));
    let before: Vec<Event> = [SessionConfig::default().into(), early.into(), early_taken, late.into()]
        .into_iter()
        .map(|body: Body| event(&ids, body))
        .collect();
    let carry = Box::new(SessionState::replay(&before));
    let marker = CompactMarker { summary: "s".to_owned(), tokens_before: 9, tokens_after: 1, carry };
    let mut conversation = Conversation::replay(&before);
    assert!(conversation.has_work_context() && conversation.config().is_some());
    conversation.apply(&event(&ids, marker));
    assert_eq!((shape(&conversation), conversation.has_work_context()), (String::new(), false));
    assert!(conversation.config().is_none());
    conversation.apply(&event(&ids, late_taken));
    assert_eq!(shape(&conversation), "u:text");
}

#[test]
fn a_fork_names_the_new_task_and_needs_a_work_context() {
    let ids = ids();
    let context = message(&ids, MessageSource::WorkContext, "Here.");
    let taken = consumed(&context);
    let last = event(&ids, assistant_text("Mine."));
    let marker = |title: &str| ForkMarker {
        source: TaskId::fresh(&ids),
        source_event: last.id,
        title: title.to_owned(),
        description: "Only <notice>this</notice>.".to_owned(),
    };
    let conversation = fold(
        &ids,
        vec![context.into(), taken, assistant_text("Mine."), marker("Sub").into(), marker("Sub sub").into()],
    );
    assert_eq!(shape(&conversation), "u:text a:text u:text+text");
    assert!(!conversation.has_work_context());
    let Block::Text(text) = &conversation.role_messages()[2].blocks[1] else { panic!("no text") };
    assert!(text.contains("Sub sub") && text.contains("You are not that task"));
    assert!(text.contains("&lt;notice>this"), "{text}");
}
