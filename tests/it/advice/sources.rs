//! Reads out of a source file which commands its sentences tell a user to run.

/// What a command begins with, where it stands alone in a literal.
const ALONE: [&str; 7] = ["mxd ", "git ", "chmod ", "export ", "kill ", "mkdir ", "rm "];
/// What begins like a command and is a sentence.
const SENTENCES: [&str; 10] = [
    "mxd runs on",
    "mxd {}",
    "git cannot",
    "git could not",
    "mxd sandbox: ",
    "git does not",
    "git found",
    "git {call}",
    "git {version}",
    "mxd {words}",
];

/// Returns the commands that the literals of `source` name: in backticks, or alone.
pub fn commands(source: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for literal in literals(source) {
        let quoted = literal.split('`').skip(1).step_by(2).filter(|part| is_ours(part)).map(str::to_owned);
        found.extend(quoted);
        if !literal.contains('`') && ALONE.iter().any(|start| literal.trim_start().starts_with(start)) {
            found.push(literal.trim().to_owned());
        }
    }
    found.retain(|command| !SENTENCES.iter().any(|sentence| command.starts_with(sentence)));
    found.sort();
    found.dedup();
    found
}

fn is_ours(part: &str) -> bool {
    part == "mxd" || ["mxd ", "git ", "kill "].iter().any(|start| part.starts_with(start))
}

/// Returns the text of every string literal, with lines that go on joined as the compiler joins them.
fn literals(source: &str) -> Vec<String> {
    let chars: Vec<char> = source.chars().collect();
    let at = |index: usize| chars.get(index).copied().unwrap_or('\0');
    let mut found = Vec::new();
    let mut i = 0;
    while i < chars.len() {
        match at(i) {
            '/' if at(i + 1) == '/' => {
                while i < chars.len() && at(i) != '\n' {
                    i += 1;
                }
            }
            // A character, not a lifetime.
            '\'' if at(i + 1) == '\\' => {
                i += 3;
                while i < chars.len() && at(i) != '\'' {
                    i += 1;
                }
                i += 1;
            }
            '\'' if at(i + 2) == '\'' => i += 3,
            '"' => {
                let mut text = String::new();
                i += 1;
                while i < chars.len() && at(i) != '"' {
                    if at(i) == '\\' && at(i + 1) == '\n' {
                        i += 2;
                        while at(i).is_whitespace() {
                            i += 1;
                        }
                        continue;
                    }
                    if at(i) == '\\' {
                        i += 1;
                    }
                    text.push(at(i));
                    i += 1;
                }
                i += 1;
                found.push(text);
            }
            _ => i += 1,
        }
    }
    found
}

#[test]
fn a_command_is_seen_however_its_sentence_is_broken() {
    let source = r#"
        // "`mxd never`"
        let quote = '"';
        fault.hint("look: `mxd tree`").hint("or `mxd merge \
             TASK --edit`, or say \"why\"");
        finding.run(format!("mxd config set --global {} KEY", key)).run("chmod go-rwx {}");
        Error("git cannot read {}", path); say("the `config` of git");
    "#;
    let wanted = ["chmod go-rwx {}", "mxd config set --global {} KEY", "mxd merge TASK --edit", "mxd tree"];
    assert_eq!(commands(source), wanted);
}
