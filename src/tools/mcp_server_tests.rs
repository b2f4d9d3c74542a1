use std::sync::Mutex;

use futures::FutureExt as _;

use super::*;

#[derive(Default)]
struct Echo(Mutex<Vec<String>>);

impl ToolServer for Echo {
    fn specs(&self) -> Vec<ToolSpec> {
        let schema = Json::parse(r#"{"type":"object"}"#).unwrap();
        vec![ToolSpec { name: names::wire(names::DONE), description: "Ends.".to_owned(), schema }]
    }

    fn instructions(&self) -> String {
        "Use them.".to_owned()
    }

    fn call(&self, call: ServedCall) -> BoxFuture<'_, ServedReply> {
        let text = format!("{} {} {}", call.name, call.input.as_str(), call.request);
        std::future::ready(ServedReply { text, is_error: false }).boxed()
    }

    fn on_listed(&self) {
        self.0.lock().unwrap().push("listed".to_owned());
    }

    fn on_client(&self, name: &str) {
        self.0.lock().unwrap().push(name.to_owned());
    }
}

fn ask(server: &Echo, text: &str) -> Option<Value> {
    answer_text(server, text).now_or_never().unwrap()
}

#[test]
fn a_client_begins_lists_and_calls() {
    let server = Echo::default();
    let hello =
        r#"{"id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","clientInfo":{"name":"editor"}}}"#;
    let hello = ask(&server, hello).unwrap();
    assert_eq!(hello["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(ask(&server, r#"{"method":"notifications/initialized"}"#), None);
    let listed = ask(&server, r#"{"id":"a","method":"tools/list"}"#).unwrap();
    let tool = &listed["result"]["tools"][0];
    assert_eq!((tool["name"].as_str(), tool["_meta"]["anthropic/alwaysLoad"].as_bool()), (Some("done"), Some(true)));
    assert_eq!(tool["annotations"]["destructiveHint"], false);
    let called =
        ask(&server, r#"{"id":3,"method":"tools/call","params":{"name":"done","arguments":{"x":1}}}"#).unwrap();
    assert_eq!(called["result"]["content"][0]["text"], r#"mcp__mxd__done {"x":1} 3"#);
    assert_eq!(*server.0.lock().unwrap(), ["editor", "listed"]);
}

#[test]
fn unknown_versions_methods_and_tools_are_answered() {
    let server = Echo::default();
    let newest = ask(&server, r#"{"id":1,"method":"initialize","params":{"protocolVersion":"2099-01-01"}}"#).unwrap();
    assert_eq!(newest["result"]["protocolVersion"], VERSIONS[0]);
    let discover = ask(&server, r#"{"id":1,"method":"server/discover"}"#).unwrap();
    assert_eq!(discover["error"]["code"], METHOD_NOT_FOUND, "the client falls back to initialize");
    let unknown = ask(&server, r#"{"id":1,"method":"tools/call","params":{"name":"rm"}}"#).unwrap();
    assert_eq!(unknown["result"]["isError"], true);
    assert_eq!(ask(&server, r#"{"id":1,"method":"tools/call"}"#).unwrap()["error"]["code"], INVALID_PARAMS);
    assert_eq!(ask(&server, r#"{"id":1,"method":"ping"}"#).unwrap()["result"], json!({}));
}

#[test]
fn bad_messages_get_an_error_and_notifications_nothing() {
    let server = Echo::default();
    assert_eq!(ask(&server, "nonsense").unwrap()["error"]["code"], PARSE_ERROR);
    assert_eq!(ask(&server, r#"{"id":1}"#).unwrap()["error"]["code"], INVALID_REQUEST);
    assert_eq!(ask(&server, "[]").unwrap()["error"]["code"], INVALID_REQUEST);
    assert_eq!(ask(&server, r#"{"id":1,"result":{}}"#), None, "an answer");
    let batch =
        ask(&server, r#"[{"id":1,"method":"ping"},{"method":"notifications/cancelled"},{"id":2,"method":"ping"}]"#);
    assert_eq!(batch.unwrap().as_array().unwrap().len(), 2);
}
