//! The entries of the table, by topic.

use super::{Key, Kind, Names, Rule};
use crate::permit::List;

const SPENDS: &str = "it decides whose account pays and which provider sees the code";
const REACHES: &str = "it holds credentials and addresses";
const RUNS: &str = "it can run a command on your machine";
const COUNTS: &str = "it decides what passes without your review";
const PRICES: &str = "prices decide when a budget is reached";
const CHOOSES: &str = "it decides what agents may do on your machine";
const KEEPS: &str = "it decides what is stored on your disk";
const PRESSES: &str = "it decides what your keys and mouse do";
const APPROVES: &str = "an approval is for one project, and only you can give it";

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
        "Model providers and their credentials, by name. API keys in the environment form the groups `env-anthropic` and `env-openai`.",
    )
    .user_only(REACHES),
    Key::new(
        "defaultAuth",
        Kind::Text,
        r#""main""#,
        "The auth group that agents use. Default: the only group, or the one from the environment.",
    )
    .user_only(SPENDS),
    Key::new("model", Kind::Text, r#""claude-sonnet-4-6""#, "The model that agents use, by its id at the provider."),
    Key::new("childAuth", Kind::Text, r#""cheap""#, "The auth group of subtasks. Default: `defaultAuth`.")
        .user_only(SPENDS),
    Key::new("childModel", Kind::Text, r#""claude-haiku-4-5""#, "The model of subtasks. Default: `model`."),
    Key::new(
        "effort",
        Kind::Text,
        r#""high""#,
        "The reasoning effort, in the provider's terms. Default: the provider's default.",
    ),
    Key::new(
        "cache",
        Kind::Object { fields: CACHE, rule: Rule::None },
        r#"{"root": "1h", "child": "5m"}"#,
        "How long the provider caches the prompt of a conversation.",
    ),
    Key::new(
        "models",
        Kind::Map { placeholder: "id", names: Names::Any, of: &Kind::Object { fields: MODEL, rule: Rule::None } },
        r#"{"my-model": {"window": 128000, "prices": {"input": 0.5, "output": 1.5}}}"#,
        "Facts about models that mxd does not know and the provider does not report, by model id.",
    )
    .user_only(PRICES),
    Key::new(
        "budgetUsd",
        Kind::Dollars { min: 0.01 },
        "5",
        "The budget of one task and its subtasks, in USD. When it is reached, the task pauses and asks. Default: no limit.",
    ),
    Key::new("maxDepth", Kind::Whole { min: 1, max: 64 }, "3", "The maximum depth of subtasks that agents may create.")
        .or("3"),
    Key::new(
        "maxTasks",
        Kind::Whole { min: 1, max: 100_000 },
        "50",
        "The number of open tasks in a project from which an agent needs your approval to create another.",
    )
    .or("200"),
    Key::new(
        "maxTasksPerTurn",
        Kind::Whole { min: 1, max: 1000 },
        "5",
        "The number of tasks that an agent may create in one turn without your approval.",
    )
    .or("20"),
    Key::new("maxRunning", Kind::Whole { min: 1, max: 1000 }, "8", "The maximum number of agents that run at the same time in a project.")
        .or("16"),
    Key::new(
        "clarifyTimeoutMs",
        Kind::Whole { min: 1, max: u64::MAX },
        "600000",
        "The time in milliseconds after which a question is answered with its default. Default: never.",
    ),
    Key::new(
        "profile",
        Kind::Text,
        r#""reviewer""#,
        "The profile of new tasks; `mxd agents` lists them. `ask`: you choose for each task. `inherit`: that of the task above. Existing tasks keep theirs.",
    )
    .or(r#""engineer""#)
    .user_only(CHOOSES),
    Key::new(
        "backend",
        Kind::Text,
        r#""claude""#,
        "Who carries out tasks whose profile names no backend: `native`, or an outside program; `mxd backends list` shows them.",
    )
    .or(r#""native""#)
    .user_only(SPENDS),
    Key::new(
        "backends",
        Kind::Map {
            placeholder: "name",
            names: Names::Backend,
            of: &Kind::Object { fields: BACKEND, rule: Rule::None },
        },
        r#"{"my-agent": {"command": "my-agent", "args": ["--acp"]}}"#,
        "Outside agent programs, by name. An entry with the name of a known program changes how that program is started.",
    )
    .user_only(RUNS),
    Key::new(
        "outsideAgents",
        Kind::Flag,
        "false",
        "Whether outside agent programs may be started at all.",
    )
    .or("true")
    .user_only(CHOOSES),
    Key::new(
        "verify",
        Kind::Text,
        r#""cargo test""#,
        "A shell command that must succeed in the worktree before a task passes and before it is merged.",
    )
    .user_only(RUNS),
    Key::new("review", Kind::Flag, "true", "Whether you review a task's work before it passes.")
        .or("false")
        .user_only(COUNTS),
    Key::new(
        "permissions",
        Kind::Object { fields: PERMISSIONS, rule: Rule::None },
        r#"{"mode": "edits", "allow": ["bash(cargo test *)"], "deny": ["read(~/.ssh/**)"]}"#,
        "What agents may do without asking. The lists of all files add up; a repository's `allow` does nothing until you add its rules to your own settings, and its `mode` counts only if it is stricter.",
    ),
    Key::new(
        "hooks",
        Kind::Map {
            placeholder: "event",
            names: Names::Any,
            of: &Kind::List(&Kind::Object { fields: HOOK_GROUP, rule: Rule::None }),
        },
        r#"{"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "~/bin/guard.sh"}]}]}"#,
        "Lifecycle hooks: commands and addresses that are called when something happens, in Claude Code's form. The hooks of all files add up; a repository's hooks run once you approve them with `mxd hooks approve`.",
    ),
    Key::new(
        "disableAllHooks",
        Kind::Flag,
        "true",
        "Whether lifecycle hooks are switched off.",
    )
    .or("false")
    .user_only(CHOOSES),
    Key::new(
        "allowedHttpHookUrls",
        Kind::List(&Kind::Text),
        r#"["https://hooks.example.com/*"]"#,
        "The addresses that lifecycle hooks may call; `*` stands for anything. Default: all.",
    )
    .user_only(REACHES),
    Key::new(
        "approvedLifecycleHooks",
        Kind::List(&Kind::Hash),
        r#"["af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"]"#,
        "The repository's lifecycle hooks that you approved, by the hash of hook and scripts. A changed one needs a new approval.",
    )
    .or("[]")
    .project(APPROVES),
    Key::new(
        "mcpServers",
        Kind::Map {
            placeholder: "name",
            names: Names::Server,
            of: &Kind::Object { fields: MCP_SERVER, rule: Rule::McpServer },
        },
        r#"{"files": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "."]}}"#,
        "MCP servers, by name. A repository's server does not start until you approve it.",
    ),
    Key::new(
        "approvedMcpServers",
        Kind::List(&Kind::Hash),
        r#"["af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"]"#,
        "The repository's servers that you approved, by the hash of their entry. A changed entry needs a new approval.",
    )
    .or("[]")
    .project(APPROVES),
    Key::new(
        "declinedMcpServers",
        Kind::List(&Kind::Hash),
        r#"["af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"]"#,
        "The repository's servers that you declined, by the hash of their entry. You are not asked about them again.",
    )
    .or("[]")
    .project(APPROVES),
    Key::new(
        "bypassConsent",
        Kind::Text,
        r#""2026-11-19""#,
        "The day on which you allowed the permission mode `bypass` in this project: `mxd permit bypass`.",
    )
    .project(APPROVES),
    Key::new(
        "approvedHooks",
        Kind::List(&Kind::Hash),
        r#"["af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"]"#,
        "The setup hooks that may run in new worktrees, by the hash of the file. A changed hook needs a new approval.",
    )
    .or("[]")
    .project(APPROVES),
    Key::new(
        "declinedHooks",
        Kind::List(&Kind::Hash),
        r#"["af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"]"#,
        "The setup hooks that you declined, by the hash of the file. You are not asked about them again.",
    )
    .or("[]")
    .project(APPROVES),
    Key::new(
        "approvedTasks",
        Kind::List(&Kind::Hash),
        r#"["af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"]"#,
        "The recurring tasks that may run, by the hash of task and file. A file changed by a pull or an editor needs a new approval.",
    )
    .or("[]")
    .project(APPROVES),
    Key::new(
        "declinedTasks",
        Kind::List(&Kind::Hash),
        r#"["af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"]"#,
        "The recurring tasks that you declined, by the hash of task and file. You are not asked about them again.",
    )
    .or("[]")
    .project(APPROVES),
    Key::new(
        "approvedProjects",
        Kind::List(&Kind::Text),
        r#"["01M3250WAT5819AEQBE1KKWAEB"]"#,
        "The projects that may send messages to this project's root, by id. Others need your approval.",
    )
    .or("[]")
    .project(APPROVES),
    Key::new(
        "declinedProjects",
        Kind::List(&Kind::Text),
        r#"["01M3250WAT5819AEQBE1KKWAEB"]"#,
        "The projects whose messages are dropped without asking you, by id.",
    )
    .or("[]")
    .project(APPROVES),
    Key::new(
        "theme",
        Kind::Text,
        r#""matrix-light""#,
        "The colour theme. `auto` follows the terminal's background.",
    )
    .or(r#""auto""#),
    Key::new(
        "keys",
        Kind::Map { placeholder: "action", names: Names::Any, of: &Kind::OneOrMany },
        r#"{"quit": ["q", "ctrl-q"]}"#,
        "The key or list of keys of an action. An empty list removes all keys.",
    )
    .user_only(PRESSES),
    Key::new("mouse", Kind::Flag, "true", "Whether the screen handles mouse clicks and the wheel instead of the terminal.")
        .or("false")
        .user_only(PRESSES),
    Key::new(
        "notify",
        Kind::Object { fields: NOTIFY, rule: Rule::None },
        r#"{"desktop": true, "bell": true}"#,
        "How you are notified that something needs you while the terminal is not focused.",
    )
    .user_only(RUNS),
    Key::new(
        "serve",
        Kind::Object { fields: SERVE, rule: Rule::None },
        r#"{"http": "7878"}"#,
        "How the server of a project can be reached.",
    )
    .user_only(REACHES),
    Key::new(
        "hosts",
        Kind::List(&Kind::Text),
        r#"["me@bigbox", "lab:2222"]"#,
        "Other machines, as ssh names them, whose projects are listed beside those of this one.",
    )
    .or("[]")
    .user_only(REACHES),
    Key::new(
        "sessionKeep",
        Kind::Whole { min: 1, max: u32::MAX as u64 },
        "200",
        "The number of most recently closed tasks whose sessions `mxd gc` keeps. Default: all.",
    )
    .user_only(KEEPS),
    Key::new(
        "durability",
        Kind::Choice(&["sync", "os"]),
        r#""sync""#,
        "When an event counts as saved: `sync` when it is on the disk, `os` when the operating system has it (a power failure may lose it).",
    )
    .or(r#""sync""#)
    .user_only(KEEPS),
    Key::new(
        "onHangup",
        Kind::Choice(&["continue", "stop"]),
        r#""stop""#,
        "What agents do when the terminal is closed or the connection to it is lost: `continue` without a screen, or `stop`.",
    )
    .or(r#""continue""#)
    .user_only(CHOOSES),
];

/// Keys about the file itself. They are validated, and never merged.
pub const FILE_KEYS: &[Key] = &[
    Key::new("version", Kind::Whole { min: 1, max: u64::MAX }, "1", "The format of the file. Always 1."),
    Key::new("$schema", Kind::Free, r#""./config.schema.json""#, "The path of the JSON Schema, for editors."),
];

const PERMISSIONS: &[Key] = &[
    Key::new(
        "mode",
        Kind::Choice(&[
            "ask",
            "edits",
            "sandboxed",
            "plan",
            "refuse",
            "bypass",
            "delegate",
            "default",
            "acceptEdits",
            "dontAsk",
            "bypassPermissions",
        ]),
        r#""edits""#,
        "The permission mode of agents. Default: what no rule mentions is granted.",
    ),
    Key::new(
        "allow",
        Kind::List(&Kind::PermissionRule(List::Allow)),
        r#"["bash(cargo test *)", "edit(src/**)"]"#,
        "Calls that need no permission.",
    )
    .or("[]"),
    Key::new(
        "ask",
        Kind::List(&Kind::PermissionRule(List::Ask)),
        r#"["bash(git push *)"]"#,
        "Calls that need your permission in every mode.",
    )
    .or("[]"),
    Key::new(
        "deny",
        Kind::List(&Kind::PermissionRule(List::Deny)),
        r#"["read(~/.ssh/**)", "bash(gh release *)"]"#,
        "Calls that are refused in every mode.",
    )
    .or("[]"),
];

const HOOK_GROUP: &[Key] = &[
    Key::new(
        "matcher",
        Kind::Matcher,
        r#""Edit|Write""#,
        "For which tools, kinds or reasons: names, or a regular expression. Default: all.",
    ),
    Key::new(
        "hooks",
        Kind::List(&Kind::Object { fields: HOOK_HANDLER, rule: Rule::HookHandler }),
        r#"[{"type": "command", "command": "~/bin/guard.sh"}]"#,
        "What is called. All of them run at the same time.",
    )
    .required(),
];

const HOOK_HANDLER: &[Key] = &[
    Key::new(
        "type",
        Kind::Choice(&["command", "http", "mcp_tool", "prompt", "agent"]),
        r#""command""#,
        "`command` or `http`. Hooks of the types `mcp_tool`, `prompt` and `agent` are read, and do not run.",
    )
    .required(),
    Key::new(
        "command",
        Kind::Free,
        r#""\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/check.sh""#,
        "The shell command; with `args`, the program.",
    ),
    Key::new(
        "args",
        Kind::List(&Kind::Free),
        r#"["${CLAUDE_PROJECT_DIR}/check.py"]"#,
        "The program's arguments. It is then started without a shell.",
    ),
    Key::new("shell", Kind::Text, r#""bash""#, "The shell. Default: `bash`."),
    Key::new("url", Kind::Url, r#""http://127.0.0.1:8080/hook""#, "For `http`: the address, which gets a POST."),
    Key::new(
        "headers",
        Kind::Map { placeholder: "header", names: Names::Header, of: &Kind::Header },
        r#"{"Authorization": "Bearer $HOOK_TOKEN"}"#,
        "For `http`: headers. `$NAME` and `${NAME}` stand for variables in `allowedEnvVars`.",
    ),
    Key::new(
        "allowedEnvVars",
        Kind::List(&Kind::Text),
        r#"["HOOK_TOKEN"]"#,
        "For `http`: the variables of the environment that headers may contain.",
    ),
    Key::new(
        "if",
        Kind::Free,
        r#""Bash(git *)""#,
        "A permission rule. The hook runs only for tool calls that may match it.",
    ),
    Key::new("timeout", Kind::Seconds, "30", "The most seconds it may take. Default: 60, for UserPromptSubmit 30."),
    Key::new(
        "onFailure",
        Kind::Choice(&["continue", "block"]),
        r#""continue""#,
        "What happens if it fails or takes too long. Default: `block` for PreToolUse and MergeBefore, else `continue`.",
    ),
    Key::new("async", Kind::Flag, "true", "Whether nothing waits for it."),
    Key::new("asyncRewake", Kind::Flag, "true", "Like `async`; if it exits with 2, the agent gets its error output."),
    Key::new("statusMessage", Kind::Free, r#""Checking""#, "What is displayed while it runs."),
    Key::new("once", Kind::Flag, "true", "Has no effect; read for compatibility."),
    Key::new("model", Kind::Free, r#""fast""#, "Has no effect; read for compatibility."),
    Key::new("prompt", Kind::Free, r#""Check this: $ARGUMENTS""#, "Has no effect; read for compatibility."),
];

const AUTH_GROUP: &[Key] = &[
    Key::new(
        "provider",
        Kind::Choice(&["anthropic", "openai", "scripted"]),
        r#""anthropic""#,
        "The API. `openai` includes all OpenAI-compatible servers; `scripted` plays a script.",
    )
    .required(),
    Key::new("apiKey", Kind::Credential, r#""sk-ant-your-key""#, "The API key. A local server may need none."),
    Key::new(
        "baseUrl",
        Kind::Url,
        r#""http://127.0.0.1:11434/v1""#,
        "The base URL. Default: the provider's public address.",
    ),
    Key::new(
        "api",
        Kind::Choice(&["responses", "chat"]),
        r#""chat""#,
        "For `openai`: which of its two APIs. Default: `responses` at the public address, else `chat`.",
    ),
    Key::new("script", Kind::Path, r#""demo.json""#, "For `scripted`: the script file. Default: a built-in script."),
];

const CACHE: &[Key] = &[
    Key::new("root", Kind::Choice(&["5m", "1h"]), r#""1h""#, "For the root, which often waits for its subtasks.")
        .or(r#""1h""#),
    Key::new("child", Kind::Choice(&["5m", "1h"]), r#""5m""#, "For subtasks.").or(r#""5m""#),
];

const MODEL: &[Key] = &[
    Key::new("window", Kind::Whole { min: 1, max: u64::MAX }, "200000", "The context window, in tokens."),
    Key::new("maxOutput", Kind::Whole { min: 1, max: u64::MAX }, "64000", "The maximum output, in tokens."),
    Key::new(
        "prices",
        Kind::Object { fields: PRICE, rule: Rule::None },
        r#"{"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite5m": 3.75, "cacheWrite1h": 6}"#,
        "Prices in USD per million tokens.",
    ),
];

const PRICE: &[Key] = &[
    Key::new("input", Kind::Dollars { min: 0.0 }, "3", "Input that is not cached."),
    Key::new("output", Kind::Dollars { min: 0.0 }, "15", "Output, including thinking."),
    Key::new("cacheRead", Kind::Dollars { min: 0.0 }, "0.3", "Input read from the cache."),
    Key::new("cacheWrite5m", Kind::Dollars { min: 0.0 }, "3.75", "Input written to the cache for five minutes."),
    Key::new("cacheWrite1h", Kind::Dollars { min: 0.0 }, "6", "Input written to the cache for an hour."),
];

const MCP_SERVER: &[Key] = &[
    Key::new("command", Kind::Text, r#""npx""#, "The program to start. It communicates over stdin and stdout."),
    Key::new("args", Kind::List(&Kind::Free), r#"["-y", "some-server"]"#, "The program's arguments.").or("[]"),
    Key::new(
        "env",
        Kind::Map { placeholder: "variable", names: Names::Variable, of: &Kind::Variable },
        r#"{"API_TOKEN": "your-token"}"#,
        "Variables added to the program's environment.",
    )
    .or("{}"),
    Key::new("cwd", Kind::Path, r#""tools""#, "The folder in which the program starts, relative to the project."),
    Key::new("url", Kind::Url, r#""https://example.com/mcp""#, "Instead of `command`: the URL of a running server."),
    Key::new(
        "headers",
        Kind::Map { placeholder: "header", names: Names::Header, of: &Kind::Header },
        r#"{"Authorization": "Bearer your-token"}"#,
        "With `url`: headers sent with every request.",
    )
    .or("{}"),
    Key::new(
        "timeoutMs",
        Kind::Whole { min: 1, max: u64::MAX },
        "60000",
        "The timeout of one tool call, in milliseconds.",
    )
    .or("60000"),
    Key::new("disabled", Kind::Flag, "true", "Disables the server without removing it.").or("false"),
];

const BACKEND: &[Key] = &[
    Key::new("command", Kind::Text, r#""my-agent""#, "The program to start. Default: that of the known program."),
    Key::new("args", Kind::List(&Kind::Free), r#"["--acp"]"#, "The program's arguments. Default: those of the known program."),
    Key::new(
        "env",
        Kind::Map { placeholder: "variable", names: Names::Variable, of: &Kind::Variable },
        r#"{"MY_AGENT_HOME": "/home/me/agent"}"#,
        "Variables added to the program's environment.",
    )
    .or("{}"),
    Key::new(
        "inherit",
        Kind::List(&Kind::Text),
        r#"["MY_AGENT_KEY"]"#,
        "Variables of your environment that the program gets although their names look like credentials. Without this it gets no key.",
    )
    .or("[]"),
    Key::new(
        "protocol",
        Kind::Choice(&["acp", "json"]),
        r#""json""#,
        "`acp`: the Agent Client Protocol. `json`: the JSON lines of a wrapper script.",
    )
    .or(r#""acp""#),
    Key::new("mode", Kind::Text, r#""default""#, "The program's own mode, by its id."),
    Key::new(
        "startMs",
        Kind::Whole { min: 1, max: u64::MAX },
        "60000",
        "How long the program may take to start and open a session, in milliseconds.",
    )
    .or("60000"),
    Key::new(
        "idleMs",
        Kind::Whole { min: 1, max: u64::MAX },
        "1800000",
        "How long the program may be silent during a turn before it is stopped, in milliseconds.",
    )
    .or("1800000"),
    Key::new("disabled", Kind::Flag, "true", "Disables the program.").or("false"),
];

const SERVE: &[Key] = &[Key::new(
    "http",
    Kind::Text,
    r#""7878""#,
    "The port or address where it serves HTTP, as with `--http`. Without TLS only on this machine. Default: none.",
)];

const NOTIFY: &[Key] = &[
    Key::new("desktop", Kind::Flag, "true", "Show a desktop notification through the terminal.").or("true"),
    Key::new("bell", Kind::Flag, "true", "Ring the terminal bell.").or("false"),
    Key::new(
        "command",
        Kind::Text,
        r#""notify-send mxd""#,
        "A shell command to run. The text is in the variable MXD_NOTICE.",
    ),
];
