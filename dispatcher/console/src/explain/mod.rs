//! Why a message has not been sent, and why it was sent twice: causes, each with its fields and a sentence.

mod again;
mod attempts;
mod availability;
mod explain;
mod holder;
mod life;
mod made_by;
mod mention;
mod not_sent;
mod note;
mod outcome_notice;
mod reasons;
mod said;
mod sent_twice;
mod sentences;
mod waits;
mod words;

pub use again::Again;
pub use availability::availability;
pub use holder::{Holder, named};
pub use life::{Event, life};
pub use mention::{Mention, Mentions, Subject};
pub use not_sent::NotSent;
pub use note::Note;
pub use said::Said;
pub use sent_twice::{Repetition, Verdict};

pub use explain::{Explanation, explain};
pub use outcome_notice::OutcomeNotice;
