//! When the dead letters of a cause died: of the newest ones, as far as an index tells it.

use std::collections::BTreeMap;

use outbox_store::Database;
use outbox_store::sql::AnyTransaction;

use super::dead::{LetterPlace, Rest, Walk};
use super::error::while_doing;
use super::{DeadGroup, DeadLetterFilter, DeskError};

/// The most groups whose deaths are looked at.
const GROUPS: usize = 12;

/// The letters of a group that are looked at: those that died last.
const LETTERS: u32 = 2_000;

/// The stretches of time into which they are divided.
const STRETCHES: usize = 24;

/// When letters of a group died: how many in each of 24 stretches of equal length, from the first of those that were looked at to
/// the last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deaths {
    /// The numbers of letters, the oldest first.
    pub counts: Vec<u64>,
    /// How long these stretches are together, in milliseconds.
    pub lasted_ms: i64,
    /// Whether the group has more letters than were looked at: 2,000, those that died last.
    pub more: bool,
}

/// When the letters of these groups died, by fingerprint. Of the first twelve groups; none where the filter has conditions that
/// no index of dead letters tells.
///
/// # Errors
/// The database did not answer, or refused.
pub async fn deaths(
    database: &Database,
    filter: &DeadLetterFilter,
    groups: &[DeadGroup],
) -> Result<BTreeMap<String, Deaths>, DeskError> {
    of_groups(database, filter, groups).await.map_err(while_doing("reading when messages died"))
}

async fn of_groups(
    database: &Database,
    filter: &DeadLetterFilter,
    groups: &[DeadGroup],
) -> sqlx::Result<BTreeMap<String, Deaths>> {
    let mut found = BTreeMap::new();
    if !Rest::of(filter).is_nothing() {
        return Ok(found);
    }
    let mut transaction = AnyTransaction::to_read(database).await?;
    let mut connection = transaction.connection();
    let walk = Walk::over(filter, connection.now_us().await?);
    for group in groups.iter().take(GROUPS) {
        let letters = walk.page(&mut connection, &group.fingerprint, None, LETTERS).await?;
        found.extend(Deaths::of(&letters).map(|deaths| (group.fingerprint.clone(), deaths)));
    }
    transaction.commit().await?;
    Ok(found)
}

impl Deaths {
    /// None where there are no letters. They come in the order of their deaths, the last one first.
    fn of(letters: &[LetterPlace]) -> Option<Self> {
        let (last, first) = (letters.first()?.dead_at_us, letters.last()?.dead_at_us);
        let length = u128::from(last.abs_diff(first)) + 1;
        let mut counts = vec![0; STRETCHES];
        for letter in letters {
            let place = u128::from(letter.dead_at_us.abs_diff(first)) * STRETCHES as u128 / length;
            if let Some(count) = usize::try_from(place).ok().and_then(|place| counts.get_mut(place)) {
                *count += 1;
            }
        }
        let lasted_ms = i64::try_from(length / 1_000).unwrap_or(i64::MAX);
        Some(Self { counts, lasted_ms, more: letters.len() >= LETTERS as usize })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters(at_us: &[i64]) -> Vec<LetterPlace> {
        at_us.iter().map(|&dead_at_us| LetterPlace { dead_at_us, id: 1 }).collect()
    }

    #[test]
    fn each_death_is_in_one_stretch_the_first_in_the_first_and_the_last_in_the_last() {
        let deaths = Deaths::of(&letters(&[24_000_000, 23_999_000, 500_000, 0])).expect("there are some");
        assert_eq!((deaths.counts[0], deaths.counts[23], deaths.counts.iter().sum::<u64>()), (2, 2, 4));
        assert_eq!((deaths.lasted_ms, deaths.more), (24_000, false));
        let at_once = Deaths::of(&letters(&[7, 7])).expect("there are some");
        assert_eq!((at_once.counts[0], at_once.lasted_ms), (2, 0));
        assert_eq!(Deaths::of(&[]), None);
        let far = Deaths::of(&letters(&[i64::MAX, i64::MIN])).expect("there are some");
        assert_eq!((far.counts[0], far.counts[23]), (1, 1));
    }
}
