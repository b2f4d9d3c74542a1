use super::*;

fn one(tool: &str, input: &Value) -> ToolView {
    let mut views = views(&names::wire(tool), input, Path::new("/work/tree"));
    assert_eq!(views.len(), 1);
    views.remove(0)
}

#[test]
fn each_tool_has_the_name_and_the_fields_of_its_counterpart() {
    let bash = one("bash", &json!({"command": "ls"}));
    assert_eq!((bash.tool_name.as_str(), &bash.input["command"]), ("Bash", &json!("ls")));
    assert_eq!(bash.names, ["Bash", "bash"]);
    let write = one("write_file", &json!({"path": "a/b.rs", "content": "x"}));
    assert_eq!(write.tool_name, "Write");
    assert_eq!(write.input["file_path"], "/work/tree/a/b.rs");
    assert_eq!(write.input["path"], "a/b.rs");
    let edit = one("edit_file", &json!({"path": "/abs/b.rs", "edits": [{"old_string": "a", "new_string": "b"}]}));
    assert_eq!(edit.input["file_path"], "/abs/b.rs");
    assert_eq!((&edit.input["old_string"], &edit.input["new_string"]), (&json!("a"), &json!("b")));
    let search = one("search", &json!({"pattern": "x", "path": "src"}));
    assert_eq!((search.tool_name.as_str(), &search.input["pattern"]), ("Grep", &json!("x")));
    let list = one("list_files", &json!({"globs": ["!target", "*.rs"]}));
    assert_eq!((list.tool_name.as_str(), &list.input["pattern"]), ("Glob", &json!("*.rs")));
    let task = one("create_task", &json!({"title": "t", "description": "d", "profile": "reviewer"}));
    assert_eq!((&task.input["description"], &task.input["prompt"]), (&json!("t"), &json!("d")));
    let foreign = &views("mcp__memory__store", &json!({"k": 1}), Path::new("/"))[0];
    assert_eq!((foreign.tool_name.as_str(), foreign.names.len()), ("mcp__memory__store", 1));
}

#[test]
fn a_call_that_reads_several_files_is_seen_file_by_file() {
    let input = json!({"files": [{"path": "a"}, {"path": ".env", "offset": 3}]});
    let views = views(&names::wire("read_file"), &input, Path::new("/work"));
    let paths: Vec<_> = views.iter().map(|view| view.input["file_path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["/work/a", "/work/.env"]);
    assert_eq!(views[1].input["offset"], 3);
    assert_eq!(views[0].updated(&json!({"file_path": "/b"})), Err(InvalidUpdate::SeveralFiles));
}

#[test]
fn several_edits_are_also_called_multi_edit() {
    let edits = json!([{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d"}]);
    assert!(one("edit_file", &json!({"path": "a", "edits": edits})).names.contains(&"MultiEdit".to_owned()));
}

#[test]
fn an_update_in_either_form_becomes_an_input_of_our_tool() {
    let cases = [
        ("bash", json!({"command": "ls"}), json!({"command": "ls -a"}), json!({"command": "ls -a"})),
        (
            "bash",
            json!({"command": "ls"}),
            json!({"command": "ls", "description": "List", "timeout": 1000}),
            json!({"command": "ls"}),
        ),
        (
            "write_file",
            json!({"path": "a", "content": "x"}),
            json!({"file_path": "/work/b", "content": "x"}),
            json!({"path": "/work/b", "content": "x"}),
        ),
        // The whole object comes back with one change, as hooks that use jq do it.
        (
            "write_file",
            json!({"path": "a", "content": "x"}),
            json!({"path": "a", "content": "y", "file_path": "/work/tree/a"}),
            json!({"path": "a", "content": "y"}),
        ),
        (
            "write_file",
            json!({"path": "a", "content": "x"}),
            json!({"path": "a", "content": "x", "file_path": "/work/tree/c"}),
            json!({"path": "/work/tree/c", "content": "x"}),
        ),
        (
            "edit_file",
            json!({"path": "a", "edits": [{"old_string": "a", "new_string": "b"}]}),
            json!({"file_path": "/work/tree/a", "old_string": "a", "new_string": "B"}),
            json!({"edits": [{"old_string": "a", "new_string": "B"}], "path": "/work/tree/a"}),
        ),
        (
            "read_file",
            json!({"files": [{"path": "a"}]}),
            json!({"file_path": "/work/tree/a", "limit": 10}),
            json!({"files": [{"path": "/work/tree/a", "limit": 10}]}),
        ),
        (
            "create_task",
            json!({"title": "t", "description": "d"}),
            json!({"title": "t", "description": "t", "prompt": "longer"}),
            json!({"title": "t", "description": "longer"}),
        ),
    ];
    for (tool, input, updated, expected) in cases {
        assert_eq!(one(tool, &input).updated(&updated), Ok(expected), "{tool} {updated}");
    }
    assert_eq!(one("bash", &json!({})).updated(&json!("ls")), Err(InvalidUpdate::NoObject));
}
