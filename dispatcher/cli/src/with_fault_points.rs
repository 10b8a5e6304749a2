//! The program `outbox` for tests, which can break it at the points of `fault_point`.

use std::process::ExitCode;

fn main() -> ExitCode {
    outbox_cli::main()
}
