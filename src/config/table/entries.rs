//! The entries of the table, in the order in which people look for them.

use super::{Key, Kind, Names, Rule};

const SPENDS: &str = "it decides whose money is spent and which company sees the code";
const REACHES: &str = "it holds credentials and hosts";
const RUNS: &str = "it is a command that would run on your machine";
const COUNTS: &str = "it decides what counts without you";
const PRICES: &str = "prices decide when a budget stops";
const CHOOSES: &str = "it decides what agents may do on your machine";
const KEEPS: &str = "it decides what is kept on your disk";
const PRESSES: &str = "it decides what your key presses do";
const APPROVES: &str = "an approval is for one project and is yours to give";

/// Every setting.
pub const KEYS: &[Key] = &[
    Key::new(
        "authGroups",
        Kind::Map {
            placeholder: "name",
            names: Names::Any,
            of: &Kind::Object { fields: AUTH_GROUP, rule: Rule::AuthGroup },
        },
        r#"{"main": {"provider": "anthropic", "apiKey": "sk-ant-your-key"}}"#,
        "Ways to reach a model, by name. Keys in the environment form the groups `env-anthropic` and `env-openai`.",
    )
    .person(REACHES),
    Key::new(
        "defaultAuth",
        Kind::Text,
        r#""main""#,
        "The auth group that agents use. Without it: the only group there is, or the one from the environment.",
    )
    .person(SPENDS),
    Key::new("model", Kind::Text, r#""claude-sonnet-4-6""#, "The model that agents use, by the provider's name for it."),
    Key::new("childAuth", Kind::Text, r#""cheap""#, "The auth group of sub tasks. Without it: `defaultAuth`.")
        .person(SPENDS),
    Key::new("childModel", Kind::Text, r#""claude-haiku-4-5""#, "The model of sub tasks. Without it: `model`."),
    Key::new(
        "effort",
        Kind::Text,
        r#""high""#,
        "How hard models should think, in the provider's own word. Without it: the provider's default.",
    ),
    Key::new(
        "cache",
        Kind::Object { fields: CACHE, rule: Rule::None },
        r#"{"root": "1h", "child": "5m"}"#,
        "How long the provider should keep a conversation's beginning for the next request.",
    ),
    Key::new(
        "models",
        Kind::Map { placeholder: "id", names: Names::Any, of: &Kind::Object { fields: MODEL, rule: Rule::None } },
        r#"{"my-model": {"window": 128000, "prices": {"input": 0.5, "output": 1.5}}}"#,
        "Facts about models that the provider does not tell and mxd does not know, by the model's name.",
    )
    .person(PRICES),
    Key::new(
        "budgetUsd",
        Kind::Dollars { min: 0.01 },
        "5",
        "What one task may cost with its sub tasks, in dollars, before it stops and asks. Without it: no limit.",
    ),
    Key::new("maxDepth", Kind::Whole { min: 1, max: 64 }, "3", "How many levels of sub tasks agents may create.")
        .or("3"),
    Key::new(
        "maxTasks",
        Kind::Whole { min: 1, max: 100_000 },
        "50",
        "How many open tasks a project may have before an agent that creates one more has to wait for your answer.",
    )
    .or("200"),
    Key::new(
        "maxTasksPerTurn",
        Kind::Whole { min: 1, max: 1000 },
        "5",
        "How many tasks an agent may create in one turn before it has to wait for your answer.",
    )
    .or("20"),
    Key::new("maxRunning", Kind::Whole { min: 1, max: 1000 }, "8", "How many agents of a project may work at the same time.")
        .or("16"),
    Key::new(
        "clarifyTimeoutMs",
        Kind::Whole { min: 1, max: u64::MAX },
        "600000",
        "After how many milliseconds a question with a default answers itself. Without it: never.",
    ),
    Key::new(
        "profile",
        Kind::Text,
        r#""reviewer""#,
        "The profile of a new task for which none is chosen; `mxd agents` lists them. Tasks keep the one they have.",
    )
    .or(r#""engineer""#)
    .person(CHOOSES),
    Key::new(
        "verify",
        Kind::Text,
        r#""cargo test""#,
        "A shell command that must succeed in the worktree before work counts as done and before it is merged.",
    )
    .person(RUNS),
    Key::new("review", Kind::Flag, "true", "Whether you look at a task's work before it counts as done.")
        .or("false")
        .person(COUNTS),
    Key::new(
        "mcpServers",
        Kind::Map {
            placeholder: "name",
            names: Names::Server,
            of: &Kind::Object { fields: MCP_SERVER, rule: Rule::McpServer },
        },
        r#"{"files": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "."]}}"#,
        "Servers of external tools, by name. One that a repository brings along does nothing until you approve it.",
    ),
    Key::new(
        "approvedMcpServers",
        Kind::List(&Kind::Hash),
        r#"["af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"]"#,
        "The repository's servers that you approved, by the hash of their entry. A changed entry asks again.",
    )
    .or("[]")
    .project(APPROVES),
    Key::new(
        "declinedMcpServers",
        Kind::List(&Kind::Hash),
        r#"["af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"]"#,
        "The repository's servers that you do not want and are not asked about, by the hash of their entry.",
    )
    .or("[]")
    .project(APPROVES),
    Key::new(
        "approvedHooks",
        Kind::List(&Kind::Hash),
        r#"["af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"]"#,
        "The setup hooks that may run in new worktrees, by the hash of the file. A changed hook asks again.",
    )
    .or("[]")
    .project(APPROVES),
    Key::new(
        "declinedHooks",
        Kind::List(&Kind::Hash),
        r#"["af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"]"#,
        "The setup hooks that do not run and are not asked about, by the hash of the file.",
    )
    .or("[]")
    .project(APPROVES),
    Key::new(
        "approvedTasks",
        Kind::List(&Kind::Hash),
        r#"["af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"]"#,
        "The recurring tasks that may run, by the hash of task and file. A file changed by a pull or an editor asks again.",
    )
    .or("[]")
    .project(APPROVES),
    Key::new(
        "declinedTasks",
        Kind::List(&Kind::Hash),
        r#"["af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"]"#,
        "The recurring tasks that do not run and are not asked about, by the hash of task and file.",
    )
    .or("[]")
    .project(APPROVES),
    Key::new(
        "approvedProjects",
        Kind::List(&Kind::Text),
        r#"["01M3250WAT5819AEQBE1KKWAEB"]"#,
        "The projects whose messages reach this project's root, by their id. Others ask first.",
    )
    .or("[]")
    .project(APPROVES),
    Key::new(
        "declinedProjects",
        Kind::List(&Kind::Text),
        r#"["01M3250WAT5819AEQBE1KKWAEB"]"#,
        "The projects whose messages are dropped without a question, by their id.",
    )
    .or("[]")
    .project(APPROVES),
    Key::new(
        "theme",
        Kind::Text,
        r#""matrix-light""#,
        "The name of the colours; `auto` follows the terminal's background.",
    )
    .or(r#""auto""#),
    Key::new(
        "keys",
        Kind::Map { placeholder: "action", names: Names::Any, of: &Kind::OneOrMany },
        r#"{"quit": ["q", "ctrl-q"]}"#,
        "The key, or list of keys, of an action. An empty list leaves it without one.",
    )
    .person(PRESSES),
    Key::new("mouse", Kind::Flag, "true", "Whether clicks and the wheel go to the screen instead of the terminal.")
        .or("false")
        .person(PRESSES),
    Key::new(
        "notify",
        Kind::Object { fields: NOTIFY, rule: Rule::None },
        r#"{"desktop": true, "bell": true}"#,
        "How you are told that something waits for you while you look elsewhere.",
    )
    .person(RUNS),
    Key::new(
        "sessionKeep",
        Kind::Whole { min: 1, max: u32::MAX as u64 },
        "200",
        "How many sessions of closed tasks `mxd gc` keeps, those that were closed last. Without it: all.",
    )
    .person(KEEPS),
    Key::new(
        "durability",
        Kind::Choice(&["sync", "os"]),
        r#""sync""#,
        "When an event counts as kept: `sync` when the disk has it, `os` when the system has it (a power cut may lose it).",
    )
    .or(r#""sync""#)
    .person(KEEPS),
];

/// Keys that speak of the file and not of Matrix. They are checked, and never merged.
pub const FILE_KEYS: &[Key] = &[
    Key::new("version", Kind::Whole { min: 1, max: u64::MAX }, "1", "The format of the file. There is one, 1."),
    Key::new("$schema", Kind::Free, r#""./config.schema.json""#, "Where an editor finds the schema."),
];

const AUTH_GROUP: &[Key] = &[
    Key::new(
        "provider",
        Kind::Choice(&["anthropic", "openai", "scripted"]),
        r#""anthropic""#,
        "Which interface it speaks. `openai` also means the many servers that speak like it; `scripted` plays a script.",
    )
    .required(),
    Key::new("apiKey", Kind::Credential, r#""sk-ant-your-key""#, "The key. A local server may need none."),
    Key::new(
        "baseUrl",
        Kind::Url,
        r#""http://127.0.0.1:11434/v1""#,
        "Where it is. Without it: the provider's public address.",
    ),
    Key::new(
        "api",
        Kind::Choice(&["responses", "chat"]),
        r#""chat""#,
        "For `openai`: which of the two interfaces. Without it: `responses` at the public address, else `chat`.",
    ),
    Key::new("script", Kind::Path, r#""demo.json""#, "For `scripted`: the file to play. Without it: the one built in."),
];

const CACHE: &[Key] = &[
    Key::new("root", Kind::Choice(&["5m", "1h"]), r#""1h""#, "For the root, which often waits for its sub tasks.")
        .or(r#""1h""#),
    Key::new("child", Kind::Choice(&["5m", "1h"]), r#""5m""#, "For sub tasks.").or(r#""5m""#),
];

const MODEL: &[Key] = &[
    Key::new("window", Kind::Whole { min: 1, max: u64::MAX }, "200000", "The context window, in tokens."),
    Key::new("maxOutput", Kind::Whole { min: 1, max: u64::MAX }, "64000", "The longest answer, in tokens."),
    Key::new(
        "prices",
        Kind::Object { fields: PRICE, rule: Rule::None },
        r#"{"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite5m": 3.75, "cacheWrite1h": 6}"#,
        "Dollars for a million tokens.",
    ),
];

const PRICE: &[Key] = &[
    Key::new("input", Kind::Dollars { min: 0.0 }, "3", "Input that no cache had."),
    Key::new("output", Kind::Dollars { min: 0.0 }, "15", "Output, thinking included."),
    Key::new("cacheRead", Kind::Dollars { min: 0.0 }, "0.3", "Input read from a cache."),
    Key::new("cacheWrite5m", Kind::Dollars { min: 0.0 }, "3.75", "Input written to a cache for five minutes."),
    Key::new("cacheWrite1h", Kind::Dollars { min: 0.0 }, "6", "Input written to a cache for an hour."),
];

const MCP_SERVER: &[Key] = &[
    Key::new("command", Kind::Text, r#""npx""#, "The program to start; it speaks on its standard input and output."),
    Key::new("args", Kind::List(&Kind::Free), r#"["-y", "some-server"]"#, "The program's arguments.").or("[]"),
    Key::new(
        "env",
        Kind::Map { placeholder: "variable", names: Names::Variable, of: &Kind::Variable },
        r#"{"API_TOKEN": "your-token"}"#,
        "Variables to add to the program's environment.",
    )
    .or("{}"),
    Key::new("cwd", Kind::Path, r#""tools""#, "Where the program starts, relative to the project."),
    Key::new(
        "url",
        Kind::Url,
        r#""https://example.com/mcp""#,
        "Instead of `command`: the address of a running server.",
    ),
    Key::new(
        "headers",
        Kind::Map { placeholder: "header", names: Names::Header, of: &Kind::Header },
        r#"{"Authorization": "Bearer your-token"}"#,
        "With `url`: headers to send with every request.",
    )
    .or("{}"),
    Key::new(
        "timeoutMs",
        Kind::Whole { min: 1, max: u64::MAX },
        "60000",
        "How long one call of a tool may take, in milliseconds.",
    )
    .or("60000"),
    Key::new("disabled", Kind::Flag, "true", "Leaves the server off without removing it.").or("false"),
];

const NOTIFY: &[Key] = &[
    Key::new("desktop", Kind::Flag, "true", "Asks the terminal to show a notification.").or("true"),
    Key::new("bell", Kind::Flag, "true", "Rings the terminal's bell.").or("false"),
    Key::new(
        "command",
        Kind::Text,
        r#""notify-send mxd""#,
        "A shell command to run; it finds the sentence in the variable MXD_NOTICE.",
    ),
];
