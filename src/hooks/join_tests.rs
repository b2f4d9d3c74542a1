use serde_json::json;

use super::*;
use crate::hooks::answer::Response;

fn answered(hook: &str, response: Response) -> Answered {
    let answer = Answer { end: HookEnd::Answered, exit: Some(0), response };
    Answered { hook: hook.to_owned(), on_failure: OnFailure::Continue, answer }
}

fn says(decision: HookDecision, reason: &str) -> Answered {
    answered(reason, Response { decision: Some(decision), reason: reason.to_owned(), ..Response::default() })
}

fn failing(on_failure: OnFailure, end: HookEnd) -> Answered {
    let response = Response { reason: "boom".to_owned(), ..Response::default() };
    Answered { hook: "./guard".to_owned(), on_failure, answer: Answer { end, exit: None, response } }
}

#[test]
fn deny_wins_over_ask_and_ask_over_allow_in_any_order() {
    use HookDecision::{Allow, Ask, Deny};
    let join_all = |decisions: &[HookDecision]| {
        let all: Vec<_> = decisions.iter().map(|decision| says(*decision, decision.word())).collect();
        let joined = join(HookEvent::PreToolUse, &all);
        (joined.verdict, joined.reason)
    };
    assert_eq!(join_all(&[]), (Verdict::None, String::new()));
    assert_eq!(join_all(&[Allow]), (Verdict::Allow, "allowed".to_owned()));
    assert_eq!(join_all(&[Allow, Ask]), (Verdict::Ask, "asked".to_owned()));
    assert_eq!(join_all(&[Deny, Allow, Ask]), (Verdict::Deny, "denied".to_owned()));
    assert_eq!(join_all(&[Ask, Deny]).0, Verdict::Deny);
}

#[test]
fn a_guard_that_fails_blocks_and_another_hook_is_only_reported() {
    for end in [HookEnd::Failed, HookEnd::TimedOut] {
        let blocked = join(HookEvent::PreToolUse, &[failing(OnFailure::Block, end), says(HookDecision::Allow, "x")]);
        assert_eq!((blocked.verdict, blocked.is_blocked), (Verdict::Deny, true));
        assert!(blocked.reason.contains("./guard") && blocked.reason.contains("boom"), "{}", blocked.reason);
        let reported = join(HookEvent::PreToolUse, &[failing(OnFailure::Continue, end)]);
        assert_eq!((reported.verdict, reported.failures.len()), (Verdict::None, 1));
    }
    // Nothing can be stopped any more.
    assert!(!join(HookEvent::MergeAfter, &[failing(OnFailure::Block, HookEnd::Failed)]).is_blocked);
}

#[test]
fn two_hooks_that_change_the_input_are_refused_by_name() {
    let changes = |hook: &str| answered(hook, Response { updated_input: Some(json!({})), ..Response::default() });
    let one = join(HookEvent::PreToolUse, &[changes("a"), says(HookDecision::Allow, "b")]);
    assert_eq!(one.updated_input, Some(("a".to_owned(), json!({}))));
    let two = join(HookEvent::PreToolUse, &[changes("a"), changes("b")]);
    assert_eq!((two.verdict, two.updated_input), (Verdict::Deny, None));
    assert!(two.reason.contains("a and b"), "{}", two.reason);
}

#[test]
fn texts_are_joined_in_the_order_of_definition_and_the_first_stop_counts() {
    let with = |context: &str, stop: Option<&str>| {
        let stop = stop.map(str::to_owned);
        answered(context, Response { context: Some(context.to_owned()), stop, ..Response::default() })
    };
    let joined = join(HookEvent::PostToolUse, &[with("a", None), with("b", Some("one")), with("c", Some("two"))]);
    assert_eq!(joined.context(), "a\nb\nc");
    assert_eq!(joined.stop.as_deref(), Some("one"));
}
