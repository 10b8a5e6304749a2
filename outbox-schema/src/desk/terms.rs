//! The log of terms as a list: who led each shard from when to when, the newest first.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::statements::TERMS;
use super::{DeskError, TermEntry};
use crate::Database;
use crate::sql::{Value, read, while_doing};

/// A filter of terms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct TermFilter {
    /// Only the terms with this epoch, one of each shard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<i64>,
}

/// Where a page of terms ended: its last term. As a text: `EPOCH-SHARD`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TermCursor {
    epoch: i64,
    shard: i32,
}

/// A page of terms.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TermPage {
    /// The terms, the newest first.
    pub terms: Vec<TermEntry>,
    /// The `after` of the next page. None on the last page.
    pub next: Option<TermCursor>,
}

impl Database {
    /// The terms of all shards, the newest first: at most `limit`, from the place where an earlier page ended.
    ///
    /// # Errors
    /// The database did not answer, or refused.
    pub async fn term_page(
        &self,
        filter: TermFilter,
        after: Option<TermCursor>,
        limit: u32,
    ) -> Result<TermPage, DeskError> {
        page(self, filter, after, limit).await.map_err(while_doing("reading the terms"))
    }
}

async fn page(
    database: &Database,
    filter: TermFilter,
    after: Option<TermCursor>,
    limit: u32,
) -> sqlx::Result<TermPage> {
    let (below, shard) = after.map_or((i64::MAX, -1), |TermCursor { epoch, shard }| (epoch, i64::from(shard)));
    // One more than the limit tells whether there is a next page.
    let most = i64::from(limit) + 1;
    let values = [below.into(), shard.into(), Value::Number(filter.epoch), most.into()];
    let mut terms: Vec<TermEntry> = read(database, &TERMS, &values).await?;
    let more = terms.len() > limit as usize;
    terms.truncate(limit as usize);
    let next = terms.last().filter(|_| more).map(|last| TermCursor { epoch: last.epoch, shard: last.shard });
    Ok(TermPage { terms, next })
}

impl fmt::Display for TermCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.epoch, self.shard)
    }
}

impl FromStr for TermCursor {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let read = || {
            let (epoch, shard) = text.split_once('-')?;
            Some(Self { epoch: epoch.parse().ok()?, shard: shard.parse().ok()? })
        };
        read().ok_or("it is not where a page of terms ended")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written_and_half_a_cursor_is_refused() {
        let cursor = TermCursor { epoch: 17, shard: 0 };
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        assert!(["17", "-17", "a-b", ""].iter().all(|text| text.parse::<TermCursor>().is_err()));
    }
}
