//! The command line. Exit status: 0 done, 1 failed, 2 wrong usage or settings, 3 a change whose filter found nothing.

mod audit;
mod bench;
mod changes;
mod channels;
mod check;
mod client;
mod commands;
mod completions;
mod config;
mod dead_letters;
mod destinations;
mod emptied;
mod enqueue;
mod examine;
mod health;
mod invalid_targets;
mod known;
mod messages;
mod migrate;
mod nearest;
mod operations;
mod ordering_keys;
mod pace;
mod progress;
mod prune;
mod reload;
mod replicas;
mod run;
mod session;
mod settings;
mod start;
mod status;
mod top;
mod version;

pub use commands::main;
pub(crate) use version::VERSION;
