//! The known programs and what is special about each, as data.
//!
//! What a program announces about itself wins; this table says what no announcement covers. Measured with the versions
//! in `tested`. A program that is not here gets [`Quirks::UNKNOWN`].

/// A known program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// The name of the backend.
    pub name: &'static str,
    /// The name for users.
    pub label: &'static str,
    /// The program that speaks the protocol.
    pub command: &'static str,
    pub args: &'static [&'static str],
    /// Another program that users may have instead, which does not speak it.
    pub without_adapter: Option<&'static str>,
    /// The command that installs it, with the version that was tested.
    pub install: &'static str,
    /// The command with which the user logs in.
    pub login: &'static str,
    /// The first part or parts of the versions that were tested.
    pub tested: &'static str,
    pub quirks: Quirks,
}

/// What no announcement of a program covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub struct Quirks {
    /// Variables for the program.
    pub env: &'static [(&'static str, &'static str)],
    /// Files in the user's home that exist once the user has logged in. One of them is enough. Empty: unknown.
    pub login_files: &'static [&'static str],
    /// How our tools stay visible and need no permission in the program.
    pub tools: ToolDoor,
    /// `session/new` needs the git folders of a worktree as additional directories.
    pub git_folders: bool,
    /// The mode that the program is put into, if it has it.
    pub mode: Option<&'static str>,
    /// What `usage` of a prompt's result counts.
    pub usage: UsageScope,
    /// The program reports what it has cost.
    pub cost: bool,
    /// After a rejected call the turn is over and the model has not learnt the reason.
    pub reject_ends_turn: bool,
    /// The program can continue a session only in the folder where it began.
    pub session_needs_folder: bool,
    /// A failure of the model API arrives as a normal end of the turn. The text begins like this.
    pub error_text: &'static [&'static str],
    /// Whether the program may use our file and terminal methods.
    pub client_methods: bool,
    /// The program takes messages during a turn.
    pub steer: bool,
}

/// How our tools reach a program, and what keeps it from hiding them behind a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolDoor {
    /// Nothing special.
    Plain,
    /// Options of Claude Code in `_meta`.
    ClaudeOptions,
    /// `CODEX_CONFIG` in the environment.
    CodexConfig,
}

/// What the usage in a prompt's result counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsageScope {
    /// The turn.
    Turn,
    /// The last request of the turn: a lower bound.
    LastStep,
    /// The session so far.
    Session,
}

impl Quirks {
    /// What is assumed of a program that is not in the table.
    pub const UNKNOWN: Self = Self {
        env: &[],
        login_files: &[],
        tools: ToolDoor::Plain,
        git_folders: false,
        mode: None,
        usage: UsageScope::Turn,
        cost: false,
        reject_ends_turn: false,
        session_needs_folder: false,
        error_text: &[],
        client_methods: true,
        steer: false,
    };
}

/// Variables that tell a program that it runs inside another agent, or that the npm that started it left behind.
pub const NESTING: &[&str] = &[
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_CODE_SESSION*",
    "CODEX_SANDBOX*",
    "CODEX_THREAD_ID",
    "CODEX_MANAGED*",
    "GEMINI_CLI",
    "QWEN_CODE",
    "OPENCODE",
    "OPENCODE_PID",
    "CURSOR_AGENT",
    "CURSOR_TRACE_ID",
    "COPILOT_CLI",
    "AGENT",
    "npm_*",
    "INIT_CWD",
];

/// Every known program.
pub const KNOWN: &[Known] = &[
    Known {
        name: "claude",
        label: "Claude Code",
        command: "claude-agent-acp",
        args: &[],
        without_adapter: Some("claude"),
        install: "npm install -g @agentclientprotocol/claude-agent-acp@0.99.1",
        login: "claude-agent-acp --cli auth login",
        tested: "0.99",
        quirks: Quirks {
            env: &[("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1")],
            login_files: &[".claude/.credentials.json", ".claude.json"],
            tools: ToolDoor::ClaudeOptions,
            cost: true,
            client_methods: false,
            steer: true,
            ..Quirks::UNKNOWN
        },
    },
    Known {
        name: "codex",
        label: "Codex",
        command: "codex-acp",
        args: &[],
        without_adapter: Some("codex"),
        install: "npm install -g @agentclientprotocol/codex-acp@2.6.0",
        login: "codex login",
        tested: "2.6",
        quirks: Quirks {
            env: &[("INITIAL_AGENT_MODE", "workspace-write"), ("NO_BROWSER", "1")],
            login_files: &[".codex/auth.json", ".codex/config.toml"],
            tools: ToolDoor::CodexConfig,
            git_folders: true,
            reject_ends_turn: true,
            error_text: &["unexpected status ", "stream error", "stream disconnected", "{\"error\""],
            client_methods: false,
            steer: true,
            ..Quirks::UNKNOWN
        },
    },
    Known {
        name: "gemini",
        label: "Gemini CLI",
        command: "gemini",
        args: &["--acp"],
        without_adapter: None,
        install: "npm install -g @google/gemini-cli@0.61.0",
        login: "gemini",
        tested: "0.61",
        quirks: Quirks {
            env: &[("GEMINI_CLI_TRUST_WORKSPACE", "true")],
            login_files: &[".gemini/oauth_creds.json", ".gemini/settings.json"],
            session_needs_folder: true,
            client_methods: false,
            ..Quirks::UNKNOWN
        },
    },
    Known {
        name: "opencode",
        label: "OpenCode",
        command: "opencode",
        args: &["acp"],
        without_adapter: None,
        install: "npm install -g opencode-ai@1.18.33",
        login: "opencode auth login",
        tested: "1.18",
        quirks: Quirks {
            env: &[("OPENCODE_DISABLE_AUTOUPDATE", "1")],
            login_files: &[".local/share/opencode/auth.json", ".config/opencode/opencode.json"],
            usage: UsageScope::LastStep,
            cost: true,
            reject_ends_turn: true,
            client_methods: false,
            ..Quirks::UNKNOWN
        },
    },
    Known {
        name: "copilot",
        label: "Copilot CLI",
        command: "copilot",
        args: &["--acp"],
        without_adapter: None,
        install: "npm install -g @github/copilot@1.0.102",
        login: "copilot login",
        tested: "1.0",
        quirks: Quirks {
            login_files: &[".copilot/config.json"],
            usage: UsageScope::Session,
            reject_ends_turn: true,
            error_text: &["Error: "],
            client_methods: false,
            ..Quirks::UNKNOWN
        },
    },
    Known {
        name: "qwen",
        label: "Qwen Code",
        command: "qwen",
        args: &["--acp"],
        without_adapter: None,
        install: "npm install -g @qwen-code/qwen-code@0.24.4",
        login: "qwen",
        tested: "0.24",
        quirks: Quirks {
            login_files: &[".qwen/oauth_creds.json", ".qwen/settings.json"],
            mode: Some("default"),
            reject_ends_turn: true,
            session_needs_folder: true,
            client_methods: false,
            ..Quirks::UNKNOWN
        },
    },
    Known {
        name: "cursor",
        label: "Cursor",
        command: "cursor-agent",
        args: &["acp"],
        without_adapter: None,
        install: "curl https://cursor.com/install -fsS | bash",
        login: "cursor-agent login",
        tested: "",
        quirks: Quirks { login_files: &[".cursor/cli-config.json"], ..Quirks::UNKNOWN },
    },
];

pub fn find(name: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.name == name)
}

impl Known {
    /// Returns true if a version is one that was tested, or cannot be compared.
    pub fn is_tested(&self, version: &str) -> bool {
        self.tested.is_empty() || version.is_empty() || {
            let major = |text: &str| text.split('.').next().unwrap_or_default().to_owned();
            major(self.tested) == major(version)
        }
    }
}
