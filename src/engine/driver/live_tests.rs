use super::*;
use crate::base::IdSource;

fn text(text: &str) -> Live {
    Live::TextDelta { text: text.to_owned() }
}

fn sealed(buffer: &LiveBuffer, task: TaskId) -> Vec<Live> {
    let mut sealed = Vec::new();
    buffer.seal(task, |shown| sealed = shown);
    sealed
}

fn task() -> TaskId {
    TaskId::fresh(&IdSource::new(std::sync::Arc::new(crate::base::SystemClock)))
}

#[test]
fn streamed_text_waits_as_one_piece_and_calls_the_driver_once() {
    let (buffer, one, other) = (LiveBuffer::default(), task(), task());
    let calls: Vec<u64> = (0..1000).filter_map(|_| buffer.push(one, text("x"))).collect();
    let [batch] = calls[..] else { panic!("{calls:?}") };
    assert!(buffer.push(other, text("y")).is_some(), "another task has a place of its own");
    assert_eq!(buffer.take_batch(one, batch), [text(&"x".repeat(1000))]);
    assert!(buffer.push(one, text("z")).is_some(), "once it was taken, the next piece calls again");
}

#[test]
fn what_cannot_be_put_together_stays_in_order() {
    let (buffer, task) = (LiveBuffer::default(), task());
    for live in [text("a"), Live::Discarded, text("b"), text("c")] {
        buffer.push(task, live);
    }
    assert_eq!(sealed(&buffer, task), [text("a"), Live::Discarded, text("bc")]);
}

#[test]
fn what_comes_after_an_event_is_not_told_before_it() {
    let (buffer, task) = (LiveBuffer::default(), task());
    let before = buffer.push(task, text("the first response")).unwrap();
    assert_eq!(sealed(&buffer, task), [text("the first response")], "it goes with the event that keeps it");
    let after = buffer.push(task, text("the second one")).unwrap();
    assert_eq!(buffer.take_batch(task, before), [], "the driver comes late for what the event took along");
    assert_eq!(buffer.take_batch(task, after), [text("the second one")]);
}

#[test]
fn nothing_new_is_taken_in_while_an_event_is_on_its_way() {
    let (buffer, task) = (LiveBuffer::default(), task());
    buffer.push(task, text("before"));
    buffer.seal(task, |shown| {
        assert_eq!(shown, [text("before")]);
        assert!(buffer.0.try_lock().is_err(), "whoever shows something now waits until the event is sent");
    });
}

#[test]
fn the_machine_hears_that_text_begins_and_once_a_second_that_it_goes_on() {
    let at = |millis: i64| Timestamp::from_millis(1_000_000 + millis);
    let mut heard = Heard::default();
    let thinking = Live::Activity { activity: Activity::Thinking };
    let seen: Vec<bool> = [
        (0, &thinking),
        (10, &text("a")),
        (20, &text("b")),
        (900, &text("c")),
        (1_010, &text("d")),
        (1_020, &text("e")),
        (1_030, &thinking),
        (1_040, &text("f")),
    ]
    .into_iter()
    .map(|(millis, live)| heard.concerns_machine(at(millis), live))
    .collect();
    assert_eq!(seen, [true, true, false, false, true, false, true, true]);
}
