use proptest::prelude::*;

use super::*;

#[test]
fn small_amounts_are_visible() {
    let shown = |micros| MicroUsd(micros).to_string();
    assert_eq!(shown(0), "$0.00");
    assert_eq!(shown(1), "$0.000001");
    assert_eq!(shown(99), "$0.000099");
    assert_eq!(shown(100), "$0.0001");
    assert_eq!(shown(9_900), "$0.0099");
    assert_eq!(shown(10_000), "$0.01");
    assert_eq!(shown(1_234_567), "$1.23");
    assert_eq!(format!("{:>8}|{:<7}|", MicroUsd(10_000), MicroUsd(0)), "   $0.01|$0.00  |");
}

#[test]
fn only_amounts_become_money() {
    assert_eq!(MicroUsd::from_dollars(1.5), Some(MicroUsd(1_500_000)));
    assert_eq!(MicroUsd::from_dollars(0.000_000_6), Some(MicroUsd(1)));
    assert_eq!(MicroUsd::from_dollars(-0.0), Some(MicroUsd::ZERO));
    for absurd in [-0.01, f64::NAN, f64::INFINITY, 1e13] {
        assert_eq!(MicroUsd::from_dollars(absurd), None, "{absurd}");
    }
}

#[test]
fn sums_never_wrap() {
    assert_eq!(MicroUsd(u64::MAX) + MicroUsd(1), MicroUsd(u64::MAX));
    assert_eq!(MicroUsd(1).saturating_sub(MicroUsd(2)), MicroUsd::ZERO);
}

proptest! {
    #[test]
    fn a_sum_does_not_depend_on_the_order(mut amounts in prop::collection::vec(0..u64::MAX / 64, 0..40)) {
        let there: MicroUsd = amounts.iter().copied().map(MicroUsd).sum();
        amounts.reverse();
        let back: MicroUsd = amounts.iter().copied().map(MicroUsd).sum();
        prop_assert_eq!(there, back);
        prop_assert_eq!(there.0, amounts.iter().sum::<u64>());
    }

    #[test]
    fn a_nonzero_amount_is_never_shown_as_zero(micros in 1..2_000_000_u64) {
        prop_assert!(MicroUsd(micros).to_string().contains(|c: char| ('1'..='9').contains(&c)));
    }
}
