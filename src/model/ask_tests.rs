use serde_json::json;

use super::*;

fn read(kind: &str, choices: &[&str], question: &str, detail: &str) -> Ask {
    let ask = json!({
        "id": "01JD0000000000000000000000", "kind": kind, "question": question, "detail": detail, "choices": choices,
        "mode": "blocks",
    });
    serde_json::from_value(ask).unwrap()
}

fn ids(ask: &Ask) -> Vec<String> {
    ask.choices.iter().map(|choice| choice.id.to_string()).collect()
}

#[test]
fn choices_of_earlier_versions_get_ids() {
    let cases: [(&str, &[&str], &[&str]); 12] = [
        ("clarify", &["Stop", "Go on"], &["option-1", "option-2"]),
        ("launch_failed", &["Try again", "Leave it"], &["retry", "leave"]),
        ("retries_exhausted", &["Try again", "Stop"], &["retry", "stop"]),
        ("budget", &["Go on", "Stop"], &["continue", "stop"]),
        ("budget", &["Go on without a limit", "Stop"], &["continue-unpriced", "stop"]),
        ("compaction_failed", &["Try again", "Go on without", "Stop"], &["retry", "skip-summary", "stop"]),
        ("setup_hook", &["Try again", "Go on without it", "Leave it"], &["retry", "skip-hook", "leave"]),
        (
            "setup_hook",
            &["Try again", "I have edited it: run it from my checkout", "Go on without it", "Leave it"],
            &["retry", "run-edited-hook", "skip-hook", "leave"],
        ),
        ("mcp_approval", &["Let it start", "Leave it out"], &["approve", "decline"]),
        ("task_limit", &["Allow 8 more", "Refuse"], &["approve", "decline"]),
        ("review", &["Approve", "Merge"], &["approve", "merge"]),
        ("check_failed", &["Go on", "Accept it as it is", "Fail the task"], &["continue", "accept", "fail"]),
    ];
    for (kind, labels, wanted) in cases {
        let ask = read(kind, labels, "?", "");
        assert_eq!(ids(&ask), wanted, "{kind}");
        for (at, id) in wanted.iter().enumerate() {
            let stored = json!({ "text": labels[at], "choice": at, "by": "person" });
            let answer: Answer = serde_json::from_value(stored).unwrap();
            assert_eq!(ask.choice_of(&answer), Some(&ChoiceId::from((*id).to_owned())), "{kind}");
        }
    }
}

#[test]
fn sentences_of_earlier_versions_become_data() {
    let price = read("budget", &["Go on without a limit", "Stop"], "?", "");
    assert_eq!(price.subject, Subject::Budget { cause: BudgetCause::Unpriced, exceeded: None });
    let detail = "no such branch\n  hint: name another one\n  hint: or make it";
    let failed =
        read("launch_failed", &["Try again", "Leave it"], "\"A \"b\" c\" could not be started. Try again?", detail);
    let Subject::LaunchFailed(problem) = failed.subject else { panic!("{:?}", failed.subject) };
    let hints = ["name another one".to_owned(), "or make it".to_owned()].to_vec();
    let wanted =
        LaunchProblem { failed: "could not be started".to_owned(), reason: "no such branch".to_owned(), hints };
    assert_eq!(problem, wanted);
}

#[test]
fn asks_survive_a_round_trip() {
    let subjects = [
        Subject::Clarify,
        Subject::Budget { cause: BudgetCause::Unpriced, exceeded: None },
        Subject::LaunchFailed(LaunchProblem { failed: "was broken off".to_owned(), ..LaunchProblem::default() }),
        Subject::McpApproval { of: ServerApproval::Tools },
        Subject::Approval { approval: Approval::SetupHook { hash: "h".to_owned() } },
    ];
    for subject in subjects {
        let choices = [Choice::new(ChoiceId::Option(0), "Stop"), Choice::new(ChoiceId::Other("new".to_owned()), "New")];
        let ask = Ask {
            subject,
            choices: choices.to_vec(),
            default: Some(AskReply::Choice(ChoiceId::Option(0))),
            ..read("clarify", &[], "Which?", "d")
        };
        let text = serde_json::to_string(&ask).unwrap();
        assert_eq!(serde_json::from_str::<Ask>(&text).unwrap(), ask, "{text}");
        let answer = ask.answer(AskReply::Choice(ChoiceId::Option(0)), AnsweredBy::Timeout).unwrap();
        let text = serde_json::to_string(&answer).unwrap();
        assert_eq!(text, r#"{"text":"Stop","choice":"option-1","by":"timeout"}"#);
        assert_eq!(serde_json::from_str::<Answer>(&text).unwrap(), answer);
    }
}

#[test]
fn text_selects_only_a_choice_with_that_label() {
    let ask = read("loop", &["Go on", "Stop"], "?", "");
    assert_eq!(ask.choice_by_label(" STOP ").map(|choice| &choice.id), Some(&ChoiceId::Stop));
    assert_eq!((ask.choice_by_label("stop it"), ask.choice_by_label("continue")), (None, None));
    assert_eq!(ask.answer(ask.reply_with_number(3), AnsweredBy::User), None);
}
