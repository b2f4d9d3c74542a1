use super::*;

fn exited(event: HookEvent, code: i32, stdout: &str, stderr: &str) -> Answer {
    read(event, Ending::Exited { code: Some(code), stdout: stdout.to_owned(), stderr: stderr.to_owned() })
}

fn printed(event: HookEvent, stdout: &str) -> Answer {
    exited(event, 0, stdout, "")
}

#[test]
fn code_two_blocks_with_the_error_output_as_the_reason_and_json_cannot_override_it() {
    use HookDecision::{Block, Deny};
    for (event, decision) in [
        (HookEvent::PreToolUse, Some(Deny)),
        (HookEvent::PostToolUse, Some(Block)),
        (HookEvent::UserPromptSubmit, Some(Block)),
        (HookEvent::Stop, Some(Block)),
        (HookEvent::SubagentStop, Some(Block)),
        (HookEvent::PreCompact, Some(Block)),
        (HookEvent::TaskCreated, Some(Block)),
        (HookEvent::TaskCompleted, Some(Block)),
        (HookEvent::MergeBefore, Some(Block)),
        (HookEvent::PermissionRequest, None),
        (HookEvent::SessionStart, None),
        (HookEvent::Notification, None),
        (HookEvent::MergeAfter, None),
    ] {
        let answer = exited(event, 2, r#"{"decision":"approve"}"#, "not this\n");
        assert_eq!((answer.end, answer.response.decision), (HookEnd::Answered, decision), "{event}");
        assert_eq!(answer.response.reason, "not this", "{event}");
    }
}

#[test]
fn any_other_code_is_a_failure_unless_valid_json_says_more() {
    assert_eq!(exited(HookEvent::PreToolUse, 1, "", "boom").end, HookEnd::Failed);
    assert_eq!(exited(HookEvent::PreToolUse, 127, "", "").response.reason, "it exited with 127");
    let json = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask"}}"#;
    let answer = exited(HookEvent::PreToolUse, 1, json, "boom");
    assert_eq!((answer.end, answer.response.decision), (HookEnd::Answered, Some(HookDecision::Ask)));
    let killed =
        read(HookEvent::PreToolUse, Ending::Exited { code: None, stdout: String::new(), stderr: String::new() });
    assert_eq!(killed.end, HookEnd::Failed);
}

#[test]
fn a_permission_decision_comes_with_its_reason_input_and_context() {
    let answer = printed(
        HookEvent::PreToolUse,
        r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"why",
            "updatedInput":{"command":"ls"},"additionalContext":"note"}}"#,
    );
    let response = answer.response;
    assert_eq!((response.decision, response.reason.as_str()), (Some(HookDecision::Deny), "why"));
    assert_eq!(response.updated_input, Some(serde_json::json!({"command": "ls"})));
    assert_eq!(response.context.as_deref(), Some("note"));
}

#[test]
fn the_older_form_of_the_decision_is_understood() {
    let approve = printed(HookEvent::PreToolUse, r#"{"decision":"approve","reason":"fine"}"#);
    assert_eq!(approve.response.decision, Some(HookDecision::Allow));
    let block = printed(HookEvent::PreToolUse, r#"{"decision":"block","reason":"no"}"#);
    assert_eq!(block.response.decision, Some(HookDecision::Deny));
    let stop = printed(HookEvent::Stop, r#"{"decision":"block","reason":"go on"}"#);
    assert_eq!((stop.response.decision, stop.response.reason.as_str()), (Some(HookDecision::Block), "go on"));
    assert_eq!(printed(HookEvent::Notification, r#"{"decision":"block"}"#).response.decision, None);
}

#[test]
fn a_permission_request_is_answered_by_its_behavior() {
    let of = |decision: &str| {
        printed(
            HookEvent::PermissionRequest,
            &format!(r#"{{"hookSpecificOutput":{{"hookEventName":"PermissionRequest","decision":{decision}}}}}"#),
        )
    };
    assert_eq!(of(r#"{"behavior":"allow"}"#).response.decision, Some(HookDecision::Allow));
    let denied = of(r#"{"behavior":"deny","message":"no","interrupt":true}"#).response;
    assert_eq!((denied.decision, denied.stop.as_deref()), (Some(HookDecision::Deny), Some("no")));
    assert_eq!(of(r#"{"behavior":"perhaps"}"#).end, HookEnd::Failed);
}

#[test]
fn a_hook_can_end_the_turn_speak_to_the_user_and_keep_its_text_out_of_the_transcript() {
    let answer = printed(
        HookEvent::PostToolUse,
        r#"{"continue":false,"stopReason":"enough","systemMessage":"look","suppressOutput":true}"#,
    );
    assert_eq!(answer.response.stop.as_deref(), Some("enough"));
    assert_eq!(answer.response.message.as_deref(), Some("look"));
    assert!(answer.response.suppressed);
}

#[test]
fn plain_output_is_context_only_where_a_session_or_a_prompt_begins() {
    assert_eq!(printed(HookEvent::SessionStart, "today\n").response.context.as_deref(), Some("today"));
    assert_eq!(printed(HookEvent::UserPromptSubmit, "{not json").response.context.as_deref(), Some("{not json"));
    assert_eq!(printed(HookEvent::PreToolUse, "checked").response, Response::default());
    assert_eq!(printed(HookEvent::WorktreeCreate, "/w/x\n").response.path.as_deref(), Some("/w/x"));
}

#[test]
fn an_answer_that_cannot_be_read_is_a_failure() {
    for output in [
        "{",
        r#"{"continue":"no"}"#,
        r#"{"decision":"perhaps"}"#,
        r#"{"hookSpecificOutput":{"hookEventName":"PostToolUse"}}"#,
        r#"{"hookSpecificOutput":{"permissionDecision":"maybe"}}"#,
    ] {
        assert_eq!(printed(HookEvent::PreToolUse, output).end, HookEnd::Failed, "{output}");
    }
}

#[test]
fn an_http_response_counts_like_output_and_an_error_status_is_a_failure() {
    let responded =
        |status, body: &str| read(HookEvent::PreToolUse, Ending::Responded { status, body: body.to_owned() });
    assert_eq!(responded(200, r#"{"decision":"block"}"#).response.decision, Some(HookDecision::Deny));
    assert_eq!(responded(204, "").end, HookEnd::Answered);
    assert_eq!(responded(500, "").end, HookEnd::Failed);
    assert_eq!(responded(302, "").exit, Some(302));
}

#[test]
fn long_texts_are_cut() {
    let long = "x".repeat(TEXT_CHARS + 5);
    let context = printed(HookEvent::SessionStart, &long).response.context.unwrap();
    assert!(context.starts_with(&"x".repeat(TEXT_CHARS)) && context.contains("10005 characters"));
    assert!(!context.contains(&"x".repeat(TEXT_CHARS + 1)));
}
