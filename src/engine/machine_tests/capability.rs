use super::*;
use crate::engine::backend::Capabilities;
use crate::engine::backend::registry::BackendTable;
use crate::engine::command::Outgoing;
use crate::model::message::Delivery;

/// A task that works on a backend with these capabilities, and the message that the user sends to it.
fn delivered(can: Capabilities, wanted: Delivery) -> (Rig, Delivery) {
    let mut rig = Rig::new();
    let task = rig.root();
    rig.machine.set_backends(BackendTable::single("clerk", can));
    rig.send(task, "work");
    rig.start(task);
    rig.effects.clear();
    let message = Outgoing { text: "listen".to_owned(), ..Outgoing::default() };
    rig.command(Command::Send { task, message, mode: wanted });
    let delivery = rig.messages(task).pop().unwrap().delivery;
    (rig, delivery)
}

fn notices(rig: &Rig) -> Vec<&str> {
    let notices = rig.effects.iter().filter_map(|effect| match effect {
        Effect::Notify(notice) => Some(notice.text.as_str()),
        _ => None,
    });
    notices.collect()
}

#[test]
fn a_message_is_delivered_as_early_as_the_backend_allows_with_a_notice() {
    let no_steer = Capabilities { steer: false, ..Capabilities::ALL };
    let no_interrupt = Capabilities { interrupt: false, ..Capabilities::ALL };
    let neither = Capabilities { interrupt: false, ..no_steer };
    for (can, wanted, expected) in [
        (Capabilities::ALL, Delivery::Steer, Delivery::Steer),
        (Capabilities::ALL, Delivery::Interrupt, Delivery::Interrupt),
        (no_steer, Delivery::Steer, Delivery::Next),
        (no_steer, Delivery::Interrupt, Delivery::Interrupt),
        (no_interrupt, Delivery::Interrupt, Delivery::Steer),
        (neither, Delivery::Interrupt, Delivery::Next),
        (neither, Delivery::Next, Delivery::Next),
    ] {
        let (rig, delivery) = delivered(can, wanted);
        assert_eq!(delivery, expected, "{wanted:?} with {can:?}");
        let told = notices(&rig).iter().any(|text| text.starts_with("clerk "));
        assert_eq!(told, delivery != wanted, "{wanted:?} with {can:?}: {:?}", notices(&rig));
    }
}

#[test]
fn a_message_to_an_idle_task_keeps_its_delivery() {
    let mut rig = Rig::new();
    let task = rig.root();
    rig.machine.set_backends(BackendTable::single(
        "clerk",
        Capabilities { steer: false, interrupt: false, ..Capabilities::ALL },
    ));
    rig.send(task, "work");
    assert_eq!(rig.messages(task).pop().unwrap().delivery, Delivery::Steer);
    assert_eq!(notices(&rig), Vec::<&str>::new());
}
