use super::*;

#[test]
fn the_first_bit_of_the_ignored_signals_is_sighup() {
    let status =
        |mask: &str| format!("Name:\tmxd\nSigBlk:\t0000000000000001\nSigIgn:\t{mask}\nSigCgt:\t0000000000000001\n");
    assert!(ignores_hangup(&status("0000000000000001")));
    assert!(ignores_hangup(&status("0000000000001001")));
    assert!(!ignores_hangup(&status("0000000000001000")));
    assert!(!ignores_hangup(&status("")) && !ignores_hangup(""));
}
