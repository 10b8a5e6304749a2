//! Output for people: spans, pages, and text that is safe for a terminal; or JSON.

mod advance;
mod cell;
mod numbers;
mod page;
mod print;
mod screen;
mod visible;

pub use advance::{Advance, how_far};
pub use cell::{Cell, relative};
pub use numbers::{grouped, span, to_the_second};
pub use page::{Keep, Page, clipped};
pub use print::{error_line, print, print_as, print_as_it_is, print_to_reader, warning, with_causes};
pub use screen::Screen;
pub use visible::{in_one_line, is_deceiving, shortened, visible};
