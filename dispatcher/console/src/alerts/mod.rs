//! Tells people of what they should not have to look for: dead letters beyond a rate, and that no replica
//! polls.

mod alerts;
mod news;
mod webhook;

pub use alerts::{AlertWatch, Alerts};
