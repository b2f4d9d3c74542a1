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
fn an_interrupt_just_after_the_editor_ended_is_the_editors() {
    let now = Instant::now();
    let back = HandOffState::ReturnedUntil(now + HAND_OFF_GRACE);
    assert!(
        HandOffState::HandedOff.is_handed_off(now) && back.is_handed_off(now) && !HandOffState::Ours.is_handed_off(now)
    );
    assert!(!back.is_handed_off(now + HAND_OFF_GRACE));
}
