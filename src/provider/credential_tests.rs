use super::{Credential, Route};
use crate::base::Secret;
use crate::model::conversation::Wire;

fn credential(wire: Wire, base_url: &str) -> Credential {
    let api_key = Some(Secret::new("sk-very-secret-key-1234"));
    Credential { group: "work".to_owned(), wire, base_url: base_url.to_owned(), api_key }
}

fn url(wire: Wire, base: &str, route: Route) -> String {
    credential(wire, base).url(route).unwrap().to_string()
}

#[test]
fn base_urls_are_normalised() {
    for base in ["http://h:1", "http://h:1/", "http://h:1/v1", "http://h:1/v1///", " http://h:1/v1/chat/completions "] {
        assert_eq!(url(Wire::OpenaiChat, base, Route::Respond), "http://h:1/v1/chat/completions", "{base}");
    }
    assert_eq!(url(Wire::OpenaiChat, "https://o.example/api/v1", Route::Models), "https://o.example/api/v1/models");
    assert_eq!(
        url(Wire::OpenaiChat, "https://g.example/v1beta/openai/?x=1#y", Route::Respond),
        "https://g.example/v1beta/openai/chat/completions"
    );
    assert_eq!(url(Wire::OpenaiResponses, "", Route::Respond), "https://api.openai.com/v1/responses");
    assert_eq!(url(Wire::Anthropic, "", Route::CountTokens), "https://api.anthropic.com/v1/messages/count_tokens");
    assert_eq!(url(Wire::Anthropic, "http://h/v1/messages", Route::Respond), "http://h/v1/messages");
}

#[test]
fn an_invalid_base_url_is_named_without_its_password() {
    for base in ["localhost:11434", "ftp://h", "not a url"] {
        let error = credential(Wire::OpenaiChat, base).url(Route::Respond).unwrap_err().to_string();
        assert!(error.contains("work") && error.contains(base), "{error}");
    }
    let error = credential(Wire::OpenaiChat, "ftp://me:hush@h").url(Route::Respond).unwrap_err().to_string();
    assert!(!error.contains("hush"), "{error}");
}

#[test]
fn debug_prints_mask_the_key() {
    let shown = format!("{:?}", credential(Wire::Anthropic, ""));
    assert!(shown.contains("****1234") && !shown.contains("secret-key"), "{shown}");
}
