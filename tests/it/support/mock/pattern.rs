//! Regular expressions of checks and captures.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use grep_matcher::{Captures as _, Matcher as _};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};

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

/// Returns the matcher of a pattern, which is compiled once: that takes a hundred times longer than a search.
fn compile(pattern: &str) -> Result<Arc<RegexMatcher>, String> {
    static COMPILED: LazyLock<Mutex<HashMap<String, Arc<RegexMatcher>>>> = LazyLock::new(Mutex::default);
    let mut compiled = COMPILED.lock().map_err(|e| e.to_string())?;
    if let Some(matcher) = compiled.get(pattern) {
        return Ok(Arc::clone(matcher));
    }
    let built = RegexMatcherBuilder::new().multi_line(true).build(pattern);
    let matcher = Arc::new(built.map_err(|e| format!("the pattern {pattern:?}: {e}"))?);
    compiled.insert(pattern.to_owned(), Arc::clone(&matcher));
    Ok(matcher)
}
