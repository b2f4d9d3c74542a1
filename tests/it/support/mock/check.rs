//! What a turn asks of the request it answers: `last_user().contains("hello")`, `result(0).has_error(true)`.

use serde::Deserialize;

use super::pattern;
use super::seen::Seen;

/// One question to a request.
#[derive(Clone, Debug, Deserialize)]
pub struct Check {
    pub on: Target,
    #[serde(flatten)]
    pub test: Test,
}

/// The part of the request that is looked at.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// The texts after the model's last word, without tool results.
    LastUser,
    /// The texts before the model's first word.
    FirstUser,
    System,
    /// The whole body as it came.
    Anywhere,
    /// The names of the tools, one a line.
    Tools,
    /// All tool results after the model's last word.
    Results,
    /// One of them by position.
    Result(usize),
    /// The first of them that answers a call of this tool.
    ResultOf(String),
}

/// What is to be true of it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    Contains(String),
    NotContains(String),
    Equals(String),
    Matches(String),
    IsError(bool),
    Count(usize),
    /// Keeps the pattern's first group for `${name}`.
    Capture {
        name: String,
        pattern: String,
    },
}

impl Target {
    fn test(self, test: Test) -> Check {
        Check { on: self, test }
    }

    pub fn contains(self, text: &str) -> Check {
        self.test(Test::Contains(text.to_owned()))
    }

    pub fn not_contains(self, text: &str) -> Check {
        self.test(Test::NotContains(text.to_owned()))
    }

    pub fn equals(self, text: &str) -> Check {
        self.test(Test::Equals(text.to_owned()))
    }

    pub fn matches(self, pattern: &str) -> Check {
        self.test(Test::Matches(pattern.to_owned()))
    }

    pub fn has_error(self, expected: bool) -> Check {
        self.test(Test::IsError(expected))
    }

    pub fn count(self, expected: usize) -> Check {
        self.test(Test::Count(expected))
    }

    pub fn capture(self, name: &str, pattern: &str) -> Check {
        self.test(Test::Capture { name: name.to_owned(), pattern: pattern.to_owned() })
    }
}

pub fn last_user() -> Target {
    Target::LastUser
}

pub fn first_user() -> Target {
    Target::FirstUser
}

pub fn system() -> Target {
    Target::System
}

pub fn anywhere() -> Target {
    Target::Anywhere
}

pub fn tools() -> Target {
    Target::Tools
}

pub fn results() -> Target {
    Target::Results
}

pub fn result(position: usize) -> Target {
    Target::Result(position)
}

pub fn result_of(tool: &str) -> Target {
    Target::ResultOf(tool.to_owned())
}

/// What came of a check that held: perhaps a captured value.
pub type Held = Option<(String, String)>;

impl Check {
    /// Asks `seen`, or says in a sentence why it does not hold.
    pub fn ask(&self, seen: &Seen) -> Result<Held, String> {
        let found = self.look(seen)?;
        let shown = || found.texts.join("\n");
        let holds = match &self.test {
            Test::Contains(text) => found.texts.iter().any(|t| t.contains(text)),
            Test::NotContains(text) => !found.texts.iter().any(|t| t.contains(text)),
            Test::Equals(text) => shown() == *text,
            Test::Matches(pattern) => pattern::is_match(pattern, &shown())?,
            Test::IsError(expected) => !found.errors.is_empty() && found.errors.iter().all(|e| e == expected),
            Test::Count(expected) => found.texts.len() == *expected,
            Test::Capture { name, pattern } => match pattern::capture(pattern, &shown())? {
                Some(value) => return Ok(Some((name.clone(), value))),
                None => false,
            },
        };
        if holds { Ok(None) } else { Err(format!("{:?} of {:?} does not hold for {:?}", self.test, self.on, shown())) }
    }

    fn look(&self, seen: &Seen) -> Result<Found, String> {
        let texts = |texts: Vec<String>| Found { texts, errors: Vec::new() };
        Ok(match &self.on {
            Target::LastUser => texts(seen.last_user_texts().map(str::to_owned).collect()),
            Target::FirstUser => texts(seen.first_user_texts().map(str::to_owned).collect()),
            Target::System => texts(vec![seen.system_text.clone()]),
            Target::Anywhere => texts(vec![seen.body.to_string()]),
            Target::Tools => texts(seen.tools.iter().map(|tool| tool.name.clone()).collect()),
            Target::Results => {
                let (texts, errors) = seen.last_results().map(|r| (r.text.clone(), r.is_error)).unzip();
                Found { texts, errors }
            }
            Target::Result(position) => {
                let result = seen.last_results().nth(*position);
                let result = result.ok_or_else(|| format!("there is no tool result number {position}"))?;
                Found { texts: vec![result.text.clone()], errors: vec![result.is_error] }
            }
            Target::ResultOf(tool) => {
                let result = seen.last_results().find(|r| seen.tool_of_call(&r.call) == Some(tool));
                let result = result.ok_or_else(|| format!("there is no result of the tool {tool}"))?;
                Found { texts: vec![result.text.clone()], errors: vec![result.is_error] }
            }
        })
    }
}

struct Found {
    texts: Vec<String>,
    errors: Vec<bool>,
}
