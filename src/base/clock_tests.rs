use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn every_timestamp_survives_a_round_trip(millis in 0..=Timestamp::LATEST_MS) {
        let moment = Timestamp::from_millis(millis);
        let text = moment.to_string();
        prop_assert_eq!(text.parse::<Timestamp>().ok(), Some(moment), "{}", text);
    }
}
