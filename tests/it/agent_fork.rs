//! A copied conversation goes on as another task: the same bytes before the fork, another identity after it.

use mxd::model::conversation::Wire;
use mxd::model::event::Event;
use mxd::model::fork::Target;
use mxd::model::message::MessageSource;
use serde_json::json;

use crate::support::agent_fixture::{AgentFixture, tool};
use crate::support::mock::{Conversation, Mock, Script, answer};

async fn fork(from: &AgentFixture, to: &AgentFixture) {
    let target = Target { source: from.task, title: to.title.clone(), description: "Only this part.".to_owned() };
    from.store().copy_session(from.task, to.task, move |copied: &[Event]| target.closing(copied)).await.unwrap();
}

#[tokio::test]
async fn a_fork_continues_the_prefix_and_learns_who_it_is_layer_after_layer() {
    for wire in [Wire::Anthropic, Wire::OpenaiResponses, Wire::OpenaiChat] {
        let mock = Mock::start(
            Script::new()
                .with(
                    Conversation::new("The first task")
                        .turn(answer().thinking("Hm.").text("I look.").tool(&tool("note"), json!({"text": "root"})))
                        .turn(answer().text("I wait.").tool(&tool("yield"), json!({})))
                        .turn(answer().text("Thank you.")),
                )
                .with(
                    Conversation::new("The second task")
                        .expect_fork_of("The first task")
                        .turn(answer().tool(&tool("note"), json!({"text": "child"})))
                        .turn(answer().text("My part is done.")),
                )
                .with(
                    Conversation::new("The third task")
                        .expect_fork_of("The second task")
                        .turn(answer().text("And mine.")),
                ),
        );
        let first = AgentFixture::new(&mock.url(), wire, "The first task");
        first.leave(MessageSource::User, "Begin.").await;
        let mut run = first.run();
        run.until_parked().await;

        let second = first.sibling("The second task");
        fork(&first, &second).await;
        second.leave(MessageSource::User, "Begin, second.").await;
        let mut child = second.run();
        child.until_parked().await;

        let third = second.sibling("The third task");
        fork(&second, &third).await;
        third.leave(MessageSource::User, "Begin, third.").await;
        third.run().until_parked().await;

        // The source never notices.
        run.deliver(first.message(MessageSource::User, "Go on.")).await;
        run.until_parked().await;
        mock.assert_finished();

        for (title, above) in [("The second task", "The first task"), ("The third task", "The second task")] {
            let requests = mock.requests_of(title);
            assert!(requests[0].continues.is_some(), "{wire:?}: {title} continues nothing of {above}");
            let body = &requests[0].body;
            assert!(body.contains("You are not that task"), "{wire:?}");
            let card = format!("Task: {title} (");
            assert_eq!(body.matches(&card).count(), 1, "{wire:?}: {title} has no card of its own");
        }
        assert_eq!(first.carried_out().len(), 2, "{wire:?}");
    }
}
