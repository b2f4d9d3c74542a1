use super::*;

#[test]
fn our_names_and_those_of_claude_code_are_read() {
    for (text, mode) in [
        ("ask", Mode::Ask),
        ("default", Mode::Ask),
        ("edits", Mode::Edits),
        ("acceptEdits", Mode::Edits),
        ("dontAsk", Mode::Refuse),
        ("bypassPermissions", Mode::Bypass),
        ("plan", Mode::Plan),
        ("delegate", Mode::Delegate),
        ("sandboxed", Mode::Sandboxed),
    ] {
        assert_eq!(text.parse(), Ok(mode), "{text}");
    }
    assert_eq!("open".parse::<Mode>(), Err(UnknownMode("open".to_owned())), "the default cannot be chosen");
}

#[test]
fn a_task_is_never_looser_than_the_one_above() {
    let all = [Mode::CHOICES.as_slice(), &[Mode::Open]].concat();
    for above in all.iter().copied() {
        for wanted in all.iter().copied() {
            let got = wanted.below(above);
            let inherits = !matches!(above, Mode::Plan | Mode::Delegate);
            assert!(!inherits || !got.is_looser_than(above), "{wanted} below {above} is {got}");
            assert!(!got.is_looser_than(wanted) || got == wanted, "{wanted} below {above} became looser: {got}");
        }
    }
    assert_eq!(Mode::Edits.below(Mode::Refuse), Mode::Refuse);
    assert_eq!(Mode::Plan.below(Mode::Bypass), Mode::Plan);
    assert_eq!(Mode::Edits.below(Mode::Plan), Mode::Edits, "plan is not inherited");
    assert_eq!(Mode::Edits.below(Mode::Delegate), Mode::Edits, "delegate is not inherited");
}

#[test]
fn the_modes_of_the_profiles_above_limit_a_task() {
    let own = |mode| ProfileMode { mode, is_foreign: false };
    let foreign = |mode| ProfileMode { mode: Some(mode), is_foreign: true };
    for (usual, tasks, expected) in [
        (Mode::Open, vec![], Mode::Open),
        (Mode::Open, vec![own(None), own(None)], Mode::Open),
        (Mode::Open, vec![own(Some(Mode::Edits)), own(None)], Mode::Edits),
        (Mode::Ask, vec![own(None), own(Some(Mode::Edits))], Mode::Ask),
        (Mode::Ask, vec![own(Some(Mode::Edits)), own(Some(Mode::Edits))], Mode::Edits),
        (Mode::Open, vec![own(Some(Mode::Refuse)), own(Some(Mode::Ask))], Mode::Refuse),
        (Mode::Open, vec![own(Some(Mode::Plan)), own(Some(Mode::Edits))], Mode::Edits),
        (Mode::Ask, vec![foreign(Mode::Bypass)], Mode::Ask),
        (Mode::Open, vec![foreign(Mode::Bypass)], Mode::Open),
        (Mode::Open, vec![foreign(Mode::Ask)], Mode::Ask),
    ] {
        assert_eq!(effective(usual, &tasks), expected, "{usual} {tasks:?}");
    }
}
