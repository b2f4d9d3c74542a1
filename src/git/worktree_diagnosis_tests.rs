use super::*;

const FOLDERS: [Folder; 7] =
    [Folder::Missing, Folder::Empty, Folder::Bare, Folder::Linked, Folder::Unlinked, Folder::Dangling, Folder::Foreign];

fn step_with_entry(folder: Folder, head: &Head, being_made: bool) -> RepairStep {
    let entry = Some(EntryState { head: head.clone(), being_made });
    WorktreeDiagnosis { folder, entry, elsewhere: None }.next_step("b")
}

fn step_without_entry(folder: Folder, elsewhere: Option<CheckoutOrigin>) -> RepairStep {
    let elsewhere = elsewhere.map(|origin| (PathBuf::from("/else"), origin));
    WorktreeDiagnosis { folder, entry: None, elsewhere }.next_step("b")
}

#[test]
fn a_worktree_on_its_branch_is_accepted_or_repaired() {
    let head = Head::Branch("b".to_owned());
    let expected = [
        RepairStep::Renew(Some(RecreateReason::Deleted)),
        RepairStep::Renew(Some(RecreateReason::Emptied)),
        RepairStep::Refill(RecreateReason::Emptied),
        RepairStep::Done,
        RepairStep::Relink(RecreateReason::LinkLost),
        RepairStep::Relink(RecreateReason::LinkLost),
        RepairStep::InTheWay,
    ];
    for (folder, expected) in FOLDERS.into_iter().zip(expected) {
        assert_eq!(step_with_entry(folder, &head, false), expected, "{folder:?}");
    }
}

#[test]
fn an_interrupted_creation_is_finished_and_not_reported_as_recreated() {
    let expected = [
        RepairStep::Renew(None),
        RepairStep::Renew(None),
        RepairStep::Finish,
        RepairStep::Finish,
        RepairStep::InTheWay,
        RepairStep::InTheWay,
        RepairStep::InTheWay,
    ];
    for (folder, expected) in FOLDERS.into_iter().zip(expected) {
        assert_eq!(step_with_entry(folder, &Head::Branch("b".to_owned()), true), expected, "{folder:?}");
    }
    assert_eq!(step_with_entry(Folder::Bare, &Head::Unreadable, true), RepairStep::Renew(None));
    assert_eq!(step_with_entry(Folder::Linked, &Head::Unreadable, true), RepairStep::InTheWay);
}

#[test]
fn a_worktree_on_another_branch_is_left_alone() {
    for head in [Head::Branch("other".to_owned()), Head::Detached("0".repeat(40)), Head::Unreadable] {
        for folder in [Folder::Linked, Folder::Bare] {
            assert_eq!(step_with_entry(folder, &head, false), RepairStep::OtherHead(head.clone()));
        }
        assert_eq!(step_with_entry(Folder::Missing, &head, false), RepairStep::Renew(Some(RecreateReason::Deleted)));
    }
}

#[test]
fn a_path_without_an_entry_is_created_or_refused() {
    let else_where = || PathBuf::from("/else");
    for folder in FOLDERS {
        let empty = matches!(folder, Folder::Missing | Folder::Empty);
        let fresh = match folder {
            Folder::Missing | Folder::Empty => RepairStep::Add(None),
            Folder::Dangling => RepairStep::SetAside(RecreateReason::EntryLost),
            Folder::Bare | Folder::Linked | Folder::Unlinked | Folder::Foreign => RepairStep::InTheWay,
        };
        assert_eq!(step_without_entry(folder, None), fresh, "{folder:?}");
        assert_eq!(
            step_without_entry(folder, Some(CheckoutOrigin::Theirs)),
            RepairStep::Busy(else_where()),
            "{folder:?}"
        );
        let ours = if empty { RepairStep::MoveBack(else_where()) } else { RepairStep::Busy(else_where()) };
        assert_eq!(step_without_entry(folder, Some(CheckoutOrigin::Ours)), ours, "{folder:?}");
    }
}
