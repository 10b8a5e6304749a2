//! Which look comes next.

mod looks;
pub(super) mod task;

pub(crate) use looks::{EACH, KeyStep, Look, Looks, PAGE, Page, STEP};
