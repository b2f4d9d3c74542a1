//! Explains why a text was not found: the most similar lines, and how they differ.

use std::fmt::Write as _;

use crate::base::text::headline;

/// With more comparisons than this, only the first line of the text is searched for.
const EFFORT: usize = 20_000_000;
/// How many lines are compared letter by letter.
const LETTERED_LINES: usize = 20_000;
const LONGEST_LETTERED: usize = 400;
/// Less similar lines are not mentioned.
const ALIKE: f64 = 0.6;
const SHOWN: usize = 200;

/// Returns the sentence that describes the lines nearest to `wanted`.
pub(super) fn explain(text: &[u8], wanted: &str) -> String {
    let text = String::from_utf8_lossy(text);
    if text.is_empty() {
        return "old_string was not found: the file is empty.".to_owned();
    }
    if numbered(wanted) && !numbered(&text) {
        return "old_string was not found: it seems to contain the line numbers that read_file shows; leave them out."
            .to_owned();
    }
    let lines: Vec<&str> = text.split('\n').collect();
    let sought: Vec<&str> = wanted.strip_suffix('\n').unwrap_or(wanted).split('\n').collect();
    let Some(at) = same_but_for_form(&lines, &sought).or_else(|| most_alike(&lines, &sought)) else {
        return "old_string was not found, and nothing in the file resembles it. Read the file again.".to_owned();
    };
    let found = &lines[at..(at + sought.len()).min(lines.len())];
    let last = at + found.len();
    let place = if found.len() == 1 { format!("line {last}") } else { format!("lines {}-{last}", at + 1) };
    let mut out = format!("old_string was not found. The nearest is {place}");
    let mut kinds: Vec<&str> = Vec::new();
    for (found, sought) in found.iter().zip(&sought).filter(|(found, sought)| found != sought) {
        for kind in differences(found, sought) {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
    }
    if !kinds.is_empty() {
        let _ = write!(out, ", which differs in {}", kinds.join(", "));
    }
    out.push('.');
    let pairs = found.iter().zip(&sought).enumerate().filter(|(_, (found, sought))| found != sought);
    for (offset, (found, sought)) in pairs.take(3) {
        let number = at + offset + 1;
        let _ = write!(out, "\n  line {number} in the file: {}", quoted(found));
        let _ = write!(out, "\n  {:width$} you gave:    {}", "", quoted(sought), width = number.to_string().len() + 4);
    }
    if found.len() < sought.len() {
        let _ = write!(out, "\n  The file ends before the rest of it.");
    }
    out
}

/// Quotes a line so that all whitespace is visible, cut if it is long.
fn quoted(line: &str) -> String {
    format!("{:?}", headline_keeping_indent(line))
}

fn headline_keeping_indent(line: &str) -> String {
    if line.chars().count() <= SHOWN { line.to_owned() } else { headline(line, SHOWN) }
}

fn numbered(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty()).peekable();
    lines.peek().is_some()
        && lines.all(|line| {
            let rest = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
            rest.starts_with('\t') && rest.len() < line.trim_start().len()
        })
}

/// Finds a run of lines that is equal when whitespace, line ends and the shape of quotes are ignored.
fn same_but_for_form(lines: &[&str], sought: &[&str]) -> Option<usize> {
    let plain: Vec<String> = lines.iter().map(|line| normal(line)).collect();
    let wanted: Vec<String> = sought.iter().map(|line| normal(line)).collect();
    if wanted.iter().all(String::is_empty) {
        return None;
    }
    // The first and last line of a text may be parts of lines.
    let fits = |at: usize| {
        let window = &plain[at..at + wanted.len()];
        let last = wanted.len() - 1;
        window.iter().zip(&wanted).enumerate().all(|(index, (line, wanted))| match index {
            0 if last == 0 => line.contains(wanted.as_str()),
            0 => line.ends_with(wanted.as_str()),
            index if index == last => line.starts_with(wanted.as_str()),
            _ => line == wanted,
        })
    };
    (0..(plain.len() + 1).saturating_sub(wanted.len())).find(|at| fits(*at))
}

fn normal(line: &str) -> String {
    line.chars().filter(|c| !c.is_whitespace()).map(straight).collect()
}

fn straight(c: char) -> char {
    match c {
        '\u{2018}' | '\u{2019}' | '\u{201b}' | '`' | '"' | '\u{201c}' | '\u{201d}' => '\'',
        '\u{2010}'..='\u{2014}' | '\u{2212}' => '-',
        other => other,
    }
}

/// Finds the run of lines that shares most lines with the text; otherwise the line most similar to its first.
fn most_alike(lines: &[&str], sought: &[&str]) -> Option<usize> {
    let windows = (lines.len() + 1).saturating_sub(sought.len()).max(1);
    if sought.len() > 1 && windows.saturating_mul(sought.len()) <= EFFORT {
        let shared = |at: usize| {
            let pairs = lines[at..].iter().zip(sought);
            pairs.filter(|(line, sought)| !sought.trim().is_empty() && line.trim() == sought.trim()).count()
        };
        let best = (0..windows).map(|at| (shared(at), at)).max_by_key(|(score, at)| (*score, usize::MAX - at))?;
        if best.0 > 0 {
            return Some(best.1);
        }
    }
    let (offset, first) = sought.iter().enumerate().find(|(_, line)| !line.trim().is_empty())?;
    let first = headline(first.trim(), LONGEST_LETTERED);
    let alike = |line: &str| strsim::normalized_levenshtein(&headline(line.trim(), LONGEST_LETTERED), &first);
    let scored = lines.iter().take(LETTERED_LINES).enumerate().map(|(at, line)| (alike(line), at));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))?;
    (best.0 >= ALIKE).then(|| best.1.saturating_sub(offset))
}

/// Describes how two lines differ, from the most formal difference to the least.
fn differences(found: &str, sought: &str) -> Vec<&'static str> {
    let mut kinds = Vec::new();
    if found.ends_with('\r') != sought.ends_with('\r') {
        kinds.push("line ends (the file has CRLF)");
        if sought.ends_with('\r') {
            kinds.pop();
            kinds.push("line ends (the file has LF, you gave CRLF)");
        }
    }
    let (found, sought) = (found.trim_end_matches('\r'), sought.trim_end_matches('\r'));
    let indent = |line: &str| line.len() - line.trim_start().len();
    if found[..indent(found)] != sought[..indent(sought)] {
        let tabs = found[..indent(found)].contains('\t') != sought[..indent(sought)].contains('\t');
        kinds.push(if tabs { "indentation (tabs against spaces)" } else { "indentation" });
    }
    if found.trim_end().len() != found.len() || sought.trim_end().len() != sought.len() {
        kinds.push("whitespace at the end of a line");
    }
    let (found, sought) = (found.trim(), sought.trim());
    if found == sought {
        return kinds;
    }
    let marks = |line: &str| line.chars().map(straight).collect::<String>();
    let blanks = |line: &str| line.split_whitespace().collect::<String>();
    if marks(found) == marks(sought) {
        kinds.push("quotes or dashes");
    } else if blanks(found) == blanks(sought) {
        kinds.push("whitespace");
    } else if normal(found) == normal(sought) {
        kinds.extend(["whitespace", "quotes or dashes"]);
    } else if found.eq_ignore_ascii_case(sought) {
        kinds.push("upper and lower case");
    } else {
        kinds.push("its words");
    }
    kinds
}

#[cfg(test)]
#[path = "nearest_tests.rs"]
mod tests;
