use super::*;

#[test]
fn every_event_is_stored_by_its_name_and_read_back() {
    for event in HookEvent::ALL {
        assert_eq!(serde_json::to_value(event).unwrap(), event.name());
        assert_eq!(event.name().parse(), Ok(event));
    }
}

#[test]
fn a_misspelt_event_has_a_nearest_one_and_a_foreign_name_has_none() {
    assert_eq!(HookEvent::nearest("PreToolUsage"), Some(HookEvent::PreToolUse));
    assert_eq!(HookEvent::nearest("posttooluse"), Some(HookEvent::PostToolUse));
    assert_eq!(HookEvent::nearest("beforeShellExecution"), None);
}

#[test]
fn a_hook_that_only_ran_is_not_notable() {
    let ran = HookRan {
        event: HookEvent::PostToolUse,
        hook: "./format.sh".to_owned(),
        ms: 3,
        end: HookEnd::Answered,
        exit: Some(0),
        decision: None,
        changed_input: false,
        call: None,
        line: String::new(),
        suppressed: false,
    };
    assert!(!ran.is_notable());
    assert!(HookRan { end: HookEnd::Failed, ..ran.clone() }.is_notable());
    assert!(HookRan { decision: Some(HookDecision::Deny), ..ran.clone() }.is_notable());
    assert!(HookRan { line: "formatted".to_owned(), ..ran.clone() }.is_notable());
    assert!(!HookRan { line: "formatted".to_owned(), suppressed: true, ..ran }.is_notable());
}
