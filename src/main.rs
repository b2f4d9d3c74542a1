//! The `mxd` program. Everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    mxd::cli::main()
}
