//! Draws what `outbox top` shows: an overview, the channels, what is held up, and what fails.

mod view;

pub(crate) use view::draw;
