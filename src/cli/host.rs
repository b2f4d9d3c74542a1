//! `mxd __host`: runs a program as the subreaper of everything below it. Started by the engine, never by a user.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::process;

#[derive(clap::Args)]
pub struct Args {
    /// Program and arguments.
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

pub fn run(args: &Args) -> ExitCode {
    let Some((program, arguments)) = args.command.split_first() else { return ExitCode::from(super::exit::USAGE) };
    match process::run_host(program, arguments) {
        Ok(code) => code,
        Err(error) => {
            // The engine shows the end of the error stream.
            super::console::Console::new().fault(&crate::base::Fault::environment(format!(
                "cannot start \"{}\": {error}",
                program.to_string_lossy()
            )));
            ExitCode::from(127)
        }
    }
}
