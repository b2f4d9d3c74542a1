use std::collections::BTreeMap;

use serde_json::json;

use super::{Catalogue, ListedModel, ModelOverride, Prices, SHIPPED, TABLE, TABLE_VERSION, Table, cost, read_list};
use crate::base::MicroUsd;
use crate::model::usage::Tokens;

#[test]
fn the_shipped_table_is_readable_and_makes_sense() {
    let table: Table = serde_json::from_str(TABLE).unwrap();
    assert_eq!(table.version, TABLE_VERSION);
    let mut names: Vec<_> = table.models.iter().flat_map(|model| model.aliases.iter().chain([&model.id])).collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count, "a name is there twice");
    for model in &table.models {
        assert!(model.max_output > 0 && model.max_output <= model.window, "{}", model.id);
        let Some(prices) = model.prices else { continue };
        assert!(prices.output >= prices.input && prices.input > 0, "{}", model.id);
        assert!(prices.cache_read.is_none_or(|read| read < prices.input), "{}", model.id);
        if model.id.starts_with("claude") {
            // Writing costs a quarter more for five minutes, and twice as much for an hour; old prices were rounded.
            assert!(prices.cache_write_5m.unwrap() >= prices.input * 6 / 5, "{}", model.id);
            assert_eq!(prices.cache_write_1h, Some(prices.input * 2), "{}", model.id);
        }
    }
    assert_eq!(SHIPPED.len(), table.models.len());
}

#[test]
fn dated_editions_are_found_and_other_models_are_not_mistaken() {
    let window = |model: &str| Catalogue::default().facts(model).ok().map(|facts| (facts.window, facts.max_output));
    assert_eq!(window("claude-sonnet-4-5-20250929"), Some((200_000, 64_000)));
    assert_eq!(window("claude-opus-4-20250514"), Some((200_000, 32_000)));
    assert_eq!(window("claude-3-5-haiku-latest"), Some((200_000, 8192)));
    assert_eq!(window("claude-sonnet-4-5@20250929"), Some((200_000, 64_000)));
    assert_eq!(window("gpt-4o-2024-08-06"), Some((128_000, 16_384)));
    assert_eq!(window("openai/gpt-4.1-mini"), Some((1_047_576, 32_768)));
    assert_eq!(window("qwen3:30b"), Some((40_960, 16_384)));
    for other in ["gpt-4o-realtime", "claude-opus-4-99", "claude", "gpt-5-ultra", "o", "unheard-of"] {
        assert_eq!(window(other), None, "{other}");
    }
}

#[test]
fn settings_win_over_the_list_and_the_list_over_the_table() {
    let listed = ListedModel { id: "gpt-4o".to_owned(), window: Some(64_000), ..ListedModel::default() };
    let catalogue = Catalogue::default().with_listed(vec![listed.clone()]);
    let facts = catalogue.facts("gpt-4o").unwrap();
    assert_eq!((facts.window, facts.max_output), (64_000, 16_384));
    assert_eq!(facts.prices.unwrap().input, 2_500_000);

    let prices = Prices { input: 1, output: 2, ..Prices::default() };
    let set = ModelOverride { window: Some(32_000), max_output: None, prices: Some(prices) };
    let catalogue = Catalogue::new(BTreeMap::from([("gpt-4o".to_owned(), set)])).with_listed(vec![listed]);
    let facts = catalogue.facts("gpt-4o").unwrap();
    assert_eq!((facts.window, facts.max_output, facts.prices), (32_000, 16_384, Some(prices)));
}

#[test]
fn an_unknown_window_is_an_error_that_says_what_to_set() {
    let error = Catalogue::default().facts("gpt-4oo").unwrap_err().to_string();
    assert!(error.contains("`mxd config set --global models.gpt-4oo.window TOKENS`"), "{error}");
    assert!(error.contains("\"gpt-4o\""), "{error}");
    assert!(Catalogue::default().facts("zzz").unwrap_err().to_string().ends_with("TOKENS`"));
}

#[test]
fn an_unknown_output_limit_has_a_default_and_an_unknown_price_is_none() {
    let listed = |window| ListedModel { id: "local".to_owned(), window: Some(window), ..ListedModel::default() };
    let facts = |window| Catalogue::default().with_listed(vec![listed(window)]).facts("local").unwrap();
    assert_eq!((facts(8192).max_output, facts(1_000_000).max_output), (2048, 16_384));
    assert_eq!(facts(8192).prices, None);
}

#[test]
fn model_lists_are_parsed_in_all_formats() {
    let answer = json!({"data": [
        {"type": "model", "id": "claude-x", "display_name": "X", "max_input_tokens": 200_000, "max_tokens": 64_000},
        {"id": "a/b", "context_length": 1000, "top_provider": {"max_completion_tokens": 100},
         "pricing": {"prompt": "0.000003", "completion": "0.000015", "input_cache_read": "0.0000003"}},
        {"id": "vllm", "max_model_len": 4096.0},
        {"id": "llama", "meta": {"n_ctx": 2048}},
        {"id": "auto", "context_length": 0, "pricing": {"prompt": "-1", "completion": "-1"}},
        {"object": "model"},
    ]});
    let list = read_list(&answer);
    let seen: Vec<_> = list.iter().map(|model| (model.id.as_str(), model.window, model.max_output)).collect();
    assert_eq!(
        seen,
        [
            ("claude-x", Some(200_000), Some(64_000)),
            ("a/b", Some(1000), Some(100)),
            ("vllm", Some(4096), None),
            ("llama", Some(2048), None),
            ("auto", None, None),
        ]
    );
    let prices = Prices { input: 3_000_000, output: 15_000_000, cache_read: Some(300_000), ..Prices::default() };
    assert_eq!((list[1].prices, list[4].prices), (Some(prices), None));
    assert_eq!(list[0].name.as_deref(), Some("X"));
    assert_eq!(read_list(&json!({"models": [{"slug": "s"}]}))[0].id, "s");
    assert_eq!(read_list(&json!([{"id": "bare"}]))[0].id, "bare");
    assert!(read_list(&json!("nothing")).is_empty());
}

#[test]
fn costs_are_summed_exactly_and_rounded_once() {
    let prices = Catalogue::default().facts("claude-sonnet-4-5").unwrap().prices.unwrap();
    let tokens = Tokens { input: 1000, output: 500, cache_read: 100_000, cache_write_5m: 2000, cache_write_1h: 3000 };
    // 3000 + 7500 + 30000 + 7500 + 18000
    assert_eq!(cost(&tokens, &prices), MicroUsd(66_000));
    let odd = Prices { input: 500_000, output: 0, cache_read: Some(250_000), ..Prices::default() };
    assert_eq!(cost(&Tokens { input: 1, ..Tokens::default() }, &odd), MicroUsd(1));
    assert_eq!(cost(&Tokens { cache_read: 1, ..Tokens::default() }, &odd), MicroUsd(0));
    assert_eq!(cost(&Tokens { cache_read: 1, cache_write_1h: 1, ..Tokens::default() }, &odd), MicroUsd(1));
    let absurd = Tokens { input: u64::MAX, ..Tokens::default() };
    assert_eq!(cost(&absurd, &Prices { input: u64::MAX, ..Prices::default() }), MicroUsd(u64::MAX));
}
