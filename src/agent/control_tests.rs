use super::*;
use crate::agent::testing::call;

/// Returns the planned fate of each call: run, answered with or without an error, or slept on.
fn fates(names: &[&str], cut: Option<&str>) -> String {
    let calls: Vec<_> = names.iter().zip(0..).map(|(name, n): (_, u32)| call(&n.to_string(), name)).collect();
    let plan = plan(calls, cut);
    let fate = |n: usize| {
        let id = n.to_string();
        if plan.run.iter().any(|call| call.call == id) {
            return "run";
        }
        if plan.sleep.as_ref().is_some_and(|call| call.call == id) {
            return "sleep";
        }
        match plan.answered.iter().find(|(call, ..)| call.call == id) {
            Some((_, true, _)) => "error",
            Some((_, false, _)) => "no-op",
            None => "lost",
        }
    };
    (0..names.len()).map(fate).collect::<Vec<_>>().join(" ")
}

#[test]
fn control_tools_must_be_the_only_call_of_their_turn() {
    let table: [(&[&str], &str); 14] = [
        (&["bash"], "run"),
        (&["bash", "read_file"], "run run"),
        (&["yield"], "sleep"),
        (&["done"], "run"),
        (&["fork_task_context"], "run"),
        (&["bash", "yield"], "run no-op"),
        (&["done", "bash"], "error run"),
        (&["bash", "fork_task_context"], "run error"),
        (&["yield", "yield"], "sleep no-op"),
        (&["done", "done"], "error error"),
        (&["yield", "done"], "no-op error"),
        (&["done", "fork_task_context"], "error error"),
        (&["fork_task_context", "yield", "yield"], "error no-op no-op"),
        (&["done", "yield", "bash"], "error no-op run"),
    ];
    for (names, wanted) in table {
        assert_eq!(fates(names, None), wanted, "{names:?}");
    }
}

#[test]
fn a_call_that_was_cut_is_an_error_whatever_it_was() {
    assert_eq!(fates(&["bash", "bash"], Some("1")), "run error");
    assert_eq!(fates(&["done"], Some("0")), "error");
    assert_eq!(fates(&["yield"], Some("0")), "error");
}

#[test]
fn results_without_a_run_say_what_to_do_next() {
    for (names, says) in [
        (["done", "bash"], "call done alone"),
        (["yield", "bash"], "Call yield alone"),
        (["fork_task_context", "bash"], "Call it alone"),
    ] {
        let calls = names.map(|name| call(name, name)).to_vec();
        let plan = plan(calls, None);
        assert!(plan.answered[0].2.contains(says), "{}", plan.answered[0].2);
    }
}

#[test]
fn control_tools_are_recognised_by_all_their_names() {
    assert_eq!(Control::of("yield"), Some(Control::Yield));
    assert_eq!(Control::of("mcp__mxd__done"), Some(Control::Done));
    assert_eq!(Control::of("mcp__other__done"), None);
    assert_eq!(Control::of("bash"), None);
    assert_eq!(Control::of(""), None);
}
