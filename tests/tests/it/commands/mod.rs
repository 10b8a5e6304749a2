//! The program as people type it.

mod bench;
mod channels;
pub(crate) mod command_line;
mod completions;
mod dead_letters;
mod demo;
mod first_try;
mod log_lines;
mod progress;
mod reload;
mod settings_schema;
mod stopping;
mod terminal;
