//! One attempt: from the gate to a mark.

mod send;

pub(crate) use send::Sender;
