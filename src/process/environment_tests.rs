use super::*;

fn seen(environment: &Environment, inherited: &[(&str, &str)]) -> BTreeMap<String, String> {
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
    let all = seen(&Environment::new(), &inherited);
    assert!(all.values().all(|value| value != "x"), "{all:?}");
    assert_eq!((all["PATH"].as_str(), all["KEYBOARD"].as_str()), ("/bin", "de"));
}

#[test]
fn a_kept_name_is_inherited_and_an_added_one_wins() {
    let environment = Environment::new().keep("GITHUB_TOKEN").with("PAGER", "less");
    let all = seen(&environment, &[("GITHUB_TOKEN", "mine"), ("PAGER", "most")]);
    assert_eq!((all["GITHUB_TOKEN"].as_str(), all["PAGER"].as_str()), ("mine", "less"));
}

#[test]
fn nothing_asks_pages_or_runs_a_hook() {
    let all = seen(&Environment::new(), &[("PAGER", "less"), ("GIT_EDITOR", "vim")]);
    assert_eq!(all["GIT_TERMINAL_PROMPT"], "0");
    assert_eq!((all["PAGER"].as_str(), all["GIT_PAGER"].as_str(), all["GIT_EDITOR"].as_str()), ("cat", "cat", "true"));
    assert_eq!(all["GIT_CONFIG_KEY_0"], "core.hooksPath");
    assert!(!seen(&Environment::new().hooks(GitHooks::Run), &[]).contains_key("GIT_CONFIG_COUNT"));
}

#[test]
fn a_persons_own_ssh_command_stays() {
    let all = seen(&Environment::new(), &[("GIT_SSH_COMMAND", "ssh -i key")]);
    assert_eq!(all["GIT_SSH_COMMAND"], "ssh -i key");
    assert!(!seen(&Environment::new(), &[]).contains_key("GIT_SSH_COMMAND"), "core.sshCommand stays in force");
}

#[test]
fn a_password_in_a_url_is_a_secret_whatever_the_name_says() {
    let secret = ["postgres://me:hunter2@db/x", "a=1 https://u:p@h, b", "redis://:p@h:6379"];
    for value in secret {
        assert!(!seen(&Environment::new(), &[("DATABASE_URL", value)]).contains_key("DATABASE_URL"), "{value}");
    }
    for value in ["http://proxy:8080", "https://me@host/a:b@c", "ssh://git@host:22/x", "me:you@here"] {
        assert_eq!(seen(&Environment::new(), &[("SOME_URL", value)])["SOME_URL"], value);
    }
}

#[test]
fn where_the_agents_keys_and_the_persons_git_settings_are_is_no_secret() {
    let harmless =
        [("SSH_AUTH_SOCK", "/s"), ("GIT_CONFIG_GLOBAL", "/g"), ("GIT_CONFIG_SYSTEM", "/y"), ("GIT_AUTHOR_NAME", "me")];
    let all = seen(&Environment::new(), &harmless);
    assert!(harmless.iter().all(|(name, value)| all[*name] == *value), "{all:?}");
}
