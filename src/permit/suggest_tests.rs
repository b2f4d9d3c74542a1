use super::*;
use crate::permit::rule::{List, Rule, Source};
use crate::permit::shell::parse;

fn offered(command: &str) -> Vec<String> {
    let script = parse(command);
    for_project(&Call { tool: "bash", subject: Subject::Command { script: &script } }, &Places::default())
}

#[test]
fn a_prefix_is_the_words_that_name_what_the_program_does() {
    for (command, rules) in [
        ("cargo add serde --features derive", vec!["bash(cargo add *)"]),
        ("npm run build", vec!["bash(npm run build *)"]),
        ("docker compose up -d", vec!["bash(docker compose up -d)"]),
        ("mkdir x", vec!["bash(mkdir *)"]),
        ("cd src && cargo build | tail", vec!["bash(cargo build *)"]),
        ("cargo build && npm test", vec!["bash(cargo build *)", "bash(npm test *)"]),
        ("timeout 5 cargo build", vec!["bash(cargo build *)"]),
        ("FOO=1 cargo build", vec!["bash(FOO=1 cargo build)"]),
        ("npx eslint .", vec!["bash(npx eslint .)"]),
        ("git -c a=b status", vec!["bash(git -c a=b status)"]),
    ] {
        assert_eq!(offered(command), rules, "{command}");
    }
}

#[test]
fn nothing_is_offered_for_what_can_run_anything() {
    for command in [
        "python x.py",
        "bash x.sh",
        "sudo ls",
        "rm -rf x",
        "$X",
        "eval ls",
        "git $X",
        "git -v",
        "node x",
        "cargo",
        "cat x",
    ] {
        assert_eq!(offered(command), Vec::<String>::new(), "{command}");
    }
}

#[test]
fn the_exact_rules_allow_the_call_and_nothing_else() {
    let script = parse("cargo add serde && npm test -- 'a b'");
    let rules = exact(&Call { tool: "bash", subject: Subject::Command { script: &script } });
    assert_eq!(rules, ["bash(cargo add serde)", "bash(npm test -- 'a b')"]);
    let rules: Vec<Rule> = rules.iter().map(|rule| Rule::parse(rule, List::Allow, Source::Task).unwrap()).collect();
    assert!(script.commands.iter().all(|command| rules.iter().any(|rule| rule.allows(command))));
    assert!(!rules.iter().any(|rule| rule.allows(&parse("cargo add serde2").commands[0])));
}
