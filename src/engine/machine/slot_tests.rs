use super::*;

fn running() -> Slot {
    Slot::Running { asleep: false, stop: None }
}

#[test]
fn the_first_reason_to_stop_counts_and_a_second_stop_of_the_user_is_remembered() {
    let mut slot = running();
    slot.request_stop(&InterruptReason::Quit);
    slot.request_stop(&InterruptReason::Stopped);
    assert_eq!(slot.stop(), Some(&StopRequest { reason: InterruptReason::Quit, again: true }));
    assert!(!slot.is_stopped_by_user(), "it ends because the program does");

    let mut slot = running();
    slot.request_stop(&InterruptReason::Stopped);
    slot.request_stop(&InterruptReason::Quit);
    assert_eq!(slot.stop(), Some(&StopRequest { reason: InterruptReason::Stopped, again: false }));
    assert!(slot.is_stopped_by_user());
}

#[test]
fn a_launch_that_is_stopped_twice_is_stopped_once() {
    let mut slot = Slot::Launching { ordered: true, stop: None };
    slot.request_stop(&InterruptReason::Stopped);
    slot.request_stop(&InterruptReason::Stopped);
    assert_eq!(slot.stop(), Some(&StopRequest { reason: InterruptReason::Stopped, again: false }));
}

#[test]
fn a_slot_without_a_run_ignores_a_stop_request() {
    let mut slot = Slot::Free;
    slot.request_stop(&InterruptReason::Stopped);
    assert_eq!(slot, Slot::Free);
    assert!(Slot::Halting.is_stopped_by_user() && !Slot::Halting.has_run());
}

#[test]
fn merges_hold_one_by_one_and_a_change_holds_once() {
    let mut holds = Holds::default();
    for hold in [Hold::Merge, Hold::Merge, Hold::Change, Hold::Change] {
        holds.add(hold);
    }
    holds.remove(Hold::Change);
    holds.remove(Hold::Merge);
    assert!(!holds.has(Hold::Change) && holds.has(Hold::Merge));
    holds.remove(Hold::Merge);
    holds.remove(Hold::Merge);
    assert!(!holds.has(Hold::Merge));
}
