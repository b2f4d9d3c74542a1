use super::*;
use crate::agent::testing::*;
use crate::base::IdSource;

/// Plays one turn with one call.
fn turn(watch: &mut LoopDetector, ids: &IdSource, number: usize, name: &str, text: &str) -> LoopVerdict {
    let id = format!("c{number}");
    watch.apply(&event(ids, call(&id, name)));
    watch.apply(&event(ids, result(&id, text)));
    watch.end_turn()
}

#[test]
fn repeated_calls_lead_to_a_warning_and_then_to_an_ask() {
    let (mut watch, ids) = (LoopDetector::default(), ids());
    let verdicts: Vec<_> = (0..12).map(|number| turn(&mut watch, &ids, number, "bash", "same")).collect();
    let mut wanted = vec![LoopVerdict::Fine; 12];
    wanted[4] = LoopVerdict::Warn { turns: 4 };
    wanted[8] = LoopVerdict::Ask { turns: 8 };
    assert_eq!(verdicts, wanted);
}

#[test]
fn alternating_calls_count_as_repeated() {
    let (mut watch, ids) = (LoopDetector::default(), ids());
    let verdicts: Vec<_> =
        (0..8).map(|number| turn(&mut watch, &ids, number, ["bash", "search"][number % 2], "same")).collect();
    assert!(verdicts.contains(&LoopVerdict::Warn { turns: 4 }), "{verdicts:?}");
}

#[test]
fn a_new_result_is_progress() {
    let (mut watch, ids) = (LoopDetector::default(), ids());
    for number in 0..30 {
        let text = if number % 4 == 3 { number.to_string() } else { "same".to_owned() };
        assert_eq!(turn(&mut watch, &ids, number, "bash", &text), LoopVerdict::Fine, "{number}");
    }
}

#[test]
fn one_new_call_among_old_ones_is_progress() {
    let (mut watch, ids) = (LoopDetector::default(), ids());
    for number in 0..20 {
        watch.apply(&event(&ids, call("old", "bash")));
        watch.apply(&event(&ids, result("old", "same")));
        assert_eq!(turn(&mut watch, &ids, number, "bash", &number.to_string()), LoopVerdict::Fine, "{number}");
    }
}

#[test]
fn a_message_resets_the_count() {
    let (mut watch, ids) = (LoopDetector::default(), ids());
    for number in 0..4 {
        turn(&mut watch, &ids, number, "bash", "same");
    }
    watch.on_message();
    for number in 4..8 {
        assert_eq!(turn(&mut watch, &ids, number, "bash", "same"), LoopVerdict::Fine, "{number}");
    }
}

#[test]
fn turns_without_calls_do_not_count() {
    let (mut watch, ids) = (LoopDetector::default(), ids());
    for number in 0..4 {
        turn(&mut watch, &ids, number, "bash", "same");
        watch.apply(&event(&ids, assistant_text("Hm.")));
        assert_eq!(watch.end_turn(), LoopVerdict::Fine);
    }
    assert_eq!(turn(&mut watch, &ids, 9, "bash", "same"), LoopVerdict::Warn { turns: 4 });
}
