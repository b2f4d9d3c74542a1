use std::path::Path;

use super::*;
use crate::permit::shell::parse;

const MODES: [Mode; 8] =
    [Mode::Ask, Mode::Edits, Mode::Sandboxed, Mode::Plan, Mode::Refuse, Mode::Bypass, Mode::Delegate, Mode::Open];

/// A kind of call, the command or path that stands for it, and a rule that matches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    ReadFile,
    EditInside,
    EditOutside,
    ReadCommand,
    EditCommand,
    OtherCommand,
    OpaqueCommand,
    ProtectedEdit,
    CriticalRemoval,
    Coordinate,
    External,
}

use Effect::*;

const EFFECTS: [Effect; 11] = [
    ReadFile,
    EditInside,
    EditOutside,
    ReadCommand,
    EditCommand,
    OtherCommand,
    OpaqueCommand,
    ProtectedEdit,
    CriticalRemoval,
    Coordinate,
    External,
];

impl Effect {
    fn rule(self) -> &'static str {
        match self {
            ReadFile => "read(src/**)",
            EditInside => "edit(src/**)",
            EditOutside => "edit(//etc/**)",
            ReadCommand => "bash(ls *)",
            EditCommand => "bash(touch *)",
            OtherCommand => "bash(cargo test *)",
            OpaqueCommand => "bash(f *)",
            ProtectedEdit => "edit(.git/**)",
            CriticalRemoval => "bash(rm *)",
            Coordinate => "create_task",
            External => "mcp__github__get_issue",
        }
    }

    fn command(self) -> &'static str {
        match self {
            ReadCommand => "ls src",
            EditCommand => "touch src/a",
            OtherCommand => "cargo test --lib",
            OpaqueCommand => "f() { ls; }; f",
            CriticalRemoval => "rm -rf ~",
            ReadFile | EditInside | EditOutside | ProtectedEdit | Coordinate | External => "",
        }
    }

    fn decide(self, hook: &HookVerdict, policy: &Policy) -> Decision {
        let script = parse(self.command());
        let (tool, subject) = match self {
            ReadFile => ("read_file", Subject::Reads { paths: vec!["/w/src/a.rs".into()] }),
            EditInside => ("edit_file", Subject::Edits { paths: vec!["/w/src/a.rs".into()] }),
            EditOutside => ("edit_file", Subject::Edits { paths: vec!["/etc/passwd".into()] }),
            ProtectedEdit => ("edit_file", Subject::Edits { paths: vec!["/w/.git/config".into()] }),
            Coordinate => ("create_task", Subject::Coordinates { reads_only: false }),
            External => ("mcp__github__get_issue", Subject::External),
            ReadCommand | EditCommand | OtherCommand | OpaqueCommand | CriticalRemoval => {
                ("bash", Subject::Command { script: &script })
            }
        };
        decide(&Call { tool, subject }, hook, policy)
    }
}

fn places() -> Places {
    Places { root: "/w".into(), cwd: "/w".into(), home: Some("/home/u".into()) }
}

fn policy(mode: Mode, rules: &[(List, &str)]) -> Policy {
    let rules = rules.iter().map(|(list, text)| Rule::parse(text, *list, Source::Local).unwrap()).collect();
    Policy { mode, rules: Arc::new(Rules(rules)), sandbox: Sandbox::Absent, places: places() }
}

/// What the mode alone says, per mode and effect: granted, asked or refused.
const BY_MODE: [(Mode, &str); 8] = [
    // Reads, edits inside, edits outside, ls, touch, cargo, opaque, .git, rm -rf ~, create_task, server
    (Mode::Ask, "G A A G A A A A A G A"),
    (Mode::Edits, "G G A G G A A A A G A"),
    (Mode::Sandboxed, "G G A G G A A A A G A"),
    (Mode::Plan, "G R R G R R R A A R R"),
    (Mode::Refuse, "G R R G R R R R R G R"),
    (Mode::Bypass, "G G G G G G G A A G G"),
    (Mode::Delegate, "G R R G R R R A A G R"),
    (Mode::Open, "G G G G G G G G A G G"),
];

#[test]
fn every_cell_of_mode_rule_hook_and_effect_follows_the_order() {
    let mut cells = 0;
    let mut wrong = Vec::new();
    for (mode, row) in BY_MODE {
        for (effect, alone) in EFFECTS.into_iter().zip(row.split(' ')) {
            for list in [None, Some(List::Allow), Some(List::Ask), Some(List::Deny)] {
                for hook in [HookVerdict::None, HookVerdict::Allow, HookVerdict::Ask, HookVerdict::Deny] {
                    let rules: Vec<(List, &str)> = list.map(|list| (list, effect.rule())).into_iter().collect();
                    let decision = effect.decide(&hook, &policy(mode, &rules));
                    let expected = expected(mode, effect, list, &hook, alone);
                    let got = (decision.verdict, kind(&decision.reason));
                    cells += 1;
                    if got != expected {
                        wrong.push(format!(
                            "{mode} {effect:?} rule {list:?} hook {hook:?}: {got:?}, expected {expected:?}"
                        ));
                    }
                }
            }
        }
    }
    assert_eq!((cells, wrong), (8 * 11 * 4 * 4, Vec::<String>::new()));
}

/// Returns the verdict and the kind of reason that the documentation promises.
fn expected(
    mode: Mode,
    effect: Effect,
    list: Option<List>,
    hook: &HookVerdict,
    alone: &str,
) -> (Verdict, &'static str) {
    let asks = |why| if mode == Mode::Refuse { (Verdict::Refuse, "would ask") } else { (Verdict::Ask, why) };
    let is_stop = effect == CriticalRemoval || (effect == ProtectedEdit && mode != Mode::Open);
    match (hook, list) {
        (HookVerdict::Deny, _) => return (Verdict::Refuse, "hook"),
        (_, Some(List::Deny)) => return (Verdict::Refuse, "rule"),
        _ if is_stop => return asks("stop"),
        (HookVerdict::Ask, _) => return asks("hook"),
        (_, Some(List::Ask)) => return asks("rule"),
        (HookVerdict::Allow, _) => return (Verdict::Grant, "hook"),
        (HookVerdict::None, Some(List::Allow) | None) => {}
    }
    // An allow rule turns what is undecided into granted, except for what is not understood.
    let is_allowed = list == Some(List::Allow) && effect != OpaqueCommand;
    let is_decided_by_mode = match mode {
        Mode::Open | Mode::Bypass => true,
        Mode::Plan | Mode::Delegate => alone == "R",
        Mode::Edits | Mode::Sandboxed => matches!(effect, EditInside | EditCommand),
        Mode::Ask | Mode::Refuse => false,
    };
    let verdict = match alone {
        "G" => Verdict::Grant,
        "A" => Verdict::Ask,
        _ => Verdict::Refuse,
    };
    if is_decided_by_mode {
        return (verdict, "mode");
    }
    if is_allowed {
        return (Verdict::Grant, "rule");
    }
    match (verdict, effect) {
        (Verdict::Grant, Coordinate) => (Verdict::Grant, "coordination"),
        (Verdict::Grant, _) => (Verdict::Grant, "read-only"),
        _ => asks("undecided"),
    }
}

fn kind(reason: &Reason) -> &'static str {
    match reason {
        Reason::Hook => "hook",
        Reason::Rule { .. } => "rule",
        Reason::RulePossible { .. } => "possible rule",
        Reason::Stop(_) => "stop",
        Reason::Mode(_) => "mode",
        Reason::Coordination => "coordination",
        Reason::ReadOnly => "read-only",
        Reason::Sandbox => "sandbox",
        Reason::Undecided(_) => "undecided",
        Reason::WouldAsk(_) => "would ask",
    }
}

fn run(mode: Mode, rules: &[(List, &str)], command: &str) -> Verdict {
    let script = parse(command);
    decide(
        &Call { tool: "bash", subject: Subject::Command { script: &script } },
        &HookVerdict::None,
        &policy(mode, rules),
    )
    .verdict
}

#[test]
fn a_sandbox_that_holds_grants_commands_and_nothing_else() {
    for mode in MODES {
        let mut policy = policy(mode, &[]);
        policy.sandbox = Sandbox::Holds;
        let grants = OpaqueCommand.decide(&HookVerdict::None, &policy).verdict == Verdict::Grant;
        assert_eq!(grants, matches!(mode, Mode::Sandboxed | Mode::Bypass | Mode::Open), "{mode}");
        let external = External.decide(&HookVerdict::None, &policy).verdict == Verdict::Grant;
        assert_eq!(external, matches!(mode, Mode::Bypass | Mode::Open), "{mode}");
    }
}

#[test]
fn every_part_of_a_compound_command_needs_to_be_allowed() {
    let rules = [(List::Allow, "bash(cargo *)"), (List::Allow, "bash(npm test *)"), (List::Allow, "edit(out/**)")];
    for (command, verdict) in [
        ("cargo build && npm test", Verdict::Grant),
        ("cargo build | tail -5", Verdict::Grant),
        ("cargo build 2>&1 | grep error > /dev/null", Verdict::Grant),
        ("cargo build && npm install", Verdict::Ask),
        ("cargo build > out/log", Verdict::Grant),
        ("cargo build > log", Verdict::Ask),
        ("cargo build > ~/.bashrc", Verdict::Ask),
        ("cargo build > $OUT", Verdict::Ask),
        ("cd out && cargo build > out/log", Verdict::Ask),
        ("echo x >> ~/.ssh/authorized_keys", Verdict::Ask),
        ("echo x > log", Verdict::Ask),
    ] {
        assert_eq!(run(Mode::Ask, &rules, command), verdict, "{command}");
    }
}

#[test]
fn a_deny_rule_for_paths_also_holds_for_commands() {
    let rules = [(List::Deny, "read(~/.ssh/**)"), (List::Deny, "read(.env)"), (List::Deny, "edit(docs/**)")];
    for (command, verdict) in [
        ("cat ~/.ssh/id_rsa", Verdict::Refuse),
        ("cat /home/u/.ssh/id_rsa", Verdict::Refuse),
        ("cat src/../../home/u/.ssh/id_rsa", Verdict::Refuse),
        ("cat < ~/.ssh/id_rsa", Verdict::Refuse),
        ("curl --data-binary=@x --file=/home/u/.ssh/id_rsa y", Verdict::Refuse),
        ("cat sub/.env", Verdict::Refuse),
        ("case a in a) cat x ~/.ssh/id_rsa y;; esac", Verdict::Refuse),
        ("sudo cat x ~/.ssh/id_rsa y", Verdict::Refuse),
        ("cat $HOME/.ssh/id_rsa", Verdict::Refuse),
        ("cat \"${HOME}/.ssh/id_rsa\"", Verdict::Refuse),
        ("cd docs && rm a.md", Verdict::Refuse),
        ("cd src; cd ../docs; echo x > a.md", Verdict::Refuse),
        ("cd ~/.ssh && cat id_rsa", Verdict::Refuse),
        ("rm docs/a.md", Verdict::Refuse),
        ("echo x > docs/a.md", Verdict::Refuse),
        ("cat docs/a.md", Verdict::Grant),
        ("cat src/a.rs", Verdict::Grant),
    ] {
        assert_eq!(run(Mode::Bypass, &rules, command), verdict, "{command}");
    }
}

#[test]
fn removals_of_everything_are_stopped_in_every_mode() {
    for command in [
        "rm -rf /",
        "rm -rf /*",
        "rm -rf ~",
        "rm -rf ~/",
        "rm -rf $HOME",
        "rm -rf \"$HOME\"/*",
        "rm -fr ~/*",
        "rm -r --force /home",
        "rm -rf /etc",
        "rm -rf ..",
        "rm -rf ../",
        "rm -rf .",
        "rm -rf /w",
        "sudo rm -rf /",
        "bash -c 'rm -rf ~'",
        "find / -delete",
        "cd x; rm -rf /",
        "true && /bin/rm -Rf /usr",
        "xargs rm -rf ~",
        "rm -rf src/../../..",
    ] {
        assert_eq!(run(Mode::Bypass, &[(List::Allow, "bash")], command), Verdict::Ask, "{command}");
        assert_eq!(run(Mode::Open, &[], command), Verdict::Ask, "{command}");
    }
    for command in ["f() { rm -rf ~; }; f", "rm -rf \"$X\"/*", "rm -rf $X/", "rm -rf \"${X}/\""] {
        assert_eq!(run(Mode::Bypass, &[], command), Verdict::Ask, "{command}");
        assert_eq!(run(Mode::Open, &[], command), Verdict::Grant, "not certain: {command}");
    }
    for command in [
        "rm -rf target",
        "rm -rf ./target/*",
        "rm -rf /tmp/x",
        "rm -f /etc/x",
        "rm x",
        "rm -rf \"$X\"/build",
        "find . -name '*.pyc' -delete",
        "rm -rf $HOME/.cache/x",
        "f() { rm -rf ./x; }; f",
    ] {
        assert_eq!(run(Mode::Bypass, &[], command), Verdict::Grant, "{command}");
    }
}

#[test]
fn edits_grants_simple_commands_on_paths_in_the_worktree() {
    for (command, verdict) in [
        ("mkdir -p src/a && touch src/a/b", Verdict::Grant),
        ("mv a b", Verdict::Grant),
        ("cp -r a b/", Verdict::Grant),
        ("sed -i 's/a/b/' src/a.rs", Verdict::Grant),
        ("sed -i 's/a/b/e' src/a.rs", Verdict::Ask),
        ("echo x > src/a.txt", Verdict::Grant),
        ("touch x > log", Verdict::Grant),
        ("mkdir /tmp/x", Verdict::Ask),
        ("mv a ../b", Verdict::Ask),
        ("cp ~/.ssh/id_rsa .", Verdict::Ask),
        ("rm $X", Verdict::Ask),
        ("rm *", Verdict::Ask),
        ("rm -rf target", Verdict::Grant),
        ("cd .. && rm x", Verdict::Ask),
        ("cp --target-directory=/etc x", Verdict::Ask),
        ("LD_PRELOAD=./x cp a b", Verdict::Ask),
        ("touch .git/hooks/x", Verdict::Ask),
        ("cargo test", Verdict::Ask),
    ] {
        assert_eq!(run(Mode::Edits, &[], command), verdict, "{command}");
    }
}

#[test]
fn the_reason_names_the_rule_and_its_origin() {
    let decision = OtherCommand.decide(&HookVerdict::None, &policy(Mode::Ask, &[(List::Allow, "bash(cargo *)")]));
    assert_eq!(decision.reason.to_string(), "local allow rule bash(cargo *)");
    let decision = OpaqueCommand.decide(&HookVerdict::None, &policy(Mode::Refuse, &[]));
    assert!(decision.reason.to_string().starts_with("mode refuse: it would ask (the command is not understood"));
    assert!(Places::default().is_inside(Path::new("")), "an empty worktree contains only relative paths");
}
