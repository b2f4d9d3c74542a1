use super::*;

#[test]
fn a_budget_is_an_amount_above_zero() {
    assert_eq!(budget(None), Ok(None));
    assert_eq!(budget(Some(2.5)), Ok(Some(MicroUsd(2_500_000))));
    for absurd in [0.0, -1.0, 1e-9, 1e300, f64::NAN] {
        assert!(budget(Some(absurd)).unwrap_err().contains("budget_usd"), "{absurd}");
    }
}

#[test]
fn a_blank_text_is_none() {
    assert_eq!(given(Some(" \n".to_owned())), None);
    assert_eq!(given(Some("a".to_owned())), Some("a".to_owned()));
    assert_eq!(given(None), None);
}
