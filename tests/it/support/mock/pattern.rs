//! Regular expressions of checks and captures.

use grep_matcher::{Captures as _, Matcher as _};
use grep_regex::RegexMatcherBuilder;

/// Tells whether `pattern` is found in `text`, or why the pattern is none.
pub fn is_match(pattern: &str, text: &str) -> Result<bool, String> {
    let matcher = compile(pattern)?;
    matcher.is_match(text.as_bytes()).map_err(|e| e.to_string())
}

/// Returns the first group of the first match, or the whole match if the pattern has no group.
pub fn capture(pattern: &str, text: &str) -> Result<Option<String>, String> {
    let matcher = compile(pattern)?;
    let mut groups = matcher.new_captures().map_err(|e| e.to_string())?;
    if !matcher.captures(text.as_bytes(), &mut groups).map_err(|e| e.to_string())? {
        return Ok(None);
    }
    let found = groups.get(1).or_else(|| groups.get(0));
    Ok(found.map(|found| text[found.start()..found.end()].to_owned()))
}

fn compile(pattern: &str) -> Result<grep_regex::RegexMatcher, String> {
    RegexMatcherBuilder::new().multi_line(true).build(pattern).map_err(|e| format!("the pattern {pattern:?}: {e}"))
}
