use super::*;
use crate::agent::testing::*;
use crate::base::{IdSource, TaskId};
use crate::model::event::{CompactMarker, MessagesConsumed, MessagesWithdrawn};
use crate::model::{BlobId, BlobRef, Image, SessionState};

fn fold(ids: &IdSource, bodies: Vec<Body>) -> Conversation {
    let events: Vec<Event> = bodies.into_iter().map(|body| event(ids, body)).collect();
    Conversation::replay(&events)
}

/// Returns who says what kind of thing, in order.
fn shape(conversation: &Conversation) -> String {
    let speeches = conversation.speeches().iter().map(|speech| {
        let who = match speech.role {
            Role::User => "u",
            Role::Assistant => "a",
        };
        let blocks = speech.blocks.iter().map(|block| match block {
            Block::Text(_) => "text",
            Block::Thinking(_) => "thinking",
            Block::ToolUse(_) => "call",
            Block::ToolResult(_) => "result",
            Block::Image(_) => "image",
        });
        format!("{who}:{}", blocks.collect::<Vec<_>>().join("+"))
    });
    speeches.collect::<Vec<_>>().join(" ")
}

#[test]
fn blank_texts_are_never_part_of_it() {
    let ids = ids();
    assert_eq!(shape(&fold(&ids, vec![said(" \n"), said("Hm.")])), "a:text");
}

#[test]
fn a_message_is_part_of_it_once_it_is_consumed_and_not_before() {
    let ids = ids();
    let hello = message(&ids, Source::User, "Hello");
    let taken = consumed(&hello);
    assert_eq!(shape(&fold(&ids, vec![hello.clone().into()])), "");
    assert_eq!(shape(&fold(&ids, vec![hello.clone().into(), taken.clone()])), "u:text");
    assert_eq!(shape(&fold(&ids, vec![hello.into(), taken.clone(), taken])), "u:text");
}

#[test]
fn a_message_that_was_withdrawn_cannot_be_consumed() {
    let ids = ids();
    let hello = message(&ids, Source::User, "Hello");
    let (withdrawn, taken) = (MessagesWithdrawn { ids: vec![hello.id] }.into(), consumed(&hello));
    assert_eq!(shape(&fold(&ids, vec![hello.into(), withdrawn, taken])), "");
}

#[test]
fn messages_stand_in_the_order_in_which_they_were_consumed_with_their_pictures() {
    let ids = ids();
    let mut first = message(&ids, Source::User, "first");
    first.images.push(Image {
        data: BlobRef { blob: BlobId::of_hash(&[7; 32]), bytes: 1 },
        media_type: "image/png".to_owned(),
        name: None,
    });
    let second = message(&ids, Source::User, "second");
    let taken = MessagesConsumed { ids: vec![second.id, first.id] };
    let conversation = fold(&ids, vec![first.into(), second.into(), taken.into()]);
    assert_eq!(shape(&conversation), "u:text+text+image");
    assert!(matches!(&conversation.speeches()[0].blocks[0], Block::Text(text) if text.contains("second")));
}

#[test]
fn results_stand_where_their_calls_stood_and_texts_come_after_them() {
    let ids = ids();
    let hello = message(&ids, Source::User, "Hello");
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
    let Block::ToolResult(first) = &conversation.speeches()[1].blocks[0] else { panic!("no result") };
    assert_eq!(first.call, "a");
}

#[test]
fn a_result_for_no_open_call_is_left_out() {
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
fn two_responses_in_a_row_are_one_speech() {
    let ids = ids();
    assert_eq!(
        shape(&fold(&ids, vec![said("One."), ended(&ids, crate::model::event::StopReason::Pause), said("Two.")])),
        "a:text+text"
    );
}

#[test]
fn a_compaction_leaves_only_what_was_sent_and_not_yet_read() {
    let ids = ids();
    let (early, late) = (message(&ids, Source::WorkContext, "Here."), message(&ids, Source::User, "Later."));
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
fn a_fork_says_who_the_agent_is_now_and_asks_for_its_own_card() {
    let ids = ids();
    let context = message(&ids, Source::WorkContext, "Here.");
    let taken = consumed(&context);
    let last = event(&ids, said("Mine."));
    let marker = |title: &str| ForkMarker {
        source: TaskId::fresh(&ids),
        source_event: last.id,
        title: title.to_owned(),
        description: "Only <notice>this</notice>.".to_owned(),
    };
    let conversation =
        fold(&ids, vec![context.into(), taken, said("Mine."), marker("Sub").into(), marker("Sub sub").into()]);
    assert_eq!(shape(&conversation), "u:text a:text u:text+text");
    assert!(!conversation.has_work_context());
    let Block::Text(text) = &conversation.speeches()[2].blocks[1] else { panic!("no text") };
    assert!(text.contains("Sub sub") && text.contains("You are not that task"));
    assert!(text.contains("&lt;notice>this"), "{text}");
}
