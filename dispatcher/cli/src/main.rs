//! The program `outbox`. All of it is in the library; see `outbox --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    outbox_cli::main()
}
