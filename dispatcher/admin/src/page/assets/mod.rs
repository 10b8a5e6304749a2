//! The files that a page brings: its stylesheet, its own small script, and the script htmx as its package has
//! it.

mod assets;

pub(crate) use assets::routes;
pub(crate) use assets::{ICON, OWN_SCRIPT, SCRIPT, STYLE};
