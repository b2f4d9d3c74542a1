use proptest::prelude::*;

use super::*;

const OWN: &str = "refs/heads/mxd/own";

fn id(number: u8) -> Oid {
    Oid::from_bytes(&[number; 20]).unwrap()
}

fn table(refs: &[(&str, u8)]) -> RefTable {
    refs.iter().map(|(name, number)| ((*name).to_owned(), id(*number))).collect()
}

fn plan(agreed: &[(&str, u8)], real: &[(&str, u8)], shadow: &[(&str, u8)]) -> Plan {
    reconcile(Sides { own: OWN, agreed: &table(agreed), real: &table(real), shadow: &table(shadow) })
}

#[test]
fn a_commit_inside_is_published_from_the_value_outside() {
    let found = plan(&[(OWN, 1)], &[(OWN, 1)], &[(OWN, 2)]);
    let publish = RefChange { name: OWN.to_owned(), from: Some(id(1)), to: Some(id(2)) };
    assert_eq!(found, Plan { publish: Some(publish), ..Plan::default() });
}

#[test]
fn a_move_outside_reaches_the_shadow() {
    let found = plan(
        &[(OWN, 1), ("refs/heads/main", 5)],
        &[(OWN, 2), ("refs/heads/main", 6)],
        &[(OWN, 1), ("refs/heads/main", 5)],
    );
    assert_eq!(found.refresh.len(), 2);
    assert!(found.publish.is_none() && found.diverged.is_none() && found.save.is_empty());
}

#[test]
fn moves_on_both_sides_keep_the_agents_commit_and_follow_the_real_branch() {
    let found = plan(&[(OWN, 1)], &[(OWN, 2)], &[(OWN, 3)]);
    assert_eq!(found.diverged, Some(Divergence { real: Some(id(2)), shadow: id(3) }));
    assert_eq!(found.refresh, [RefChange { name: OWN.to_owned(), from: Some(id(3)), to: Some(id(2)) }]);
    assert!(found.publish.is_none());
}

#[test]
fn without_an_agreement_nothing_is_published_over_the_real_branch() {
    let found = plan(&[], &[(OWN, 1)], &[(OWN, 2)]);
    assert!(found.publish.is_none() && found.diverged.is_some());
}

#[test]
fn other_branches_of_the_agent_are_saved_and_never_published() {
    let found = plan(
        &[("refs/heads/main", 1), ("refs/remotes/origin/x", 1)],
        &[("refs/heads/main", 1), ("refs/remotes/origin/x", 1)],
        &[("refs/heads/main", 2), ("refs/tags/v1", 3), ("refs/remotes/origin/x", 4)],
    );
    let saved = BTreeMap::from([("heads/main".to_owned(), id(2)), ("tags/v1".to_owned(), id(3))]);
    assert_eq!(found, Plan { save: saved, ..Plan::default() });
}

#[test]
fn a_deleted_own_branch_comes_back_and_other_deletions_stay_inside() {
    let found = plan(&[(OWN, 1), ("refs/heads/other", 2)], &[(OWN, 1), ("refs/heads/other", 2)], &[]);
    assert_eq!(found.refresh, [RefChange { name: OWN.to_owned(), from: None, to: Some(id(1)) }]);
}

proptest! {
    /// No plan publishes anything but the own branch, and each tip that only the shadow has is published, saved or kept
    /// as a divergence, unless it is a remote-tracking branch.
    #[test]
    fn no_tip_of_the_shadow_is_dropped(
        agreed in any_table(), real in any_table(), shadow in any_table(),
    ) {
        let found = reconcile(Sides { own: OWN, agreed: &agreed, real: &real, shadow: &shadow });
        if let Some(publish) = &found.publish {
            prop_assert_eq!(publish.name.as_str(), OWN);
            prop_assert_eq!(publish.from, real.get(OWN).copied());
        }
        for (name, tip) in &shadow {
            let is_known = real.get(name) == Some(tip) || agreed.get(name) == Some(tip) || name.starts_with(REMOTES);
            let is_kept = found.publish.as_ref().is_some_and(|publish| publish.to == Some(*tip))
                || found.diverged.is_some_and(|diverged| diverged.shadow == *tip)
                || found.save.values().any(|saved| saved == tip);
            prop_assert!(is_known || is_kept, "{} is lost", name);
        }
        for change in &found.refresh {
            prop_assert_eq!(change.to, real.get(&change.name).copied());
            prop_assert_eq!(change.from, shadow.get(&change.name).copied());
        }
    }
}

fn any_table() -> impl Strategy<Value = RefTable> {
    let names = vec![OWN, "refs/heads/main", "refs/heads/x", "refs/tags/t", "refs/remotes/origin/main"];
    proptest::collection::btree_map(proptest::sample::select(names), 1u8..4, 0..5)
        .prop_map(|refs| refs.into_iter().map(|(name, number)| (name.to_owned(), id(number))).collect())
}
