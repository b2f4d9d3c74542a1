//! A conversation as the models of this family read it: their own calls, what became of each, and what they were told.
//!
//! A model here is a list of steps. Each looks in the conversation whether it is done; the first that is not says what to
//! call next. So an answer follows from its request alone, and a model that is asked again after a crash, or told that
//! nobody knows what became of a call, does what a careful agent does: it looks before it repeats.

use mxd::tools::names;
use serde_json::{Value, json};

use crate::support::mock::seen::Seen;
use crate::support::mock::{Turn, answer, pattern};

/// What a step comes to: its outcome, or the turn that has to be taken for it.
pub type Step<T = ()> = Result<T, Turn>;

/// How a refusal begins after which everything is as before: whoever reads it may simply try again.
const UNDONE: [&str; 4] =
    ["nothing was changed", "nothing was done", "The command was not run", "The command could not be prepared"];
/// What a disk says that refuses. Whoever is told so of something with several steps looks how far it came.
pub const REFUSALS: [&str; 5] = [
    "the disk is full",
    "the disk quota is used up",
    "the file system is read-only",
    "permission denied",
    "Input/output error",
];
/// How a model begins that does not know what to do.
pub const LOST: &str = "LOST";
const UNKNOWN: &str = "It is not known whether it took effect";

/// A call and what came of it.
#[derive(Debug)]
struct Made {
    name: String,
    input: Value,
    /// Nothing: it is not answered in this request.
    result: Option<(String, bool)>,
}

/// What is known of a call that should have been made once.
#[derive(Debug, PartialEq, Eq)]
enum State {
    Never,
    /// It was made, and nobody knows what came of it.
    Unknown,
    Done(String),
    Refused(String),
}

pub struct Talk {
    made: Vec<Made>,
    heard: Vec<String>,
    ledger: String,
}

/// Returns the title of the task whose conversation this is: the last card in it.
pub fn title(seen: &Seen) -> Option<String> {
    let cards = seen.user_texts().filter(|text| text.contains("<work_context"));
    cards.filter_map(|text| pattern::capture(r"^Task: (.*) \([0-9A-Z]{26}\)$", text).ok()?).last()
}

pub fn tool(name: &str, input: Value) -> Turn {
    answer().tool(&names::wire(name), input)
}

pub fn wait() -> Turn {
    tool("yield", json!({}))
}

impl Talk {
    /// Reads a request from its own task's card on; what stands before belongs to another.
    pub fn read(seen: &Seen, title: &str, ledger: &str) -> Self {
        let messages = seen.value["messages"].as_array().cloned().unwrap_or_default();
        let card = format!("\nTask: {title} (");
        let is_start = |message: &Value| texts(message).any(|text| text.contains(&card));
        let start = messages.iter().rposition(is_start).unwrap_or(0);
        let mut talk = Self { made: Vec::new(), heard: Vec::new(), ledger: ledger.to_owned() };
        for message in &messages[start..] {
            talk.heard.extend(texts(message).filter(|_| message["role"] == "user").map(str::to_owned));
            for block in message["content"].as_array().into_iter().flatten() {
                talk.take(block);
            }
        }
        talk
    }

    fn take(&mut self, block: &Value) {
        match block["type"].as_str() {
            Some("tool_use") => {
                let name = block["name"].as_str().unwrap_or_default();
                let name = name.rsplit("__").next().unwrap_or_default().to_owned();
                self.made.push(Made {
                    name,
                    input: json!({ "id": block["id"], "input": block["input"] }),
                    result: None,
                });
            }
            Some("tool_result") => {
                let call = self.made.iter_mut().rev().find(|made| made.input["id"] == block["tool_use_id"]);
                // The result of a call that stands before the card is another's.
                let Some(made) = call else { return };
                let text = match &block["content"] {
                    Value::String(text) => text.clone(),
                    content => {
                        content.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str()).collect()
                    }
                };
                made.result = Some((text, block["is_error"] == true));
            }
            _ => {}
        }
    }

    fn state(&self, name: &str, is_it: impl Fn(&Value) -> bool) -> State {
        let calls = || self.made.iter().filter(|made| made.name == name && is_it(&made.input["input"]));
        let results = || calls().filter_map(|made| made.result.as_ref());
        if let Some((text, _)) = results().find(|(_, failed)| !failed) {
            return State::Done(text.clone());
        }
        // What was refused without any effect leaves what was known before.
        match results().rfind(|(text, _)| !UNDONE.iter().any(|words| text.starts_with(words))) {
            None => State::Never,
            Some((text, _)) if text.contains(UNKNOWN) => State::Unknown,
            Some((text, _)) if REFUSALS.iter().any(|words| text.contains(words)) => State::Unknown,
            Some((text, _)) => State::Refused(text.clone()),
        }
    }

    /// Returns the text of the last good result of `name` that was asked for after `after` was left unknown.
    fn looked_up(&self, name: &str, after: impl Fn(&Made) -> bool) -> Option<&str> {
        let since = self.made.iter().rposition(after)?;
        let made = self.made[since..].iter().rev().find(|made| made.name == name);
        made?.result.as_ref().filter(|(_, failed)| !failed).map(|(text, _)| text.as_str())
    }

    pub fn has_heard(&self, text: &str) -> bool {
        self.heard.iter().any(|heard| heard.contains(text))
    }

    pub fn completed(&self, title: &str, status: &str) -> bool {
        let (title, status) = (format!("title=\"{title}\""), format!("status=\"{status}\""));
        let told = |text: &&String| text.contains("<task_complete") && text.contains(&title) && text.contains(&status);
        self.heard.iter().any(|text| elements(text).any(|element| told(&&element)))
    }

    /// Runs a command that leaves a line in the ledger, once. `work` may be done twice and is the same then.
    pub fn once(&self, label: &str, work: &str) -> Step {
        let ledger = &self.ledger;
        let is_it =
            |input: &Value| input["command"].as_str().is_some_and(|command| command.contains(&format!("'{label} ")));
        match self.state("bash", is_it) {
            State::Done(_) => Ok(()),
            State::Never => Err(tool("bash", json!({ "command": format!("echo '{label} once' >> {ledger}\n{work}") }))),
            State::Unknown => {
                let look = format!("grep -q '^{label} ' {ledger} || echo '{label} again' >> {ledger}");
                // Whatever held these was ended with the process that started it.
                let locks = "for lock in index.lock HEAD.lock; do rm -f \"$(git rev-parse --git-path $lock)\"; done\n\
                             rm -f \"$(git rev-parse --git-path $(git symbolic-ref HEAD)).lock\"\n\
                             git merge --abort 2> /dev/null; git reset -q --hard";
                Err(tool("bash", json!({ "command": format!("{look}\n{locks}\n{work}") })))
            }
            State::Refused(why) => Err(lost(label, &why)),
        }
    }

    /// Tells whether nothing was ever done under this label.
    pub fn is_first(&self, label: &str) -> bool {
        let is_it =
            |input: &Value| input["command"].as_str().is_some_and(|command| command.contains(&format!("'{label} ")));
        self.state("bash", is_it) == State::Never
    }

    /// Tells whether a task was never asked for.
    pub fn is_new(&self, title: &str) -> bool {
        self.state("create_task", |input| input["title"] == title) == State::Never
    }

    /// Makes a sub task, and returns its id.
    pub fn task(&self, title: &str, start: &str) -> Step<String> {
        match self.state("create_task", |input| input["title"] == title) {
            State::Done(text) => Ok(id(&text, r"Created task ([0-9A-Z]{26})")),
            State::Never => Err(tool("create_task", creation(title, start))),
            State::Refused(why) => Err(lost(title, &why)),
            State::Unknown => {
                let unknown = |made: &Made| made.name == "create_task" && made.input["input"]["title"] == title;
                let Some(tree) = self.looked_up("get_tree", unknown) else { return Err(tool("get_tree", json!({}))) };
                let Some(line) = tree.lines().find(|line| line.ends_with(&format!("] {title}"))) else {
                    return Err(tool("create_task", creation(title, start)));
                };
                let id = id(line, r"- ([0-9A-Z]{26}) #\d+ \[");
                // Made, and perhaps never spoken to.
                if start == "now" && line.contains("[pending") {
                    self.start(&id, "Begin with your task.")?;
                }
                Ok(id)
            }
        }
    }

    /// Gives a sub task this conversation.
    pub fn fork(&self, task: &str) -> Step {
        match self.state("fork_task_context", |input| input["task"] == task) {
            State::Done(_) => Ok(()),
            State::Refused(why) if why.contains("already has a conversation") => Ok(()),
            State::Never | State::Unknown => Err(tool("fork_task_context", json!({ "task": task }))),
            State::Refused(why) => Err(lost("fork", &why)),
        }
    }

    /// Says the first word to a sub task. Whether it was said is seen by whether the task has begun.
    pub fn start(&self, task: &str, words: &str) -> Step {
        let message = json!({ "task": task, "message": words });
        match self.state("send_message", |input| *input == message) {
            State::Done(_) => Ok(()),
            State::Never => Err(tool("send_message", message)),
            State::Refused(why) => Err(lost(words, &why)),
            State::Unknown => {
                let unknown = |made: &Made| made.name == "send_message" && made.input["input"] == message;
                match self.looked_up("get_task", unknown) {
                    None => Err(tool("get_task", json!({ "task": task }))),
                    // It may have been said to somebody who could not begin yet.
                    Some(card) if card.contains("status: pending") => self.start_again(task, words),
                    Some(_) => Ok(()),
                }
            }
        }
    }

    /// Says the first word once more, and says so.
    fn start_again(&self, task: &str, words: &str) -> Step {
        let again = json!({ "task": task, "message": format!("{words} (again)") });
        match self.state("send_message", |input| *input == again) {
            State::Done(_) => Ok(()),
            State::Never | State::Unknown => Err(tool("send_message", again)),
            State::Refused(why) => Err(lost(words, &why)),
        }
    }

    /// Says something. If nobody knows whether it was said, it is said again, and says so.
    pub fn tell(&self, task: &str, words: &str, request_reply: bool) -> Step {
        let said = |words: &str| json!({ "task": task, "message": words, "request_reply": request_reply });
        match self.state("send_message", |input| *input == said(words)) {
            State::Done(_) => Ok(()),
            State::Never => Err(tool("send_message", said(words))),
            State::Refused(why) => Err(lost(words, &why)),
            State::Unknown => {
                let again = said(&format!("{words} (again)"));
                match self.state("send_message", |input| *input == again) {
                    State::Done(_) => Ok(()),
                    State::Never | State::Unknown => Err(tool("send_message", again)),
                    State::Refused(why) => Err(lost(words, &why)),
                }
            }
        }
    }

    /// Asks the user, and waits for the answer.
    pub fn ask(&self, question: &str, choices: &[&str]) -> Step<String> {
        let asked = |question: &str| json!({ "question": question, "choices": choices });
        let again = format!("{question} (again)");
        let states = [question, &again].map(|question| self.state("clarify", |input| *input == asked(question)));
        match states {
            [State::Done(_), _] | [_, State::Done(_)] => {}
            [State::Never, _] => return Err(tool("clarify", asked(question))),
            [State::Unknown, State::Never | State::Unknown] => return Err(tool("clarify", asked(&again))),
            [one, other] => return Err(lost(question, &format!("{one:?}, {other:?}"))),
        }
        let answers = self.heard.iter().flat_map(|text| elements(text));
        let answer = answers.filter(|text| text.contains("<clarify_response")).find_map(|text| {
            let (_, rest) = text.split_once(">\n")?;
            Some(rest.split('\n').next()?.to_owned())
        });
        answer.ok_or_else(wait)
    }

    /// Returns the id of the root.
    pub fn root(&self) -> Step<String> {
        match self.state("get_tree", |_| true) {
            State::Done(text) => Ok(id(&text, r"- ([0-9A-Z]{26}) #\d+ \[.*orchestrator")),
            State::Never | State::Unknown => Err(tool("get_tree", json!({}))),
            State::Refused(why) => Err(lost("get_tree", &why)),
        }
    }

    /// Returns the id of the task above.
    pub fn above(&self) -> String {
        self.heard
            .iter()
            .find_map(|text| pattern::capture(r"^Task above: .* \(([0-9A-Z]{26})\)$", text).ok()?)
            .unwrap_or_default()
    }

    pub fn close(&self, task: &str) -> Step {
        match self.state("close_task", |input| input["task"] == task) {
            State::Done(_) => Ok(()),
            State::Refused(why) if why.contains("already closed") => Ok(()),
            // It has said that it is done, and a disk that refuses keeps it from coming to rest.
            State::Refused(why) if why.contains("is at work") => Err(tool("close_task", json!({ "task": task }))),
            State::Never | State::Unknown => Err(tool("close_task", json!({ "task": task }))),
            State::Refused(why) => Err(lost("close", &why)),
        }
    }

    /// Declares the task done. Comes back when somebody speaks to it afterwards.
    pub fn done(&self, status: &str, result: &str) -> Step {
        match self.state("done", |input| input["result"] == result) {
            State::Done(_) => Ok(()),
            State::Never | State::Unknown => Err(tool("done", json!({ "status": status, "result": result }))),
            // Somebody who had ended was spoken to once more, because nobody knew whether he had heard.
            State::Refused(why) if why.contains("sub tasks are still in progress") => {
                let just_refused = self.made.last().is_some_and(|made| made.name == "done");
                Err(if just_refused { wait() } else { tool("done", json!({ "status": status, "result": result })) })
            }
            State::Refused(why) => Err(lost("done", &why)),
        }
    }

    /// As [`Talk::done`], for the last step there is: whoever is spoken to after it says once more that it is done.
    pub fn finish(&self, status: &str, result: &str) -> Step {
        self.done(status, result)?;
        Err(tool("done", json!({ "status": status, "result": result })))
    }
}

fn creation(title: &str, start: &str) -> Value {
    json!({ "title": title, "description": format!("Goal: {title} has done its part."), "start": start })
}

/// Writes a file and commits it, or finds that it is.
pub fn commit(file: &str, text: &str) -> String {
    format!(
        "sleep 0.02 && printf '%s\\n' '{text}' > {file} && git add {file} && {{ git diff --cached --quiet || git commit -q -m 'Write {file}'; }}"
    )
}

/// Merges the branch of a task, or finds that it is.
pub fn merge(title: &str, task: &str) -> String {
    format!("git merge -q --no-ff -m 'Merge {title}' $(git branch --list 'mxd/{task}/*' --format='%(refname:short)')")
}

/// What a model says that does not know what to do: the test fails with it.
fn lost(step: &str, why: &str) -> Turn {
    answer().text(&format!("{LOST} at {step}: {why}"))
}

fn id(text: &str, pattern: &str) -> String {
    pattern::capture(pattern, text).ok().flatten().unwrap_or_default()
}

fn texts(message: &Value) -> impl Iterator<Item = &str> {
    message["content"].as_array().into_iter().flatten().filter_map(|block| block["text"].as_str())
}

/// Splits what was heard into the messages that it is made of.
fn elements(text: &str) -> impl Iterator<Item = String> {
    text.split("\n<").enumerate().map(|(at, part)| if at == 0 { part.to_owned() } else { format!("<{part}") })
}
