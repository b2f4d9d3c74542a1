//! Tools, beside the programs that do nothing else.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::Outcome;
use crate::fixture;
use crate::report::{Report, Row, Target, Unit};
use crate::rounds::{Paired, paired, paired_on_disk};
use crate::tool_context;

const FOLDERS: usize = 100;
const FILES: usize = 50;
/// How often a cheap call is made in one turn.
const SPAWNS: usize = 10;
/// What a command may cost beyond the shell that runs it, in nanoseconds.
const MOST_ADDED: f64 = 1_500_000.0;

pub fn measure(report: &mut Report) -> Outcome {
    let rows = ["search, 5,000 files", "list_files, 5,000 files", "bash true", "bash true, what it adds"];
    if !rows.iter().any(|row| report.wants(row)) {
        return Ok(());
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let (root, data) = (folder.path().join("work"), folder.path().join("data"));
    std::fs::create_dir_all(&root)?;
    if rows[..2].iter().any(|row| report.wants(row)) {
        plant(&root)?;
    }
    let runtime = tokio::runtime::Runtime::new()?;
    let (context, _completions) = tool_context::context(&root, &data)?;
    let tool = |name: &str, input: &str| runtime.block_on(tool_context::run(&context, name, input)).map(drop);

    if has_rg() {
        if report.wants(rows[0]) {
            let result = paired(
                || tool("search", r#"{"pattern":"needle_[0-9]+","limit":2000}"#),
                || program(Command::new("rg").args(["-n", "needle_[0-9]+", "."]).current_dir(&root)),
            )?;
            report.add(&row(rows[0], 1, &result, "rg -n on the same tree", Target::AtMost(1.2)))?;
        }
        if report.wants(rows[1]) {
            let result = paired(
                || tool("list_files", r#"{"limit":5000}"#),
                || program(Command::new("rg").arg("--files").current_dir(&root)),
            )?;
            report.add(&row(rows[1], 1, &result, "rg --files on the same tree", Target::AtMost(1.2)))?;
        }
    } else {
        Report::skip("search and list_files", "rg is not installed: install ripgrep to compare with it")?;
    }
    if report.wants(rows[2]) || report.wants(rows[3]) {
        let result = paired_on_disk(
            || (0..SPAWNS).try_for_each(|_| tool("bash", r#"{"command":"true"}"#)),
            || (0..SPAWNS).try_for_each(|_| program(Command::new("bash").args(["-c", "true"]).current_dir(&root))),
        )?;
        report.add(&row(rows[2], SPAWNS, &result, "bash -c true", Target::None))?;
        let added = result.ours.saturating_sub(result.limit).as_nanos() as f64 / SPAWNS as f64;
        let against = "1.5 ms over bash -c true";
        report.add(&Row::of_counts(
            rows[3].to_owned(),
            Unit::NanosPerCall,
            added,
            MOST_ADDED,
            against,
            Target::AtMost(1.0),
        ))?;
    }
    Ok(())
}

/// Returns a row that says how much longer ours takes.
fn row(what: &str, calls: usize, result: &Paired, against: &str, target: Target) -> Row {
    let nanos = |time: std::time::Duration| time.as_nanos() as f64 / calls as f64;
    Row {
        what: what.to_owned(),
        ours: nanos(result.ours),
        limit: nanos(result.limit),
        unit: Unit::NanosPerCall,
        ratio: 1.0 / result.speed,
        against: against.to_owned(),
        target,
    }
}

/// Makes a tree of source files, a needle in every tenth.
fn plant(root: &Path) -> Outcome {
    let text = fixture::text(6_000);
    for folder in 0..FOLDERS {
        let folder = root.join(format!("module_{folder}"));
        std::fs::create_dir_all(&folder)?;
        for file in 0..FILES {
            let needle = if file % 10 == 0 { format!("needle_{file}\n") } else { String::new() };
            std::fs::write(folder.join(format!("part_{file}.rs")), format!("{text}{needle}"))?;
        }
    }
    Ok(())
}

fn has_rg() -> bool {
    program(Command::new("rg").arg("--version")).is_ok()
}

fn program(command: &mut Command) -> Outcome {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}").into()) }
}
