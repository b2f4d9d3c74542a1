//! The mock model API as a program: `mock-server [--port N] [SCRIPT.json]`.
//!
//! It prints its address on the first line and runs until its standard input is closed or it is killed. What it saw can
//! be asked for under `/__mock/requests` and `/__mock/violations`; `POST /__mock/script` starts over with another
//! script, `POST /__mock/gates/NAME` opens a gate.
//!
//! `mock-server work --turns N --tool NAME --input JSON [--end NAME --end-input JSON] [--port N]` judges nothing and leads
//! every conversation of any program through the same work; at its end it says how much was asked, and how fast.
#![allow(clippy::print_stdout, reason = "a program says where it listens")]

#[path = "../it/support"]
mod support {
    #[allow(dead_code, unused_imports, reason = "the parts for tests in this process have no use here")]
    pub mod mock;
}

mod work;

use std::error::Error;
use std::io::Write as _;
use std::sync::Arc;

use support::mock::{Mock, Script};
use work::{Call, Tally, Work};

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments.next_if(|first| first == "work").is_some() {
        return lead_through_work(arguments);
    }
    let mut port = 0;
    let mut script = Script::new();
    while let Some(argument) = arguments.next() {
        if argument == "--port" {
            port = arguments.next().ok_or("--port wants a number")?.parse()?;
        } else {
            let json = std::fs::read_to_string(&argument).map_err(|error| format!("{argument}: {error}"))?;
            script = Script::from_json(&json).map_err(|error| format!("{argument}: {error}"))?;
        }
    }
    let mock = Mock::start_on(port, script)?;
    println!("listening on {}", mock.url());
    std::io::stdout().flush()?;
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    // Whoever ran the server has asked for the violations; its end is not a test's.
    drop(mock.take_violations());
    Ok(())
}

fn lead_through_work(mut arguments: impl Iterator<Item = String>) -> Result<(), Box<dyn Error + Send + Sync>> {
    let (mut port, mut turns) = (0, 200);
    let mut call = Call { name: "mcp__mxd__bash".to_owned(), input: r#"{"command":"true"}"#.to_owned() };
    let (mut end, mut end_input) = (None, "{}".to_owned());
    while let Some(argument) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{argument} wants a value"))?;
        match argument.as_str() {
            "--port" => port = value.parse()?,
            "--turns" => turns = value.parse()?,
            "--tool" => call.name = value,
            "--input" => call.input = value,
            "--end" => end = Some(value),
            "--end-input" => end_input = value,
            _ => return Err(format!("{argument} is not known: --port --turns --tool --input --end --end-input").into()),
        }
    }
    for input in [&call.input, &end_input] {
        serde_json::from_str::<serde_json::Map<_, _>>(input).map_err(|error| format!("{input}: {error}"))?;
    }
    let end = end.map(|name| Call { name, input: end_input });
    let tally = Arc::new(Tally::default());
    println!("listening on {}", work::serve(port, Work { turns, call, end }, Arc::clone(&tally))?);
    std::io::stdout().flush()?;
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    println!("{}", tally.sentence());
    Ok(())
}
