use std::path::Path;

use super::*;
use crate::config::{Environment, Layer, LayerFile, merge};

fn settings(text: &str) -> Settings {
    let file = LayerFile::read(Layer::Global, Path::new("config.json"), text.as_bytes());
    merge(&Environment::default(), &[file]).unwrap().settings
}

fn names(models: &[ModelOffer]) -> Vec<&str> {
    models.iter().map(|model| model.id.as_str()).collect()
}

#[test]
fn only_models_of_the_vendor_are_offered() {
    let anthropic = known(&settings(r#"{"authGroups":{"main":{"provider":"anthropic","apiKey":"k"}}}"#));
    assert!(names(&anthropic).contains(&"claude-sonnet-4-6"), "{:?}", names(&anthropic));
    assert!(names(&anthropic).iter().all(|id| id.starts_with("claude")), "{:?}", names(&anthropic));
    let openai = known(&settings(r#"{"authGroups":{"main":{"provider":"openai","apiKey":"k"}}}"#));
    assert!(names(&openai).contains(&"gpt-5.2") && names(&openai).contains(&"o3"), "{:?}", names(&openai));
    assert!(!names(&openai).iter().any(|id| id.contains("oss") || id.contains("claude")), "{:?}", names(&openai));
    assert!(anthropic.iter().all(|model| model.window.is_some()), "{anthropic:?}");
}

#[test]
fn models_of_the_settings_come_first_and_once() {
    let text = r#"{"authGroups":{"main":{"provider":"anthropic","apiKey":"k"}},
        "models":{"home-made":{"window":32000},"claude-opus-4-7":{"window":5000}}}"#;
    let models = known(&settings(text));
    assert_eq!(names(&models)[..2], ["claude-opus-4-7", "home-made"]);
    assert_eq!((models[0].window, models[1].window), (Some(5_000), Some(32_000)));
    assert_eq!(names(&models).iter().filter(|id| **id == "claude-opus-4-7").count(), 1);
}

#[tokio::test]
async fn no_request_is_made_without_a_provider_or_for_a_script() {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    assert_eq!(models(&settings("{}"), ModelSource::Endpoint, Arc::clone(&clock)).await, []);
    let scripted = r#"{"authGroups":{"main":{"provider":"scripted","script":"/none.json"}}}"#;
    assert_eq!(models(&settings(scripted), ModelSource::Endpoint, clock).await, []);
}
