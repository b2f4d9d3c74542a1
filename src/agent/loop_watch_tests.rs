use super::*;
use crate::agent::testing::*;
use crate::base::IdSource;

/// One turn of one call.
fn turn(watch: &mut LoopWatch, ids: &IdSource, number: usize, name: &str, text: &str) -> Verdict {
    let id = format!("c{number}");
    watch.apply(&event(ids, call(&id, name)));
    watch.apply(&event(ids, result(&id, text)));
    watch.turn_over()
}

#[test]
fn the_same_call_with_the_same_result_is_noticed_told_and_asked_about() {
    let (mut watch, ids) = (LoopWatch::default(), ids());
    let verdicts: Vec<_> = (0..12).map(|number| turn(&mut watch, &ids, number, "bash", "same")).collect();
    let mut wanted = vec![Verdict::Fine; 12];
    wanted[4] = Verdict::Warn { turns: 4 };
    wanted[8] = Verdict::Ask { turns: 8 };
    assert_eq!(verdicts, wanted);
}

#[test]
fn going_back_and_forth_is_going_in_circles_too() {
    let (mut watch, ids) = (LoopWatch::default(), ids());
    let verdicts: Vec<_> =
        (0..8).map(|number| turn(&mut watch, &ids, number, ["bash", "search"][number % 2], "same")).collect();
    assert!(verdicts.contains(&Verdict::Warn { turns: 4 }), "{verdicts:?}");
}

#[test]
fn a_new_result_is_progress() {
    let (mut watch, ids) = (LoopWatch::default(), ids());
    for number in 0..30 {
        let text = if number % 4 == 3 { number.to_string() } else { "same".to_owned() };
        assert_eq!(turn(&mut watch, &ids, number, "bash", &text), Verdict::Fine, "{number}");
    }
}

#[test]
fn one_new_call_among_old_ones_is_progress() {
    let (mut watch, ids) = (LoopWatch::default(), ids());
    for number in 0..20 {
        watch.apply(&event(&ids, call("old", "bash")));
        watch.apply(&event(&ids, result("old", "same")));
        assert_eq!(turn(&mut watch, &ids, number, "bash", &number.to_string()), Verdict::Fine, "{number}");
    }
}

#[test]
fn being_spoken_to_starts_the_count_anew() {
    let (mut watch, ids) = (LoopWatch::default(), ids());
    for number in 0..4 {
        turn(&mut watch, &ids, number, "bash", "same");
    }
    watch.spoken_to();
    for number in 4..8 {
        assert_eq!(turn(&mut watch, &ids, number, "bash", "same"), Verdict::Fine, "{number}");
    }
}

#[test]
fn turns_without_calls_say_nothing_either_way() {
    let (mut watch, ids) = (LoopWatch::default(), ids());
    for number in 0..4 {
        turn(&mut watch, &ids, number, "bash", "same");
        watch.apply(&event(&ids, said("Hm.")));
        assert_eq!(watch.turn_over(), Verdict::Fine);
    }
    assert_eq!(turn(&mut watch, &ids, 9, "bash", "same"), Verdict::Warn { turns: 4 });
}
