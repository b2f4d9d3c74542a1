use std::ffi::OsString;
use std::path::Path;

use super::*;
use crate::config::{Environment, Layer, LayerFile, merge};

const GLOBAL: &str = r#"{
  "authGroups": {
    "main": {"provider": "anthropic", "apiKey": "sk-ant-hunter2-hunter2-wxyz", "baseUrl": "https://u:hunter2@host/v1"}
  },
  "model": "claude",
  "mcpServers": {
    "a": {"command": "run", "args": ["--token", "hunter2"], "env": {"KEY": "hunter2"}},
    "b": {"url": "https://hunter2@h/?token=hunter2", "headers": {"Authorization": "Bearer hunter2-hunter2-hunter2"}}
  },
  "verify": "TOKEN=hunter2 make check"
}"#;

fn merged() -> Merged {
    let environment = Environment::new(|name| (name == "OPENAI_API_KEY").then(|| OsString::from("hunter2-in-the-air")));
    let global = LayerFile::read(Layer::Global, Path::new("/data/config.json"), GLOBAL.as_bytes());
    let local = LayerFile::read(Layer::Local, Path::new("local.json"), br#"{"cache": {"child": "1h"}}"#);
    merge(&environment, &[global, local]).unwrap()
}

fn get(path: &str) -> Option<MaskedSetting> {
    merged().get(&path.parse().unwrap()).unwrap()
}

#[test]
fn no_output_contains_a_secret() {
    let merged = merged();
    assert_eq!(merged.problems, []);
    let list = merged.list();
    let texts: Vec<String> = list.iter().map(ToString::to_string).collect();
    let plain: Vec<String> = list.iter().map(MaskedSetting::plain).collect();
    let outputs = [
        texts.join("\n"),
        plain.join("\n"),
        serde_json::to_string(&list.iter().map(SettingRow::from).collect::<Vec<_>>()).unwrap(),
        format!("{:?}", merged.settings),
        format!("{:?}", merged.servers),
        merged.get(&"authGroups".parse().unwrap()).unwrap().unwrap().plain(),
        merged.get(&"mcpServers.b.headers.Authorization".parse().unwrap()).unwrap().unwrap().plain(),
    ];
    for output in outputs {
        let leaked = output.replace("TOKEN=hunter2 make", "");
        assert!(!leaked.contains("hunter2"), "{output}");
    }
    assert_eq!(get("authGroups.main.apiKey").unwrap().plain(), "****wxyz");
    assert_eq!(get("verify").unwrap().plain(), "TOKEN=**** make check");
}

#[test]
fn a_value_is_shown_with_its_origin() {
    assert_eq!(get("model").unwrap().to_string(), "model = \"claude\"  (global: /data/config.json:5:3)");
    assert_eq!(get("model").unwrap().plain(), "claude");
    assert_eq!(get("maxDepth").unwrap().to_string(), "maxDepth = 3  (default)");
    assert_eq!(get("cache.child").unwrap().to_string(), "cache.child = \"1h\"  (local: local.json:1:12)");
    assert_eq!(get("cache").unwrap().origin, Origin::Several);
    assert_eq!(get("cache").unwrap().value, serde_json::json!({"root": "1h", "child": "1h"}));
    let implicit = get("authGroups.env-openai").unwrap().to_string();
    assert!(implicit.ends_with("(environment: OPENAI_API_KEY)"), "{implicit}");
    assert_eq!(get("mcpServers.a.command").unwrap().plain(), "run");
    assert_eq!(get("childModel"), None);
    assert_eq!(get("authGroups.nobody"), None);
}

#[test]
fn the_json_form_has_file_and_line() {
    let json = serde_json::to_value(SettingRow::from(&get("model").unwrap())).unwrap();
    let expected = serde_json::json!({"key": "model", "value": "claude", "origin": "global", "file": "/data/config.json", "line": 5});
    assert_eq!(json, expected);
}

#[test]
fn an_unknown_key_names_the_nearest() {
    let fault = Fault::from(merged().get(&"modle".parse().unwrap()).unwrap_err());
    assert!(fault.message.contains("did you mean model?"), "{fault}");
    let fault = Fault::from(merged().get(&"models.gpt-4.1.window".parse().unwrap()).unwrap_err());
    assert!(fault.to_string().contains("models.\"gpt-4.1\".window"), "{fault}");
}
