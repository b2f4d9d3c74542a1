use super::*;
use crate::base::Secret;

fn group(provider: Provider) -> AuthGroup {
    AuthGroup { provider, api_key: Some(Secret::new("k")), base_url: None, api: None, script: None }
}

fn judged(class: ErrorClass, is_used: bool) -> Finding {
    judge("main", &group(Provider::Openai), &Err(ListingError::Api(ApiError::new(class, "no"))), is_used)
}

#[test]
fn every_error_class_has_a_level_and_a_remedy() {
    for class in ErrorClass::ALL {
        let finding = judged(class, true);
        assert_ne!(finding.level, Level::Ok, "{class}");
        assert!(class == ErrorClass::Cancelled || !finding.remedies.is_empty(), "{class}: {finding:?}");
        assert_eq!(judged(class, false).level, Level::Warning, "{class}: unused group");
    }
    assert_eq!(judged(ErrorClass::Auth, true).level, Level::Error);
    assert_eq!(judged(ErrorClass::Overloaded, true).level, Level::Warning);
}

#[test]
fn a_key_is_set_where_it_came_from() {
    let error = || Err(ListingError::Api(ApiError::new(ErrorClass::Auth, "wrong")));
    let remedy = |name: &str, provider| judge(name, &group(provider), &error(), true).remedies;
    assert_eq!(remedy("env-openai", Provider::Openai), [Remedy::Run("export OPENAI_API_KEY=KEY".to_owned())]);
    assert_eq!(
        remedy("my.work", Provider::Anthropic),
        [Remedy::Run("mxd config set --global 'authGroups.\"my.work\".apiKey' KEY".to_owned())]
    );
}
