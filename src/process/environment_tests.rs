use super::*;

fn child_variables(environment: &Environment, inherited: &[(&str, &str)]) -> BTreeMap<String, String> {
    environment
        .variables(inherited.iter().map(|(name, value)| ((*name).into(), (*value).into())))
        .into_iter()
        .map(|(name, value)| (name.into_string().unwrap(), value.into_string().unwrap()))
        .collect()
}

#[test]
fn secrets_do_not_reach_a_child_and_the_rest_does() {
    let inherited = [
        ("PATH", "/bin"),
        ("ANTHROPIC_API_KEY", "x"),
        ("ANTHROPIC_BASE_URL", "x"),
        ("OPENAI_ORG", "x"),
        ("GROQ_API_KEY", "x"),
        ("github_token", "x"),
        ("MY_CLIENT_SECRET_1", "x"),
        ("AWS_ACCESS_KEY_ID", "x"),
        ("PGPASSWORD", "x"),
        ("MXD_HOME", "x"),
        ("GIT_DIR", "x"),
        ("GIT_CONFIG_PARAMETERS", "x"),
        ("BASH_ENV", "x"),
        ("BASH_FUNC_cd%%", "x"),
        ("SSH_KEY", "x"),
        ("AZURE_DEVOPS_EXT_PAT", "x"),
        ("npm_config__auth", "x"),
        ("DB_PASS", "x"),
        ("MYSQL_PWD", "x"),
        ("SUPABASE_JWT", "x"),
        ("API_KEYS", "x"),
        ("PWD", "x"),
        ("OLDPWD", "x"),
        ("GIT_CONFIG_VALUE_7", "x"),
        ("KEYBOARD", "de"),
    ];
    let all = child_variables(&Environment::new(), &inherited);
    assert!(all.values().all(|value| value != "x"), "{all:?}");
    assert_eq!((all["PATH"].as_str(), all["KEYBOARD"].as_str()), ("/bin", "de"));
}

#[test]
fn a_listed_name_is_inherited_and_an_added_variable_wins() {
    let environment = Environment::new().inherit("GITHUB_TOKEN").with("PAGER", "less");
    let all = child_variables(&environment, &[("GITHUB_TOKEN", "mine"), ("PAGER", "most")]);
    assert_eq!((all["GITHUB_TOKEN"].as_str(), all["PAGER"].as_str()), ("mine", "less"));
}

#[test]
fn git_does_not_prompt_page_or_run_hooks() {
    let all = child_variables(&Environment::new(), &[("PAGER", "less"), ("GIT_EDITOR", "vim")]);
    assert_eq!(all["GIT_TERMINAL_PROMPT"], "0");
    assert_eq!((all["PAGER"].as_str(), all["GIT_PAGER"].as_str(), all["GIT_EDITOR"].as_str()), ("cat", "cat", "true"));
    assert_eq!(all["GIT_CONFIG_KEY_0"], "core.hooksPath");
    assert!(!child_variables(&Environment::new().hooks(GitHooks::Run), &[]).contains_key("GIT_CONFIG_COUNT"));
}

#[test]
fn the_users_ssh_command_is_inherited() {
    let all = child_variables(&Environment::new(), &[("GIT_SSH_COMMAND", "ssh -i key")]);
    assert_eq!(all["GIT_SSH_COMMAND"], "ssh -i key");
    assert!(
        !child_variables(&Environment::new(), &[]).contains_key("GIT_SSH_COMMAND"),
        "core.sshCommand stays in force"
    );
}

#[test]
fn a_password_in_a_url_is_a_secret_whatever_the_name_says() {
    let secret = ["postgres://me:hunter2@db/x", "a=1 https://u:p@h, b", "redis://:p@h:6379"];
    for value in secret {
        assert!(
            !child_variables(&Environment::new(), &[("DATABASE_URL", value)]).contains_key("DATABASE_URL"),
            "{value}"
        );
    }
    for value in ["http://proxy:8080", "https://me@host/a:b@c", "ssh://git@host:22/x", "me:you@here"] {
        assert_eq!(child_variables(&Environment::new(), &[("SOME_URL", value)])["SOME_URL"], value);
    }
}

#[test]
fn the_ssh_agent_socket_and_git_settings_are_inherited() {
    let harmless =
        [("SSH_AUTH_SOCK", "/s"), ("GIT_CONFIG_GLOBAL", "/g"), ("GIT_CONFIG_SYSTEM", "/y"), ("GIT_AUTHOR_NAME", "me")];
    let all = child_variables(&Environment::new(), &harmless);
    assert!(harmless.iter().all(|(name, value)| all[*name] == *value), "{all:?}");
}

#[test]
fn a_value_that_looks_like_a_credential_is_scrubbed_whatever_its_name() {
    let inherited = [
        ("http_proxy", "ann:hunter2@proxy:8080"),
        ("ALL_PROXY", "socks5://ann:hunter2@proxy:1080"),
        ("SLACK_URL", "https://hooks.slack.com/services/T0/B0/xyz"),
        ("CONNECTION", "Server=db;User Id=sa;Password=hunter2;"),
        ("GO_DSN", "ann:hunter2@tcp(db:3306)/shop"),
        ("SENTRY", "https://0123456789abcdef0123456789abcdef@o1.ingest.sentry.io/1"),
        ("DEPLOY", "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----"),
        ("HEADER", "Authorization: Bearer abcdefgh12345678"),
    ];
    let all = child_variables(&Environment::new(), &inherited);
    for (name, _) in inherited {
        assert!(!all.contains_key(name), "{name}");
    }
}

#[test]
fn a_known_key_is_scrubbed_under_any_name_and_found_for_masking() {
    known_secrets::remember(["known-key-0123456789-of-environment-tests".to_owned()]);
    let inherited = [("NOTES", "x known-key-0123456789-of-environment-tests y")];
    assert!(!child_variables(&Environment::new(), &inherited).contains_key("NOTES"));
    let variables = [
        ("MY_API_KEY", "abcdef0123456789"),
        ("MXD_HOME", "/data"),
        ("OPENAI_BASE_URL", "https://gateway.example.org/v1"),
        ("PATH", "/bin"),
    ];
    let values = secret_values(variables.map(|(name, value)| (name.into(), value.into())));
    assert_eq!(values, ["abcdef0123456789"]);
}

#[test]
fn ordinary_variables_pass() {
    let ordinary = [
        ("PATH", "/home/ann/.cargo/bin:/usr/bin"),
        ("HOME", "/home/ann"),
        ("LANG", "en_US.UTF-8"),
        ("USER", "ann"),
        ("SHELL", "/bin/zsh"),
        ("CARGO_HOME", "/home/ann/.cargo"),
        ("RUSTFLAGS", "-C target-cpu=native"),
        ("JAVA_HOME", "/usr/lib/jvm/java-21"),
        ("NODE_OPTIONS", "--max-old-space-size=4096"),
        ("GOPROXY", "https://proxy.golang.org,direct"),
        ("HTTPS_PROXY", "http://proxy.example.org:3128"),
        ("NO_PROXY", "localhost,127.0.0.1,.example.org"),
        ("DOCKER_HOST", "unix:///run/docker.sock"),
        ("DATABASE_URL", "postgres://localhost/shop"),
        ("LS_COLORS", "rs=0:di=01;34:ln=01;36"),
        ("SSH_AUTH_SOCK", "/run/user/1000/agent"),
        ("TZ", "Europe/Berlin"),
        ("VIRTUAL_ENV", "/home/ann/app/.venv"),
        ("XDG_CONFIG_HOME", "/home/ann/.config"),
    ];
    let all = child_variables(&Environment::new(), &ordinary);
    for (name, value) in ordinary {
        assert_eq!(all.get(name).map(String::as_str), Some(value), "{name}");
    }
}
