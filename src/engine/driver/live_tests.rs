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
fn streamed_text_is_merged_and_wakes_the_driver_once() {
    let (buffer, one, other) = (LiveBuffer::default(), task(), task());
    let wakes: Vec<u64> = (0..1000).filter_map(|_| buffer.push(one, text("x"))).collect();
    let [batch] = wakes[..] else { panic!("{wakes:?}") };
    assert!(buffer.push(other, text("y")).is_some(), "another task has its own batch");
    assert_eq!(buffer.take_batch(one, batch), [text(&"x".repeat(1000))]);
    assert!(buffer.push(one, text("z")).is_some(), "after a batch was taken, output wakes the driver again");
}

#[test]
fn output_that_cannot_be_merged_stays_in_order() {
    let (buffer, task) = (LiveBuffer::default(), task());
    for live in [text("a"), Live::Discarded, text("b"), text("c")] {
        buffer.push(task, live);
    }
    assert_eq!(sealed(&buffer, task), [text("a"), Live::Discarded, text("bc")]);
}

#[test]
fn output_after_an_event_is_not_published_before_it() {
    let (buffer, task) = (LiveBuffer::default(), task());
    let before = buffer.push(task, text("the first response")).unwrap();
    assert_eq!(sealed(&buffer, task), [text("the first response")], "it is sent with the event");
    let after = buffer.push(task, text("the second one")).unwrap();
    assert_eq!(buffer.take_batch(task, before), [], "the event took this batch");
    assert_eq!(buffer.take_batch(task, after), [text("the second one")]);
}

#[test]
fn no_output_is_added_while_an_event_is_being_sent() {
    let (buffer, task) = (LiveBuffer::default(), task());
    buffer.push(task, text("before"));
    buffer.seal(task, |shown| {
        assert_eq!(shown, [text("before")]);
        assert!(buffer.0.try_lock().is_err(), "output waits until the event is sent");
    });
}

#[test]
fn the_machine_is_told_when_text_starts_and_once_a_second_that_it_continues() {
    let at = |millis: i64| Timestamp::from_millis(1_000_000 + millis);
    let mut state = StreamState::default();
    let thinking = Live::Activity { activity: Activity::Thinking };
    let reported: Vec<bool> = [
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
    .map(|(millis, live)| state.concerns_machine(at(millis), live))
    .collect();
    assert_eq!(reported, [true, true, false, false, true, false, true, true]);
}
