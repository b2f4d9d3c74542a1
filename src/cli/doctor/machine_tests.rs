use super::*;
use crate::cli::doctor::{Level, Remedy};

fn read(variables: &[(&str, &str)]) -> TerminalEnv {
    TerminalEnv::read(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
}

#[test]
fn a_terminal_is_judged_by_its_capabilities() {
    let good = read(&[("TERM", "xterm-kitty"), ("LANG", "en_GB.UTF-8")]);
    let finding = judge_terminal(&good, true);
    assert_eq!((finding.level, finding.text.as_str()), (Level::Ok, "kitty, full colours, Unicode"));
    let finding = judge_terminal(&read(&[("TERM", "dumb")]), true);
    assert_eq!((finding.level, finding.remedies), (Level::Warning, vec![Remedy::Run("mxd --plain".to_owned())]));
    let finding = judge_terminal(&read(&[("TERM", "xterm"), ("LC_ALL", "C")]), true);
    assert_eq!(finding.remedies, [Remedy::Run("export LC_ALL=C.UTF-8".to_owned())]);
    // The remedy works: with it there is no warning.
    assert_eq!(judge_terminal(&read(&[("TERM", "xterm"), ("LC_ALL", "C.UTF-8")]), true).level, Level::Ok);
    let screen = |term| read(&[("TERM", term), ("STY", "1.pts"), ("LANG", "C.UTF-8")]);
    assert_eq!(judge_terminal(&screen("screen"), true).level, Level::Warning);
    assert_eq!(judge_terminal(&screen("screen-256color"), true).level, Level::Ok);
    assert_eq!(judge_terminal(&read(&[("TERM", "dumb")]), false).level, Level::Note);
}

#[test]
fn git_is_judged_by_its_version() {
    let level = |version| judge_git(version).level;
    assert_eq!(level(health::Version(2, 30, 9)), Level::Error);
    assert_eq!(level(health::Version(2, 39, 5)), Level::Warning);
    assert_eq!(level(health::Version(2, 41, 0)), Level::Ok);
    assert_eq!(level(health::Version(3, 0, 0)), Level::Ok);
}

#[test]
fn a_disk_is_judged_by_its_free_space() {
    assert_eq!(judge_free_space(1 << 20).level, Level::Error);
    assert_eq!(judge_free_space(500 << 20).level, Level::Warning);
    assert_eq!(judge_free_space(500 << 30).level, Level::Ok);
}
