//! Leadership: campaigns for the lease, and then has the database mint the epoch that makes it a term.

mod leadership;

pub use leadership::{Leadership, longest_campaign_pause};
