use super::*;
use crate::permit::call::Places;
use crate::permit::shell::parse;

fn rule(text: &str, list: List) -> Rule {
    Rule::parse(text, list, Source::Local).unwrap()
}

fn allows(rule_text: &str, command: &str) -> bool {
    let script = parse(command);
    let rule = rule(rule_text, List::Allow);
    let runs = |command: &&Command| command.role == shell::Role::Runs;
    script.opaque.is_none() && script.commands.iter().filter(runs).all(|command| rule.allows(command))
}

fn catches(rule_text: &str, command: &str) -> Match {
    let rule = rule(rule_text, List::Deny);
    parse(command).commands.iter().map(|command| rule.catches(&CommandTexts::of(command))).max().unwrap_or(Match::No)
}

#[test]
fn an_allow_rule_matches_what_it_says_and_no_published_bypass() {
    for (rule, command, expected) in [
        ("bash(cargo test *)", "cargo test", true),
        ("bash(cargo test *)", "cargo test --lib", true),
        ("Bash(cargo test:*)", "cargo test --lib", true),
        ("bash(cargo test *)", "timeout 60 cargo test", true),
        ("bash(cargo test *)", "bash -c 'cargo test'", true),
        ("bash(cargo test *)", "RUST_LOG=debug cargo test", true),
        ("bash(cargo test *)", "cargo test && cargo test", true),
        ("bash(git commit -m \"a b\")", "git commit -m 'a b'", true),
        ("bash(ls)", "'ls'", true),
        // Strings that only begin in the same way.
        ("bash(cargo test *)", "cargo testing", false),
        ("bash(git status *)", "git status; rm x", false),
        ("bash(git status *)", "git status && rm x", false),
        ("bash(git status *)", "git status | rm x", false),
        ("bash(git status *)", "git status & rm x", false),
        ("bash(git status *)", "git status\nrm x", false),
        ("bash(git status *)", "git status $(rm x)", false),
        ("bash(git status *)", "git status `rm x`", false),
        ("bash(git status *)", "git status <(rm x)", false),
        ("bash(echo *)", "echo \"$(rm x)\"", false),
        ("bash(npm *)", "X=$(rm x) npm -v", false),
        ("bash(npm *)", "NODE_OPTIONS=--require=./x npm test", false),
        ("bash(ls *)", "A[$(rm x)]=1 ls", false),
        ("bash(ls *)", "LD_PRELOAD=./x.so ls", false),
        ("bash(ls *)", "PATH=. ls", false),
        ("bash(git *)", "GIT_SSH_COMMAND=./x git fetch", false),
        ("bash(cargo *)", "RUSTC_WRAPPER=./x cargo build", false),
        ("bash(cargo *)", "PATH=.; cargo build", false),
        ("bash(cargo *)", "export PATH=.; cargo build", false),
        ("bash(echo *)", "echo x $'\\n' rm", false),
        ("bash(find *)", "find . -exec rm {} \\;", false),
        ("bash(find *)", "find . -delete", false),
        ("bash(find *)", "find . -fprintf x y", false),
        ("bash(find *)", "find . \\-exec rm {} \\;", false),
        ("bash(xargs *)", "ls | xargs rm", false),
        ("bash(rg *)", "rg --pre ./x y", false),
        ("bash(rg *)", "rg --pr=./x y", false),
        ("bash(sort *)", "sort -o out in", false),
        ("bash(sort *)", "sort -uo out in", false),
        ("bash(sort *)", "sort --ou=out in", false),
        ("bash(sort *)", "sort --compress-program=./x in", false),
        ("bash(sed *)", "sed 's/a/b/e' x", false),
        ("bash(sed *)", "sed -i 's/a/b/' x", false),
        ("bash(sed *)", "sed 's/a/b/w out' x", false),
        ("bash(sed *)", "sed 1e x", false),
        ("bash(sed *)", "sed -n 5,10p x", true),
        ("bash(sed *)", "sed s/a/b/g x", true),
        ("bash(awk *)", "awk 'BEGIN{system(\"rm x\")}'", false),
        ("bash(tar *)", "tar -xf a --to-command=./x", false),
        ("bash(tar *)", "tar cf a b --checkpoint-action=exec=./x", false),
        ("bash(curl *)", "curl -o ~/.bashrc x", false),
        ("bash(curl *)", "curl -K x", false),
        ("bash(curl *)", "curl -sO x", false),
        ("bash(curl *)", "curl https://docs.rs", true),
        ("bash(git *)", "git -c core.pager=./x log", false),
        ("bash(git *)", "git --exec-path=. log", false),
        ("bash(git *)", "git rebase -x ./x main", false),
        ("bash(git *)", "git rebase --exec=./x main", false),
        ("bash(git *)", "git bisect run ./x", false),
        ("bash(git *)", "git submodule foreach ./x", false),
        ("bash(git *)", "git config alias.x '!rm x'", false),
        ("bash(git *)", "git diff --output=x", false),
        ("bash(git *)", "git grep -O./x y", false),
        ("bash(git *)", "git switch -c new", true),
        ("bash(git *)", "git $X", false),
        ("bash(git log *)", "git log \"$X\"", false),
        ("bash(npx *)", "npx eslint", false),
        ("bash(npx eslint)", "npx eslint", true),
        ("bash(uv *)", "uv run ./x", false),
        ("bash(docker *)", "docker run x", false),
        ("bash(docker *)", "docker ps", true),
        ("bash(ssh *)", "ssh host rm x", false),
        ("bash(sudo *)", "sudo rm x", false),
        ("bash(make *)", "make --eval=x", false),
        ("bash(cargo *)", "cargo --config x build", false),
        ("bash(ls *)", "./ls", false),
        ("bash(ls *)", "/tmp/ls", false),
        ("bash(ls *)", "'ls x'", false),
        ("bash(cargo test)", "cargo test --lib", false),
        ("bash(timeout *)", "timeout 5 rm x", false),
        ("bash(cargo test *)", "./timeout 5 cargo test", false),
        ("bash(bash *)", "bash -c 'rm x'", false),
    ] {
        assert_eq!(allows(rule, command), expected, "{rule} / {command}");
    }
}

#[test]
fn a_deny_rule_catches_a_command_however_it_is_wrapped() {
    for command in [
        "rm x",
        "rm",
        "/bin/rm x",
        "r''m x",
        "\\rm x",
        "X=1 rm x",
        "sudo rm x",
        "sudo -u root rm x",
        "timeout 5 rm x",
        "env A=1 rm x",
        "nice nohup rm x",
        "command rm x",
        "bash -c 'rm x'",
        "bash -c \"bash -c 'rm x'\"",
        "find . -exec rm {} \\;",
        "ls | xargs rm",
        "echo $(rm x)",
        "echo `rm x`",
        "cat <(rm x)",
        "eval 'rm x'",
        "eval \"rm $X\"",
        "trap 'rm x' EXIT",
        "f() { rm x; }; f",
        "case a in a) rm x;; esac",
        "watch rm x",
        "flock f rm x",
        "if true; then rm x; fi",
        "ls\nrm x",
        "ls \\\n&& rm x",
        "busybox rm x",
    ] {
        assert_eq!(catches("bash(rm *)", command), Match::Yes, "{command}");
    }
    for command in ["echo rm x", "rmdir x", "cargo rm x", "git rm x"] {
        assert_eq!(catches("bash(rm *)", command), Match::No, "{command}");
    }
    assert_eq!(catches("bash(aws *)", "AWS_PROFILE=p aws s3 ls"), Match::Yes);
}

#[test]
fn an_expansion_that_could_be_the_denied_word_is_possible() {
    for (command, expected) in [
        ("git $X", Match::Maybe),
        ("git \"$X\" origin", Match::Maybe),
        ("git pu$X", Match::Maybe),
        ("git p\"$X\" origin", Match::Maybe),
        ("git log $X", Match::No),
        ("git l\"$X\"", Match::No),
        ("git push $X", Match::Yes),
    ] {
        assert_eq!(catches("bash(git push *)", command), expected, "{command}");
    }
}

#[test]
fn names_of_tools_are_read_in_both_spellings() {
    for text in [
        "bash",
        "Bash(*)",
        "Read(./x)",
        "Edit",
        "Write(src/**)",
        "WebFetch(domain:docs.rs)",
        "mcp__github__get_*",
        "create_task",
    ] {
        assert!(Rule::parse(text, List::Allow, Source::Global).is_ok(), "{text}");
    }
    assert_eq!(Rule::parse("bash(x", List::Allow, Source::Global), Err(RuleError::Unclosed("bash(x".to_owned())));
    assert_eq!(Rule::parse("Bsh(x)", List::Deny, Source::Global), Err(RuleError::UnknownTool("Bsh".to_owned())));
    assert_eq!(Rule::parse("mcp__*", List::Allow, Source::Global), Err(RuleError::TooWide("mcp__*".to_owned())));
    assert!(Rule::parse("mcp__*", List::Deny, Source::Global).is_ok());
    assert!(rule("mcp__github__get_*", List::Allow).matches_tool("mcp__github__get_issue"));
    assert!(!rule("mcp__github__get_*", List::Allow).matches_tool("mcp__github__set_issue"));
}

#[test]
fn a_host_rule_matches_the_host_and_only_below_a_star() {
    let wide = rule("network(*.docs.rs)", List::Allow);
    for (host, expected) in [
        ("a.docs.rs", true),
        ("A.Docs.RS.", true),
        ("docs.rs", false),
        ("xdocs.rs", false),
        ("a.docs.rs.evil.org", false),
    ] {
        assert_eq!(wide.matches_host(host), expected, "{host}");
    }
    assert!(rule("WebFetch(domain:docs.rs)", List::Allow).matches_host("docs.rs"));
}

#[test]
fn path_rules_begin_at_the_file_system_the_home_or_the_worktree() {
    let places = Places { root: "/w".into(), cwd: "/w/sub".into(), home: Some("/home/u".into()) };
    for (text, path, expected) in [
        ("edit(src/**)", "/w/src/a.rs", true),
        ("edit(/src/**)", "/w/src/a.rs", true),
        ("edit(src/**)", "/w/sub/src/a.rs", false),
        ("edit(*.rs)", "/w/a/b.rs", true),
        ("edit(//etc/**)", "/etc/passwd", true),
        ("edit(~/x/**)", "/home/u/x/y", true),
        ("edit", "/anything", true),
    ] {
        assert_eq!(
            rule(text, List::Allow).matches_path(Access::Edit, &places.view(Path::new(path))),
            expected,
            "{text}"
        );
    }
    assert!(rule("read(~/.ssh/**)", List::Deny).matches_path(Access::Edit, &places.view(Path::new("/home/u/.ssh/x"))));
    assert!(
        !rule("read(~/.ssh/**)", List::Allow).matches_path(Access::Edit, &places.view(Path::new("/home/u/.ssh/x")))
    );
}

#[test]
fn a_wider_rule_of_the_same_list_covers_a_narrower_one() {
    let rule = |text: &str| Rule::parse(text, List::Allow, Source::Local).unwrap();
    for (wide, narrow, covers) in [
        ("bash(cargo *)", "bash(cargo test *)", true),
        ("bash(cargo *)", "bash(cargo test --lib)", true),
        ("bash", "bash(cargo test *)", true),
        ("mcp__github__*", "mcp__github__get_issue", true),
        ("bash(cargo test *)", "bash(cargo *)", false),
        ("bash(cargo *)", "bash(cargo-audit *)", false),
        ("bash(cargo *)", "bash(cargo *)", false),
        ("edit(src/**)", "bash(cargo *)", false),
    ] {
        assert_eq!(rule(wide).covers(&rule(narrow)), covers, "{wide} {narrow}");
    }
    assert!(!Rule::parse("bash(cargo *)", List::Deny, Source::Local).unwrap().covers(&rule("bash(cargo test *)")));
}
