//! The program `outbox`, breakable for tests at the points of `fault_point`.

use std::process::ExitCode;

fn main() -> ExitCode {
    outbox_cli::main()
}
