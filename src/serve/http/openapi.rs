//! The `OpenAPI` document, generated from the types of requests and answers. The table of routes in `docs/serve.md` is
//! made from the same list.

use std::fmt::Write as _;

use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use super::error::ErrorBody;
use super::routes::{
    CommandAnswer, Config, Health, Link, LinkRequest, Me, MessageRequest, OpenProjects, ProjectState, QueryReply, Sent,
    Session,
};
use crate::engine::command::Command;
use crate::engine::query::{AskRow, List, Query};
use crate::engine::snapshot::Snapshot;
use crate::engine::update::Update;
use crate::model::ask::AskReply;
use crate::serve::place::program_version;
use crate::serve::wait::Reply;

type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// One route, as documents describe it.
pub struct Operation {
    pub method: &'static str,
    pub path: &'static str,
    /// The scope that it needs. Empty if it needs no token, `-` if any token will do.
    pub scope: &'static str,
    pub summary: &'static str,
    parameters: &'static [Parameter],
    body: Option<SchemaOf>,
    answers: &'static [Answer],
}

struct Parameter {
    name: &'static str,
    place: &'static str,
    doc: &'static str,
}

struct Answer {
    status: u16,
    doc: &'static str,
    kind: &'static str,
    schema: Option<SchemaOf>,
}

const fn query(name: &'static str, doc: &'static str) -> Parameter {
    Parameter { name, place: "query", doc }
}

const fn header(name: &'static str, doc: &'static str) -> Parameter {
    Parameter { name, place: "header", doc }
}

const fn answer(status: u16, doc: &'static str, schema: SchemaOf) -> Answer {
    Answer { status, doc, kind: "application/json", schema: Some(schema) }
}

const fn file(status: u16, doc: &'static str, kind: &'static str) -> Answer {
    Answer { status, doc, kind, schema: None }
}

fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

const ONCE: Parameter = header("Idempotency-Key", "A repeat with the same key returns the first outcome for 24 hours.");

/// Every route.
pub const OPERATIONS: &[Operation] = &[
    Operation {
        method: "get",
        path: "/v1/health",
        scope: "",
        summary: "Whether the server runs",
        parameters: &[],
        body: None,
        answers: &[answer(200, "It runs.", of::<Health>)],
    },
    Operation {
        method: "get",
        path: "/v1/openapi.json",
        scope: "-",
        summary: "This description, generated from the types",
        parameters: &[],
        body: None,
        answers: &[file(200, "An OpenAPI document.", "application/json")],
    },
    Operation {
        method: "get",
        path: "/v1/me",
        scope: "-",
        summary: "The name and scopes of the token",
        parameters: &[],
        body: None,
        answers: &[answer(200, "The holder of the token.", of::<Me>)],
    },
    Operation {
        method: "get",
        path: "/v1/projects",
        scope: "read",
        summary: "The open projects that the token reaches",
        parameters: &[],
        body: None,
        answers: &[answer(200, "The projects.", of::<OpenProjects>)],
    },
    Operation {
        method: "get",
        path: "/v1/projects/{project}",
        scope: "read",
        summary: "The state of a project, with its position in the updates",
        parameters: &[],
        body: None,
        answers: &[answer(200, "The state.", of::<ProjectState>)],
    },
    Operation {
        method: "get",
        path: "/v1/projects/{project}/updates",
        scope: "read",
        summary: "The updates of a project as server-sent events",
        parameters: &[
            header("Last-Event-ID", "Resume after this event, `epoch.seq`."),
            query("after", "Like Last-Event-ID, for clients that cannot send headers."),
        ],
        body: None,
        answers: &[Answer {
            status: 200,
            doc: "Events: `snapshot`, then `task`, `removed`, `event`, `live`, `project`, `notice`, `quiet`, `ended`. \
                  After `resync` comes a new `snapshot`. `fault` says why the stream ends.",
            kind: "text/event-stream",
            schema: Some(of::<Update>),
        }],
    },
    Operation {
        method: "get",
        path: "/v1/projects/{project}/config",
        scope: "read",
        summary: "The effective settings, with secrets masked",
        parameters: &[],
        body: None,
        answers: &[answer(200, "The settings.", of::<Config>)],
    },
    Operation {
        method: "post",
        path: "/v1/projects/{project}/commands",
        scope: "by command",
        summary: "Carry out a command",
        parameters: &[ONCE],
        body: Some(of::<Command>),
        answers: &[answer(200, "The outcome.", of::<CommandAnswer>)],
    },
    Operation {
        method: "post",
        path: "/v1/projects/{project}/queries",
        scope: "read",
        summary: "Answer a query: transcripts, diffs, turns, costs, search",
        parameters: &[],
        body: Some(of::<Query>),
        answers: &[answer(200, "The answer to the query of the same name.", of::<QueryReply>)],
    },
    Operation {
        method: "post",
        path: "/v1/projects/{project}/tasks/{task}/messages",
        scope: "send",
        summary: "Send a message to a task, and wait for the reply with `?wait=turn`",
        parameters: &[
            query("wait", "`turn` waits for the reply."),
            query("timeout", "How many seconds to wait, from 1 to 600. Default: 60."),
            ONCE,
        ],
        body: Some(of::<MessageRequest>),
        answers: &[
            answer(200, "The reply, with `wait=turn`.", of::<Reply>),
            answer(202, "The message was sent; there is no reply yet.", of::<Sent>),
            answer(409, "The task waits for an answer, or the engine refused it.", of::<ErrorBody>),
        ],
    },
    Operation {
        method: "get",
        path: "/v1/projects/{project}/asks",
        scope: "read",
        summary: "The open questions of a project",
        parameters: &[],
        body: None,
        answers: &[answer(200, "The questions, oldest first.", of::<List<AskRow>>)],
    },
    Operation {
        method: "post",
        path: "/v1/asks/{ask}",
        scope: "answer",
        summary: "Answer a question by the id of a choice or in words",
        parameters: &[ONCE],
        body: Some(of::<AskReply>),
        answers: &[
            answer(200, "The answer was taken.", of::<CommandAnswer>),
            answer(404, "No such question is open.", of::<ErrorBody>),
        ],
    },
    Operation {
        method: "get",
        path: "/v1/projects/{project}/blobs/{blob}",
        scope: "read",
        summary: "Stored content: pictures and long outputs",
        parameters: &[header("Range", "One range, as in `bytes=0-99`.")],
        body: None,
        answers: &[
            file(200, "The content.", "application/octet-stream"),
            file(206, "A part of it.", "application/octet-stream"),
            answer(416, "The range is not in the content.", of::<ErrorBody>),
        ],
    },
    Operation {
        method: "post",
        path: "/v1/links",
        scope: "-",
        summary: "Make a link that opens the page once",
        parameters: &[],
        body: Some(of::<LinkRequest>),
        answers: &[answer(200, "The link, valid for ten minutes.", of::<Link>)],
    },
    Operation {
        method: "post",
        path: "/v1/session",
        scope: "-",
        summary: "Log the page in: sets its cookie",
        parameters: &[],
        body: None,
        answers: &[answer(200, "The second half of the login.", of::<Session>)],
    },
    Operation {
        method: "delete",
        path: "/v1/session",
        scope: "-",
        summary: "Log the page out: removes its cookie",
        parameters: &[],
        body: None,
        answers: &[Answer { status: 204, doc: "It is removed.", kind: "", schema: None }],
    },
    Operation {
        method: "get",
        path: "/",
        scope: "",
        summary: "The page; with `?t=` of a link, logs it in",
        parameters: &[query("t", "The ticket of a one-time link.")],
        body: None,
        answers: &[file(200, "The page.", "text/html"), file(401, "The page, which asks for a token.", "text/html")],
    },
];

/// Returns the `OpenAPI` document.
pub fn document() -> Value {
    let mut generator = SchemaSettings::openapi3().into_generator();
    let mut paths: Map<String, Value> = Map::new();
    for operation in OPERATIONS {
        let described = describe(operation, &mut generator);
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        path[operation.method] = described;
    }
    // What `snapshot` events carry.
    of::<Snapshot>(&mut generator);
    let schemas = generator.take_definitions(true);
    json!({
        "openapi": "3.0.3",
        "info": {
            "title": "mxd",
            "version": program_version(),
            "description": "The engine of Matrix over HTTP. Every answer that is not 2xx has the body Error.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    })
}

fn describe(operation: &Operation, generator: &mut SchemaGenerator) -> Value {
    let parameter = |name: &str, place: &str, doc: &str| json!({"name": name, "in": place, "required": place == "path", "description": doc, "schema": {"type": "string"}});
    let in_path = operation.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let mut parameters: Vec<Value> = in_path.map(|name| parameter(name, "path", path_doc(name))).collect();
    parameters.extend(operation.parameters.iter().map(|found| parameter(found.name, found.place, found.doc)));
    let mut answers = Map::new();
    for answer in operation.answers {
        let mut described = json!({"description": answer.doc});
        if !answer.kind.is_empty() {
            let schema = answer.schema.map_or_else(|| json!({}), |schema| schema(generator).to_value());
            described["content"] = json!({answer.kind: {"schema": schema}});
        }
        answers.insert(answer.status.to_string(), described);
    }
    let error = of::<ErrorBody>(generator).to_value();
    answers.insert(
        "default".to_owned(),
        json!({"description": "It is refused.", "content": {"application/json": {"schema": error}}}),
    );
    let mut described = json!({
        "summary": operation.summary,
        "parameters": parameters,
        "responses": answers,
    });
    if !matches!(operation.scope, "" | "-") {
        described["description"] = json!(format!("Scope: {}.", operation.scope));
    }
    if let Some(body) = operation.body {
        let schema = body(generator).to_value();
        described["requestBody"] = json!({"required": true, "content": {"application/json": {"schema": schema}}});
    }
    if operation.scope.is_empty() {
        described["security"] = json!([]);
    }
    described
}

fn path_doc(name: &str) -> &'static str {
    match name {
        "project" => "The id or the name of a project.",
        "task" => "The id of a task, or its beginning.",
        "ask" => "The id of a question.",
        _ => "The name of a blob: 64 hex digits.",
    }
}

/// Returns the routes as a table for the documentation.
pub fn table() -> String {
    let mut table = "| method | path | scope | what |\n|---|---|---|---|\n".to_owned();
    for Operation { method, path, scope, summary, .. } in OPERATIONS {
        let scope = match *scope {
            "" => "no token",
            "-" => "any",
            scope => scope,
        };
        let _ = writeln!(table, "| {} | `{path}` | {scope} | {summary} |", method.to_uppercase());
    }
    table
}

#[cfg(test)]
#[path = "openapi_tests.rs"]
mod tests;
