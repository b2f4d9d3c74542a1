//! The mock model API as a program: `mock-server [--port N] [SCRIPT.json]`.
//!
//! It prints its address on the first line and runs until its standard input is closed or it is killed. What it saw can
//! be asked for under `/__mock/requests` and `/__mock/violations`; `POST /__mock/script` starts over with another
//! script, `POST /__mock/gates/NAME` opens a gate.
#![allow(clippy::print_stdout, reason = "a program says where it listens")]

#[path = "../it/support"]
mod support {
    #[allow(dead_code, unused_imports, reason = "the parts for tests in this process have no use here")]
    pub mod mock;
}

use std::error::Error;
use std::io::Write as _;

use support::mock::{Mock, Script};

fn main() -> Result<(), Box<dyn Error>> {
    let mut port = 0;
    let mut script = Script::new();
    let mut arguments = std::env::args().skip(1);
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
