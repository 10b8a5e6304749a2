//! The parts of a bench that run in processes of their own, so that their usage does not count as usage of the product.
//!
//! A part is this program once more. It reads its orders from standard input, as one line of JSON: a URL may hold a
//! password, which a list of processes must not show. It answers in lines of JSON, and ends when its standard input
//! ends. So a part never outlives the bench.

pub(super) mod bare;
pub(super) mod book;
pub(super) mod committer;
pub(super) mod enqueuer;
pub(super) mod kind;
mod orders;
mod part;
pub(super) mod poster;
pub(super) mod push;
pub(super) mod receiver;
mod work;

pub(super) use orders::Orders;
use part::say;
pub(super) use part::{Part, own_program};
pub use work::work;
