//! What the pages remember of their searches: very many rows are looked at for it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use outbox_desk::{
    CountedGroups, DeadGroup, DeadLetterPage, Deaths, Desk, FiguresFilter, FiguresSeries, MessagePage, MessageSummary,
    Span,
};
use outbox_store::retention::Pruned;

use super::searches::Searches;
use crate::api::{ApiState, Problem};
use outbox_console::health::cached::Cached;
use outbox_console::health::status::Status;

/// The state of the outbox, and how long ago its messages were counted.
#[derive(Debug, Clone)]
pub(super) struct Counted {
    pub(super) status: Arc<Status>,
    pub(super) age: Duration,
}

/// How long figures are reused: browsers that are left open ask for them again and again.
const MAX_AGE: Duration = Duration::from_secs(5);

/// The newest figures of each span.
#[derive(Clone)]
pub(super) struct NewestFigures([Arc<Newest>; Span::ALL.len()]);

type Newest = Cached<Result<Arc<FiguresSeries>, Problem>>;

impl Default for NewestFigures {
    fn default() -> Self {
        Self(Span::ALL.map(|_| Arc::new(Cached::new(MAX_AGE))))
    }
}

impl NewestFigures {
    pub(super) async fn of(&self, api_state: &ApiState, span: Span) -> Result<Arc<FiguresSeries>, Problem> {
        let filter = FiguresFilter { span, channel: None };
        let ask = || async { Ok(Arc::new(api_state.database.figures(&filter).await?)) };
        self.0[span as usize].get(ask).await
    }
}

/// The searches for dead letters.
pub(super) type DeadSearches = Searches<Result<Arc<Shown>, Problem>>;

/// What the page of dead letters shows.
#[derive(Debug)]
pub(super) struct Shown {
    /// The causes.
    pub(super) groups: Vec<DeadGroup>,
    /// The examples of the first causes as they are, by their ids.
    pub(super) examples: BTreeMap<i64, MessageSummary>,
    /// When the letters of the first causes died, by fingerprint. Empty for a form.
    pub(super) deaths: BTreeMap<String, Deaths>,
    /// One page of those that a filter means. None without a filter.
    pub(super) letters: Option<DeadLetterPage>,
}

/// The searches for messages.
pub(super) type MessageSearches = Searches<Result<Arc<MessagePage>, Problem>>;

/// The counts of what forms mean.
pub(super) type Counts = Searches<Result<Arc<CountedGroups>, Problem>>;

/// The counts of messages that are past their time, by the times that are asked for.
pub(super) type PastSearches = Searches<Result<Pruned, Problem>>;
