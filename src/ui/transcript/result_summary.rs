//! The essential result of a tool call in a few words: `14 passed`, `3 matches`, `212 lines`, `exit 1`.
//!
//! Pure functions of the result's text. Whatever is not recognised has no summary; nothing is guessed.

use std::borrow::Cow;

use serde_json::Value;

/// The longest output line that is shown as it is.
const SHORT_LINE: usize = 32;

/// Returns the summary of a result. `name` is the readable name of the tool, `input` its arguments.
pub fn summary(name: &str, input: &str, output: &str) -> Option<String> {
    match name {
        "bash" => command(output),
        "search" => search(input, output),
        "read_file" => read(output),
        "list_files" => listed(output),
        _ if name.contains('/') => Some(output.trim().lines().count()).filter(|lines| *lines > 1).map(lines),
        _ => None,
    }
}

fn lines(count: usize) -> String {
    plural(count, "line", "lines")
}

fn plural(count: usize, one: &str, more: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { more })
}

/// Returns the result of a command: its tests, else its diagnostics, else its exit code if it failed, else its output.
fn command(text: &str) -> Option<String> {
    let (first, output) = text.split_once('\n').unwrap_or((text, ""));
    // The rest of the line says how long it took.
    let exit = first.strip_prefix("exit code: ").and_then(|rest| rest.split(' ').next()?.parse::<i32>().ok());
    let output = if exit.is_some() { output } else { text };
    let clean = without_escapes(output);
    if let Some(tests) = tests(&clean) {
        return Some(tests);
    }
    if let Some(found) = diagnostics(&clean) {
        return Some(found);
    }
    match exit {
        Some(0) => Some(match clean.trim() {
            "" => "exit 0".to_owned(),
            line if !line.contains('\n') && line.chars().count() <= SHORT_LINE => line.to_owned(),
            output => lines(output.lines().count()),
        }),
        Some(code) => Some(format!("exit {code}")),
        None => first.strip_prefix("ended by signal ").map(|signal| format!("signal {signal}")),
    }
}

/// The counts of a test run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    passed: usize,
    failed: usize,
}

impl Counts {
    fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }

    fn words(self) -> Option<String> {
        match (self.passed, self.failed) {
            (0, 0) => None,
            (passed, 0) => Some(format!("{passed} passed")),
            (0, failed) => Some(format!("{failed} failed")),
            (passed, failed) => Some(format!("{failed} failed, {passed} passed")),
        }
    }
}

/// Returns the result of the tests that a command ran.
fn tests(output: &str) -> Option<String> {
    let mut all = Counts::default();
    let mut packages = Counts::default();
    let mut is_go = false;
    for line in output.lines().map(str::trim) {
        let found = cargo_test(line).or_else(|| nextest(line)).or_else(|| pytest(line)).or_else(|| jest(line));
        if let Some(counts) = found.or_else(|| counts(line)) {
            all.add(counts);
        } else if let Some(counts) = mocha(line) {
            all.add(counts);
        } else if let Some(counts) = go_test(line) {
            is_go = true;
            all.add(counts);
        } else if let Some(counts) = go_package(line) {
            packages.add(counts);
        }
    }
    if let Some(words) = all.words().filter(|_| !is_go || all.failed > 0 || packages.failed == 0) {
        return Some(words);
    }
    match packages {
        Counts { passed: 0, failed: 0 } => None,
        Counts { passed, failed: 0 } => Some(plural(passed, "package ok", "packages ok")),
        Counts { failed, .. } => Some(plural(failed, "package failed", "packages failed")),
    }
}

/// `7 passed, 1 failed`, and nothing else in the line.
fn counts(line: &str) -> Option<Counts> {
    let known = |part: &str| {
        part.split_once(' ')
            .is_some_and(|(count, word)| is_number(count) && ["passed", "failed", "skipped"].contains(&word))
    };
    let (passed, failed) = (number_before(line, "passed")?, number_before(line, "failed").unwrap_or(0));
    line.split(", ").all(known).then_some(Counts { passed, failed })
}

/// `test result: ok. 14 passed; 0 failed; 1 ignored; …`
fn cargo_test(line: &str) -> Option<Counts> {
    let rest = line.strip_prefix("test result: ")?;
    Some(Counts { passed: number_before(rest, "passed")?, failed: number_before(rest, "failed").unwrap_or(0) })
}

/// `Summary [   0.512s] 14 tests run: 13 passed, 1 failed, 2 skipped`
fn nextest(line: &str) -> Option<Counts> {
    let rest = line.strip_prefix("Summary [")?;
    let (_, rest) = rest.split_once(" run: ")?;
    let failed = number_before(rest, "failed").unwrap_or(0) + number_before(rest, "timed").unwrap_or(0);
    Some(Counts { passed: number_before(rest, "passed").unwrap_or(0), failed })
}

/// `===== 3 failed, 14 passed, 1 skipped in 0.12s =====`, or without the bars.
fn pytest(line: &str) -> Option<Counts> {
    let line = line.trim_matches('=').trim();
    let (counts, took) = line.rsplit_once(" in ")?;
    let seconds = took.split(' ').next()?.strip_suffix('s')?;
    seconds.parse::<f64>().ok()?;
    let known = ["passed", "failed", "error", "errors", "skipped", "xfailed", "xpassed", "warning", "warnings"];
    let is_known =
        |part: &str| part.rsplit_once(' ').is_some_and(|(count, word)| is_number(count) && known.contains(&word));
    if !counts.split(", ").all(|part| is_known(part) || is_known(part.trim_end_matches(" deselected"))) {
        return None;
    }
    let of = |word| number_before(counts, word).unwrap_or(0);
    Some(Counts { passed: of("passed"), failed: of("failed") + of("error").max(of("errors")) })
}

/// Jest: `Tests:       1 failed, 13 passed, 14 total`. Vitest: `Tests  1 failed | 13 passed (14)`.
fn jest(line: &str) -> Option<Counts> {
    let rest = line.strip_prefix("Tests:").or_else(|| line.strip_prefix("Tests "))?;
    let (passed, failed) = (number_before(rest, "passed"), number_before(rest, "failed"));
    (passed.is_some() || failed.is_some()).then(|| Counts { passed: passed.unwrap_or(0), failed: failed.unwrap_or(0) })
}

/// `14 passing (20ms)`, then `1 failing`.
fn mocha(line: &str) -> Option<Counts> {
    let (count, rest) = line.split_once(' ')?;
    let count = count.parse().ok()?;
    match rest.split(' ').next()? {
        "passing" if rest == "passing" || rest.ends_with(')') => Some(Counts { passed: count, failed: 0 }),
        "failing" if rest == "failing" => Some(Counts { passed: 0, failed: count }),
        _ => None,
    }
}

/// `--- PASS: TestOne (0.00s)`. Sub tests, which are indented, count like the others.
fn go_test(line: &str) -> Option<Counts> {
    if line.starts_with("--- PASS: ") {
        Some(Counts { passed: 1, failed: 0 })
    } else if line.starts_with("--- FAIL: ") {
        Some(Counts { passed: 0, failed: 1 })
    } else {
        None
    }
}

/// The result of a package: `ok` or `FAIL`, its name and its time, separated by tabs.
fn go_package(line: &str) -> Option<Counts> {
    let mut columns = line.split('\t');
    let verdict = columns.next()?.trim();
    let (_, took) = (columns.next()?, columns.next()?);
    let is_result = took.ends_with('s') || took.starts_with('[') || took == "(cached)";
    match verdict {
        "ok" if is_result => Some(Counts { passed: 1, failed: 0 }),
        "FAIL" if is_result => Some(Counts { passed: 0, failed: 1 }),
        _ => None,
    }
}

/// Returns what a compiler or linter counted at its end: cargo and tools that word it alike.
fn diagnostics(output: &str) -> Option<String> {
    let (mut errors, mut warnings) = (0, 0);
    for line in output.lines().map(str::trim) {
        if line.starts_with("error: could not compile") || line.starts_with("error: aborting due to") {
            errors += number_before(line, "previous").unwrap_or(1);
            warnings += number_before(line, "warnings").or_else(|| number_before(line, "warning")).unwrap_or(0);
        } else if line.starts_with("warning: ") && line.contains(" generated ") {
            warnings += number_before(line, "warnings").or_else(|| number_before(line, "warning")).unwrap_or(0);
        }
    }
    match (errors, warnings) {
        (0, 0) => None,
        (0, warnings) => Some(plural(warnings, "warning", "warnings")),
        (errors, _) => Some(plural(errors, "error", "errors")),
    }
}

/// Returns the number in front of `word`.
fn number_before(text: &str, word: &str) -> Option<usize> {
    let mut before = "";
    for part in text.split([' ', ';', ',', '.', '|', '(', ')']).filter(|part| !part.is_empty()) {
        if part == word {
            return before.parse().ok();
        }
        before = part;
    }
    None
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn search(input: &str, output: &str) -> Option<String> {
    if output.starts_with("No match for ") {
        return Some("no matches".to_owned());
    }
    let mode = field(input, "mode").unwrap_or_default();
    let last = output.lines().next_back().unwrap_or_default();
    let total = match last.strip_prefix('[') {
        Some(note) if note.contains(" shown; narrow") => shown_total(note),
        Some(note) => note.strip_suffix(" in all]").and_then(|count| count.parse().ok()),
        None => None,
    };
    if mode == "files" {
        let listed = || output.lines().filter(|line| !line.starts_with('[')).count();
        return Some(plural(total.unwrap_or_else(listed), "file", "files"));
    }
    let matching = || output.lines().filter(|line| is_match_line(line)).count();
    Some(total.unwrap_or_else(matching)).filter(|count| *count > 0).map(|count| plural(count, "match", "matches"))
}

/// Reads the total of `[20 of 340 matching lines shown; …`.
fn shown_total(note: &str) -> Option<usize> {
    let (_, rest) = note.split_once(" of ")?;
    rest.strip_prefix("more than ").unwrap_or(rest).split(' ').next()?.parse().ok()
}

/// Returns true for `path:12:text`. A line of context has dashes instead.
fn is_match_line(line: &str) -> bool {
    line.split(':').nth(1).is_some_and(is_number)
}

/// Counts the lines that were read: each file begins with `path: lines 1-40 of 120`.
fn read(output: &str) -> Option<String> {
    let mut count = 0;
    for line in output.lines().filter(|line| !line.contains('\t')) {
        let Some((_, range)) = line.rsplit_once(": lines ") else { continue };
        let range = range.split(' ').next().and_then(|range| range.split_once('-'));
        if let Some((first, last)) = range.and_then(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?))) {
            let (first, last): (usize, usize) = (first, last);
            count += (last + 1).saturating_sub(first);
        }
    }
    (count > 0).then(|| lines(count))
}

fn listed(output: &str) -> Option<String> {
    if output.starts_with("No ") {
        return Some("none".to_owned());
    }
    let total = output.lines().rev().find(|line| line.contains(" shown; narrow")).and_then(shown_total);
    let count = total.unwrap_or_else(|| output.lines().filter(|line| !line.starts_with('[')).count());
    (count > 0).then(|| plural(count, "entry", "entries"))
}

fn field(input: &str, name: &str) -> Option<String> {
    let input: Value = serde_json::from_str(input).ok()?;
    input.get(name)?.as_str().map(str::to_owned)
}

/// Removes escape sequences: programs colour their summaries.
fn without_escapes(text: &str) -> Cow<'_, str> {
    if !text.contains('\u{1b}') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        if char != '\u{1b}' {
            out.push(char);
        } else if chars.next_if_eq(&'[').is_some() {
            // Parameters, up to the final byte.
            while chars.next_if(|char| !('@'..='~').contains(char)).is_some() {}
            chars.next();
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
#[path = "result_summary_tests.rs"]
mod tests;
