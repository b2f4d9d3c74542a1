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
