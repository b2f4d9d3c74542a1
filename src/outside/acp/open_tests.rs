use super::*;

fn request(tools: Option<ToolAccess>) -> OpenRequest {
    OpenRequest {
        process_id: "p".to_owned(),
        cwd: "/w".into(),
        folders: vec!["/r/.git".into()],
        system: String::new(),
        model: Some("m".to_owned()),
        effort: None,
        mode: None,
        tools,
        resume: None,
        limit: Duration::from_secs(1),
        wire_log: None,
    }
}

fn tools() -> ToolAccess {
    ToolAccess {
        name: "mxd".to_owned(),
        http: Some(("http://127.0.0.1:1/mcp".to_owned(), "secret".to_owned())),
        command: "/bin/mxd".into(),
        arguments: vec!["mcp".to_owned()],
        variables: vec![("T".to_owned(), "secret".to_owned())],
    }
}

#[test]
fn our_tools_are_offered_over_http_where_the_program_can_and_over_stdio_elsewhere() {
    let server = |can_http| server(&tools(), can_http);
    assert_eq!(
        (server(true)["type"].clone(), server(true)["headers"][0]["value"].clone()),
        (json!("http"), json!("Bearer secret"))
    );
    assert_eq!((server(false).get("type"), server(false)["env"][0]["name"].clone()), (None, json!("T")));
}

#[test]
fn quirks_add_what_a_program_needs_and_nothing_to_others() {
    let plain = session_params(&Quirks::UNKNOWN, &request(Some(tools())), Can::default());
    assert_eq!(plain.as_object().unwrap().keys().collect::<Vec<_>>(), ["cwd", "mcpServers"]);
    let claude = crate::outside::programs::find("claude").unwrap().quirks;
    let params = session_params(&claude, &request(Some(tools())), Can::default());
    assert_eq!(params["_meta"]["claudeCode"]["options"]["allowedTools"], json!(["mcp__mxd"]));
    let codex = crate::outside::programs::find("codex").unwrap().quirks;
    let params = session_params(&codex, &request(None), Can::default());
    assert_eq!(
        (params["additionalDirectories"].clone(), params["mcpServers"].clone()),
        (json!(["/r/.git"]), json!([]))
    );
}

#[test]
fn capabilities_are_read_wherever_a_program_states_them() {
    let about = json!({
        "agentCapabilities": {"loadSession": true, "promptCapabilities": {"image": true}, "mcpCapabilities": {"http": false},
            "sessionCapabilities": {"resume": {}}},
        "_meta": {"steering": {"supported": true}},
    });
    let expected = Can { load: true, resume: true, steer: true, images: true, mcp_http: false, system_prompt: false };
    assert_eq!(can(&about), expected);
    assert_eq!(can(&json!({"agentCapabilities": 3})), Can::default());
}
