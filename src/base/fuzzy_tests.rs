use super::*;

fn best<'a>(query: &str, items: &[&'a str]) -> Vec<&'a str> {
    let hits = Fuzzy::new(Names::Paths).rank(query, items.iter().copied(), 10);
    hits.into_iter().map(|hit| items[hit.index]).collect()
}

#[test]
fn the_best_comes_first() {
    let files = ["src/store/session.rs", "docs/session.md", "src/session/store.rs", "assets/x.png"];
    assert_eq!(best("sestore", &files), ["src/session/store.rs"]);
    assert_eq!(best("session md", &files), ["docs/session.md"], "words in any order");
    assert_eq!(best("zzz", &files), [""; 0]);
    assert_eq!(best("new", &["renew worktree", "new task"]), ["new task", "renew worktree"]);
}

#[test]
fn capitals_count_only_where_they_were_typed() {
    assert_eq!(best("readme", &["README.md"]), ["README.md"]);
    assert_eq!(best("Readme", &["readme.md"]), [""; 0]);
}

#[test]
fn an_empty_query_finds_everything_in_its_order() {
    assert_eq!(best(" ", &["b", "a"]), ["b", "a"]);
}

#[test]
fn matched_letters_are_reported_in_any_script() {
    let name = "日本 session e\u{301}tat";
    let hits = Fuzzy::new(Names::Words).rank("sess", [name], 1);
    assert_eq!(hits[0].letters.len(), 1);
    assert_eq!(&name[hits[0].letters[0].clone()], "sess");
}

#[test]
fn no_more_is_returned_than_asked_for() {
    let items: Vec<String> = (0..1000).map(|n| format!("item {n}")).collect();
    let hits = Fuzzy::new(Names::Words).rank("item", items.iter().map(String::as_str), 5);
    assert_eq!(hits.iter().map(|hit| hit.index).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
}

fn words<'a>(query: &str, items: &[&'a str]) -> Vec<&'a str> {
    let hits = Fuzzy::new(Names::Words).rank(query, items.iter().copied(), 10);
    hits.into_iter().map(|hit| items[hit.index]).collect()
}

#[test]
fn a_match_in_the_name_ranks_above_the_description() {
    let items = ["compare: Choose what the diff shows", "show diff: Show what changed", "differ: Disagree"];
    assert_eq!(words("diff", &items), ["differ: Disagree", items[1], items[0]]);
    assert_eq!(
        words("iff", &["a word: with a diff in it", "stiff one: it is"]),
        ["stiff one: it is", "a word: with a diff in it"]
    );
}

#[test]
fn scattered_letters_of_a_sentence_do_not_match() {
    let items = ["wider: Make the left side wider", "redraw: Draw the whole screen again"];
    assert_eq!(words("deft", &items), [""; 0]);
    assert_eq!(words("rna", &items), [""; 0]);
    assert_eq!(words("stop", &["previous said: Go to the previous thing"]), [""; 0], "beginnings of words far apart");
}

#[test]
fn initials_and_dropped_letters_match() {
    let items = ["new task: Make a task beside the selected one", "interrupt: Cut the turn of the agent short"];
    assert_eq!(words("nt", &items), items, "beginnings of words before letters within one");
    assert_eq!(words("intrpt", &items), [items[1]]);
    assert_eq!(words("nwtsk", &items), [items[0]]);
}

#[test]
fn every_word_must_match_and_the_worst_decides() {
    let items = ["undo merge: Take the last merge back", "merge: Bring the work up; undo takes it back"];
    assert_eq!(words("merge undo", &items), items);
    assert_eq!(words("merge zebra", &items), [""; 0]);
}
