use super::*;

#[test]
fn without_a_host_program_a_program_is_started_directly() {
    let spec = ChildSpec::new("a", "agent", "/").arguments(["--acp"]);
    let hosted = host_spec(spec.clone());
    assert_eq!((hosted.program, hosted.arguments), (spec.program, spec.arguments));
}

#[test]
fn a_signal_becomes_an_exit_code_as_in_a_shell() {
    assert_eq!(exit_code(ExitStatus::from_raw(9)), 137);
    assert_eq!(exit_code(ExitStatus::from_raw(3 << 8)), 3);
}
