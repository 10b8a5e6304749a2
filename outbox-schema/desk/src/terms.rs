//! The log of terms as a list: who led each shard from when to when, the newest first.

use std::cmp::Reverse;
use std::fmt;
use std::str::FromStr;

use outbox_store::Database;
use outbox_store::sql::read;
use serde::{Deserialize, Serialize};

use super::error::while_doing;
use super::statements::{CURRENT_TERMS, TERMS};
use super::{CurrentTerm, DeskError, TermEntry};

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

/// The terms of all shards, the newest first: at most `limit`, from the place where an earlier page ended.
///
/// # Errors
/// The database did not answer, or refused.
pub async fn term_page(
    database: &Database,
    filter: TermFilter,
    after: Option<TermCursor>,
    limit: u32,
) -> Result<TermPage, DeskError> {
    page(database, filter, after, limit).await.map_err(while_doing("reading the terms"))
}

async fn page(
    database: &Database,
    filter: TermFilter,
    after: Option<TermCursor>,
    limit: u32,
) -> sqlx::Result<TermPage> {
    // One more than the limit tells whether there is a next page.
    let most = limit as usize + 1;
    let shards: Vec<CurrentTerm> = read(database, &CURRENT_TERMS, &[]).await?;
    let mut terms: Vec<TermEntry> = Vec::new();
    for CurrentTerm { shard, .. } in shards {
        let behind = after.map_or(i64::MAX, |after| if shard > after.shard { after.epoch } else { after.epoch - 1 });
        let until = filter.epoch.map_or(behind, |epoch| epoch.min(behind));
        let most = if filter.epoch.is_some() { 1 } else { most };
        let values = [i64::from(shard).into(), until.into(), i64::try_from(most).unwrap_or(i64::MAX).into()];
        terms.append(&mut read(database, &TERMS, &values).await?);
    }
    terms.retain(|term| filter.epoch.is_none_or(|epoch| term.epoch == epoch));
    terms.sort_by_key(|term| (Reverse(term.epoch), term.shard));
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
