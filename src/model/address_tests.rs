use super::*;
use crate::base::Timestamp;

fn id(number: u128) -> TaskId {
    TaskId::from_ulid(ulid::Ulid::from_parts(1_800_000_000_000, number))
}

fn tree(titles: &[&str]) -> Tree {
    let node =
        |(number, title): (usize, &&str)| TaskNode::new(id(number as u128), *title, "engineer", Timestamp::EPOCH);
    let mut nodes = titles.iter().enumerate().map(node);
    let mut tree = Tree::new(nodes.next().unwrap());
    nodes.for_each(|node| tree.insert(node, id(0)).unwrap());
    tree
}

#[track_caller]
fn found(tree: &Tree, text: &str) -> u32 {
    tree.find(text).unwrap().number.unwrap().get()
}

#[test]
fn a_task_is_found_by_number_id_or_title() {
    let tree = tree(&["Main", "Token store", "Login page", "Log in with a token", "Log rotation", "Log"]);
    assert_eq!(["root", "#1", "1", " #1 "].map(|text| found(&tree, text)), [1; 4]);
    assert_eq!(["#2", "2", "Token store", "token STORE", "ken st"].map(|text| found(&tree, text)), [2; 5]);
    assert_eq!(found(&tree, "Log"), 6, "a whole title wins over a part of others");
    let whole = id(3).to_string();
    assert_eq!([whole.clone(), whole.to_lowercase()].map(|text| found(&tree, &text)), [4; 2]);
}

#[test]
fn a_prefix_of_an_id_must_be_long_and_unambiguous() {
    let mut tree = tree(&["Main", "Docs"]);
    let later = TaskId::from_ulid(ulid::Ulid::from_parts(1_900_000_000_000, 5));
    tree.insert(TaskNode::new(later, "Later", "engineer", Timestamp::EPOCH), id(0)).unwrap();
    let text = later.to_string();
    for len in SHORTEST_ID..=text.len() {
        assert_eq!(tree.find(&text[..len]).unwrap().id, later);
    }
    assert!(matches!(tree.find(&text[..SHORTEST_ID - 1]), Err(AddressError::Unknown { .. })));
    let shared = &id(0).to_string()[..12];
    let Err(AddressError::Ambiguous { found, .. }) = tree.find(shared) else { panic!("{shared} names two") };
    assert_eq!(found.iter().map(|one| one.id).collect::<Vec<_>>(), [id(0), id(1)]);
}

#[test]
fn digits_are_a_number_first() {
    let tree = tree(&["Main", "Port 8080", "Top 2"]);
    assert_eq!(["8080", "2", "#2"].map(|text| found(&tree, text)), [2, 2, 2]);
    assert_eq!(
        tree.find("#8080"),
        Err(AddressError::NoSuchNumber { number: TaskNumber::new(8080).unwrap(), last: TaskNumber::new(3).unwrap() }),
        "# is never part of a title"
    );
    assert_eq!(tree.find("7").unwrap_err().to_string(), "there is no task #7; numbers go up to #3");
    assert_eq!(tree.find("99999999999").map(|node| node.id).ok(), None);
}

#[test]
fn an_ambiguous_name_lists_the_candidates_with_their_numbers() {
    let tree = tree(&["Main", "Login page", "Login tests", "Docs"]);
    let error = tree.find("login").unwrap_err();
    assert_eq!(error.to_string(), "\"login\" could be any of #2 Login page, #3 Login tests");
}

#[test]
fn an_unknown_name_lists_the_nearest() {
    let tree = tree(&["Main", "Login page", "Docs"]);
    let error = tree.find("Logn").unwrap_err().to_string();
    assert!(error.ends_with("; did you mean #2 Login page?"), "{error}");
    let error = tree.find("zebra").unwrap_err().to_string();
    assert!(!error.contains("did you mean"), "{error}");
}

#[test]
fn short_and_malformed_names_are_refused() {
    let tree = tree(&["Main", "Docs"]);
    assert_eq!(tree.find("  "), Err(AddressError::Empty));
    assert_eq!(tree.find("Do"), Err(AddressError::TooShort("Do".to_owned())));
    for text in ["#", "#x", "#0", "#-1", "#1x", "0x1"] {
        assert!(tree.find(text).is_err(), "{text}");
    }
}

#[test]
fn forms_of_the_future_are_reserved() {
    let tree = tree(&["Main", "@reviewer key:ci ~words children"]);
    for text in ["@reviewer", "key:ci", "~words", "above", "children", "#1~3", "#1:01M7MFZB"] {
        assert_eq!(tree.find(text), Err(AddressError::Reserved(text.to_owned())));
    }
    assert_eq!(found(&tree, "reviewer"), 2);
}
