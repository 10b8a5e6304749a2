//! What applications write, well or badly.

mod bad_input;
mod coming_from;
mod enqueue;
mod hostile;
mod random_rows;
mod rights;
mod secrets;
