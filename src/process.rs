//! Child processes: start, environment, output, termination.
//!
//! The only module that starts programs. Invariants: every child leads its own session and process group, has no
//! terminal (and no stdin, unless it is started with pipes), inherits no secret, and is reaped. Its output is drained
//! at once into bounded memory and a capped file. Terminating it terminates its group and whatever escaped the group,
//! as far as the system shows it. A record on disk per running child lets the next start terminate what a crash left
//! behind. It does not know tasks: a child has an id, a command, and markers chosen by the caller.

mod child;
mod child_handle;
mod detached;
pub mod environment;
mod harden;
mod host;
pub mod lineage;
mod nohup;
pub mod orphans;
pub mod output;
mod output_file;
mod record;
mod spawn;
mod supervise;
pub mod table;
mod terminate;
mod user_program;

pub use child::{
    ChildSpec, Process, ProcessExit, ProcessPhase, StartError, StdioPipes, Streams, start, start_with_stdio,
};
pub use detached::start_detached;
pub use environment::Environment;
pub use harden::{hide_own_memory, is_root};
pub use host::{HOST_COMMAND, host_program, host_spec, run_host, set_host_program};
pub use nohup::outlives_terminal;
pub use orphans::{EndedProcess, find_orphans, kill_own, sweep};
pub use output::{Capture, OutputSnapshot};
pub use output_file::{OUTPUT_FILE_CAP, create_private};
pub use terminate::{GRACE, terminate_marked};
pub use user_program::{ErrorStream, run_on_terminal, run_with_input, start_with_pipes};
