use super::predecessors;
use crate::tools::tool::ToolEffect::{Opaque, Reads, Writes};

#[test]
fn reads_run_together_and_changes_run_alone() {
    let none: [usize; 0] = [];
    assert_eq!(predecessors(&[Reads, Reads, Reads]), [none, none, none]);
    assert_eq!(predecessors(&[Writes, Opaque, Writes]), [vec![], vec![0], vec![1]]);
}

#[test]
fn a_read_sees_every_change_before_it_and_none_after_it() {
    let order = predecessors(&[Reads, Reads, Writes, Reads, Reads, Opaque, Reads]);
    assert_eq!(order, [vec![], vec![], vec![0, 1], vec![2], vec![2], vec![3, 4], vec![5]]);
}
