use rustix::process::Signal;

use super::*;

#[test]
fn the_exit_code_says_which_signal_it_was() {
    for (stop, signal) in [
        (StopSignal::Terminate, Signal::TERM),
        (StopSignal::Hangup, Signal::HUP),
        (StopSignal::Interrupt, Signal::INT),
        (StopSignal::Quit, Signal::QUIT),
    ] {
        assert_eq!(i32::from(Stop::Signal(stop).exit_code()), 128 + signal.as_raw());
    }
}

#[test]
fn an_interrupt_that_is_heard_just_after_the_editor_was_the_editors() {
    let now = Instant::now();
    let back = Lent::Until(now + AFTERMATH);
    assert!(Lent::Yes.at(now) && back.at(now) && !Lent::No.at(now));
    assert!(!back.at(now + AFTERMATH), "later it is ours");
}
