//! Writes recurring messages: beside the loop, while a term lasts.

mod plan;
mod worker;

pub use worker::RecurringWorker;
