//! What the program costs, beside what the machine would allow: one command, one table.
//!
//! Every row is measured together with its limit, in turns, in the same run: a ratio survives a busy machine, a time
//! does not. `cargo bench -- append` runs the rows whose name contains the word; `--json` prints one object per row.

mod append;
mod bench_project;
mod costs;
mod engine;
mod fixture;
mod git;
mod growth;
mod http_turns;
mod open;
mod probe;
mod rebuild;
mod report;
mod resume;
mod rounds;
mod screen;
mod several;
mod streaming;
mod system;
mod tool_context;
mod tools;
mod transcript;
mod turns;
#[path = "../mock/work.rs"]
#[allow(dead_code, reason = "the sum at the end is for whoever runs it by hand")]
mod work;

use std::process::ExitCode;

use report::{Report, Shape};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn main() -> ExitCode {
    match run(std::env::args().skip(1).collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report::complain(error.as_ref());
            ExitCode::FAILURE
        }
    }
}

fn run(mut arguments: Vec<String>) -> Outcome {
    if arguments.first().is_some_and(|first| first == probe::CHILD) {
        return probe::child(&arguments[1..]);
    }
    if arguments.first().is_some_and(|first| first == http_turns::SERVER) {
        return http_turns::serve(&arguments[1..]);
    }
    if arguments.first().is_some_and(|first| first == engine::CHILD) {
        return engine::child(&arguments[1..]);
    }
    if arguments.first().is_some_and(|first| first == resume::CHILD) {
        return resume::child(&arguments[1..]);
    }
    // Cargo says that this is a bench; we know.
    arguments.retain(|argument| argument != "--bench");
    let json = arguments.iter().any(|argument| argument == "--json");
    arguments.retain(|argument| argument != "--json");
    let shape = if json { Shape::Json } else { Shape::Table };
    let mut report = Report::new(shape, arguments);
    append::measure(&mut report)?;
    open::measure(&mut report)?;
    rebuild::measure(&mut report)?;
    resume::measure(&mut report)?;
    growth::measure(&mut report)?;
    turns::measure(&mut report)?;
    http_turns::measure(&mut report)?;
    tools::measure(&mut report)?;
    costs::measure(&mut report)?;
    engine::measure(&mut report)?;
    git::measure(&mut report)?;
    screen::measure(&mut report)?;
    several::measure(&mut report)?;
    streaming::measure(&mut report)?;
    transcript::measure(&mut report)?;
    report.finish()
}
