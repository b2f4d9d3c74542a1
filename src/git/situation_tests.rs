use super::*;

const FOLDERS: [Folder; 7] =
    [Folder::Missing, Folder::Empty, Folder::Bare, Folder::Linked, Folder::Unlinked, Folder::Dangling, Folder::Foreign];

fn noted(folder: Folder, head: &Head, being_made: bool) -> Plan {
    let entry = Some(Noted { head: head.clone(), being_made });
    Situation { folder, entry, elsewhere: None }.plan("b")
}

fn unnoted(folder: Folder, elsewhere: Option<Origin>) -> Plan {
    let elsewhere = elsewhere.map(|origin| (PathBuf::from("/else"), origin));
    Situation { folder, entry: None, elsewhere }.plan("b")
}

#[test]
fn a_worktree_on_its_branch_stands_or_is_mended() {
    let head = Head::Branch("b".to_owned());
    let expected = [
        Plan::Renew(Some(Why::Deleted)),
        Plan::Renew(Some(Why::Emptied)),
        Plan::Refill(Why::Emptied),
        Plan::Stands,
        Plan::Relink(Why::LinkLost),
        Plan::Relink(Why::LinkLost),
        Plan::InTheWay,
    ];
    for (folder, expected) in FOLDERS.into_iter().zip(expected) {
        assert_eq!(noted(folder, &head, false), expected, "{folder:?}");
    }
}

#[test]
fn a_half_made_worktree_is_finished_or_made_anew_and_never_called_recreated() {
    let expected = [
        Plan::Renew(None),
        Plan::Renew(None),
        Plan::Finish,
        Plan::Finish,
        Plan::InTheWay,
        Plan::InTheWay,
        Plan::InTheWay,
    ];
    for (folder, expected) in FOLDERS.into_iter().zip(expected) {
        assert_eq!(noted(folder, &Head::Branch("b".to_owned()), true), expected, "{folder:?}");
    }
    assert_eq!(noted(Folder::Bare, &Head::Unreadable, true), Plan::Renew(None));
    assert_eq!(noted(Folder::Linked, &Head::Unreadable, true), Plan::InTheWay);
}

#[test]
fn a_worktree_on_another_branch_is_left_alone_as_long_as_it_is_there() {
    for head in [Head::Branch("other".to_owned()), Head::Detached("0".repeat(40)), Head::Unreadable] {
        for folder in [Folder::Linked, Folder::Bare] {
            assert_eq!(noted(folder, &head, false), Plan::StandsElsewhere(head.clone()));
        }
        assert_eq!(noted(Folder::Missing, &head, false), Plan::Renew(Some(Why::Deleted)));
    }
}

#[test]
fn what_the_repository_does_not_know_is_made_or_refused() {
    let else_where = || PathBuf::from("/else");
    for folder in FOLDERS {
        let empty = matches!(folder, Folder::Missing | Folder::Empty);
        let fresh = match folder {
            Folder::Missing | Folder::Empty => Plan::Add(None),
            Folder::Dangling => Plan::SetAside(Why::EntryLost),
            Folder::Bare | Folder::Linked | Folder::Unlinked | Folder::Foreign => Plan::InTheWay,
        };
        assert_eq!(unnoted(folder, None), fresh, "{folder:?}");
        assert_eq!(unnoted(folder, Some(Origin::Theirs)), Plan::Busy(else_where()), "{folder:?}");
        let ours = if empty { Plan::MoveBack(else_where()) } else { Plan::Busy(else_where()) };
        assert_eq!(unnoted(folder, Some(Origin::Ours)), ours, "{folder:?}");
    }
}
