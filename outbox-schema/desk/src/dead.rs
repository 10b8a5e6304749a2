//! Reading dead letters. A fingerprint holds channel, reason and status code, and there are few fingerprints. So each
//! one that a filter admits is walked by itself in an index, only as far as the answer needs.

use std::collections::BTreeMap;

use outbox_schema::MessageId;
use outbox_store::Database;
use outbox_store::fingerprint::pattern;
use outbox_store::sql::{AnyConnection, AnyTransaction, Value, read};
use outbox_store::store::ids_as_json;

use super::finding::Known;
use super::selection::Span;
use super::statements::{
    DEAD_AMONG, DEAD_FINGERPRINT, DEAD_GROUP, DEAD_GROUP_MATCHING, DEAD_LAST, DEAD_LETTERS, DEAD_PAGE,
    DEAD_PAGE_MATCHING,
};
use super::{Cursor, DeadGroup, DeadLetter, DeadLetterFilter, DeadLetterPage, Selection, halted};

/// The most groups that are counted: those whose last letter died latest.
pub const GROUPS: usize = 1_000;

/// Letters of one statement, where a whole group is walked.
const CHUNK: u32 = 20_000;

/// One group, as the index shows it.
#[derive(Debug)]
struct Fingerprint {
    fingerprint: String,
    last_us: i64,
}

/// One letter, as the index shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, sqlx::FromRow)]
pub(super) struct LetterPlace {
    pub(super) dead_at_us: i64,
    pub(super) id: i64,
}

#[derive(Debug, sqlx::FromRow)]
struct Counted {
    letters: i64,
    first_seen: Option<String>,
    last_seen: Option<String>,
    example: Option<i64>,
}

/// The conditions of a filter that no index of dead letters tells.
pub(super) struct Rest<'a> {
    error_contains: Option<&'a str>,
    known: Known<'a>,
}

impl<'a> Rest<'a> {
    pub(super) fn of(filter: &'a DeadLetterFilter) -> Self {
        Self { error_contains: filter.error_contains.as_deref(), known: filter.known() }
    }

    pub(super) fn is_nothing(&self) -> bool {
        self.error_contains.is_none() && self.known.is_nothing()
    }

    /// The values of the conditions of a statement.
    fn values(&self) -> impl Iterator<Item = Value<'_>> {
        std::iter::once(self.error_contains.into()).chain(self.known.values())
    }
}

/// A walk over the letters that a filter finds, in groups.
pub(super) struct Walk<'a> {
    filter: &'a DeadLetterFilter,
    span: Span,
    groups: Vec<Fingerprint>,
}

impl<'a> Walk<'a> {
    /// A walk over groups that are known already.
    pub(super) fn over(filter: &'a DeadLetterFilter, now_us: i64) -> Self {
        Self { filter, span: filter.span(now_us), groups: Vec::new() }
    }

    async fn of(
        connection: &mut AnyConnection<'_>,
        filter: &'a DeadLetterFilter,
        after: Option<Cursor>,
    ) -> sqlx::Result<Self> {
        let mut walk = Self::over(filter, connection.now_us().await?);
        let span = &walk.span;
        let up_to_us = after.map_or(span.until_us, |cursor| cursor.dead_at_us.min(span.until_us));
        let mut groups = Vec::new();
        let mut before = String::new();
        while let Some((fingerprint,)) =
            connection.rows::<(String,)>(&DEAD_FINGERPRINT, &[Value::from(&before)]).await?.pop()
        {
            before.clone_from(&fingerprint);
            if !filter.admits(&fingerprint) {
                continue;
            }
            let last: Vec<(Option<i64>,)> =
                connection.rows(&DEAD_LAST, &[Value::from(&fingerprint), up_to_us.into()]).await?;
            if let Some(&(Some(last_us),)) = last.first()
                && last_us >= span.since_us
            {
                groups.push(Fingerprint { fingerprint, last_us });
            }
        }
        groups.sort_unstable_by_key(|group| std::cmp::Reverse(group.last_us));
        walk.groups = groups;
        Ok(walk)
    }

    /// Up to `limit` letters of a group, the most recently dead first, from the place where an earlier page ended.
    pub(super) async fn page(
        &self,
        connection: &mut AnyConnection<'_>,
        fingerprint: &str,
        after: Option<Cursor>,
        limit: u32,
    ) -> sqlx::Result<Vec<LetterPlace>> {
        let after = after.filter(|cursor| cursor.dead_at_us <= self.span.until_us);
        let mut values = vec![
            fingerprint.into(),
            self.filter.destination.as_deref().into(),
            self.span.since_us.into(),
            after.map_or(self.span.until_us, |cursor| cursor.dead_at_us).into(),
            after.map_or(i64::MAX, |cursor| cursor.id.0).into(),
            i64::from(limit).into(),
        ];
        let rest = Rest::of(self.filter);
        if rest.is_nothing() {
            return connection.rows(&DEAD_PAGE, &values).await;
        }
        values.extend(rest.values());
        connection.rows(&DEAD_PAGE_MATCHING, &values).await
    }

    /// All letters of a group, chunk by chunk.
    async fn each(
        &self,
        connection: &mut AnyConnection<'_>,
        group: &Fingerprint,
        mut take: impl FnMut(&[LetterPlace]),
    ) -> sqlx::Result<()> {
        let mut after = None;
        loop {
            let chunk = self.page(connection, &group.fingerprint, after, CHUNK).await?;
            take(&chunk);
            match chunk.last() {
                Some(last) if chunk.len() == CHUNK as usize => after = Some(last.cursor()),
                Some(_) | None => return Ok(()),
            }
        }
    }
}

impl LetterPlace {
    fn cursor(self) -> Cursor {
        Cursor { dead_at_us: self.dead_at_us, id: MessageId(self.id) }
    }
}

/// The database's clock when it was first asked for.
pub(super) async fn first_asked(connection: &mut AnyConnection<'_>, at_us: &mut Option<i64>) -> sqlx::Result<i64> {
    match *at_us {
        Some(us) => Ok(us),
        None => Ok(*at_us.insert(connection.now_us().await?)),
    }
}

pub(super) async fn page(
    database: &Database,
    filter: &DeadLetterFilter,
    halting: &[String],
    after: Option<Cursor>,
    limit: u32,
) -> sqlx::Result<DeadLetterPage> {
    let mut transaction = AnyTransaction::to_read(database).await?;
    let mut connection = transaction.connection();
    // One more than the limit tells whether there is a next page.
    let wanted = limit.saturating_add(1);
    let found = newest(&mut connection, filter, after, wanted).await?;
    let ids: Vec<_> = found.iter().take(limit as usize).map(|found| MessageId(found.id)).collect();
    let mut letters = letters(&mut connection, &ids).await?;
    halted::mark(&mut connection, &mut letters, halting).await?;
    transaction.commit().await?;
    let more = found.len() == wanted as usize;
    Ok(DeadLetterPage { next: letters.last().filter(|_| more).map(DeadLetter::cursor), letters })
}

/// The `limit` letters that died last. Groups come in the order of their last letter. So groups that can add no more
/// letters are not read: that ends after `limit` groups at the latest.
async fn newest(
    connection: &mut AnyConnection<'_>,
    filter: &DeadLetterFilter,
    after: Option<Cursor>,
    limit: u32,
) -> sqlx::Result<Vec<LetterPlace>> {
    if let Some(mut letters) = few(connection, filter).await? {
        let after = after.map(|cursor| LetterPlace { dead_at_us: cursor.dead_at_us, id: cursor.id.0 });
        letters.retain(|letter| after.is_none_or(|after| *letter < after));
        letters.sort_unstable_by(|one, other| other.cmp(one));
        letters.truncate(limit as usize);
        return Ok(letters);
    }
    let walk = Walk::of(connection, filter, after).await?;
    let mut newest: Vec<LetterPlace> = Vec::new();
    for group in &walk.groups {
        if newest.get(limit as usize - 1).is_some_and(|last| last.dead_at_us > group.last_us) {
            break;
        }
        newest.extend(walk.page(connection, &group.fingerprint, after, limit).await?);
        newest.sort_unstable_by(|one, other| other.cmp(one));
        newest.truncate(limit as usize);
    }
    Ok(newest)
}

async fn letters(connection: &mut AnyConnection<'_>, ids: &[MessageId]) -> sqlx::Result<Vec<DeadLetter>> {
    connection.rows(&DEAD_LETTERS, &[(&ids_as_json(ids)).into()]).await
}

/// The letters that a filter finds by what a customer knows, in no order. None where no index tells, or too many have it.
async fn few(connection: &mut AnyConnection<'_>, filter: &DeadLetterFilter) -> sqlx::Result<Option<Vec<LetterPlace>>> {
    let rest = Rest::of(filter);
    let Some(ids) = rest.known.few(connection).await? else { return Ok(None) };
    let span = filter.span(connection.now_us().await?);
    let named = ids_as_json(&ids);
    let mut values =
        vec![Value::from(&named), filter.destination.as_deref().into(), span.since_us.into(), span.until_us.into()];
    values.extend(rest.values());
    let found: Vec<(i64, i64, String)> = connection.rows(&DEAD_AMONG, &values).await?;
    let admitted = found.into_iter().filter(|(_, _, fingerprint)| filter.admits(fingerprint));
    Ok(Some(admitted.map(|(id, dead_at_us, _)| LetterPlace { dead_at_us, id }).collect()))
}

/// All letters of a selection, the lowest id first, so that the letters of an ordering key keep their order. What a filter means is
/// what it meant at the first call, whose time `as_of_us` keeps.
pub(super) async fn meant(
    database: &Database,
    selection: &Selection,
    as_of_us: &mut Option<i64>,
) -> sqlx::Result<Vec<MessageId>> {
    let mut ids = match selection {
        Selection::Ids(ids) => ids.clone(),
        Selection::Filter(filter) => {
            let mut ids = Vec::new();
            let mut transaction = AnyTransaction::to_read(database).await?;
            let mut connection = transaction.connection();
            let filter = &filter.as_of(first_asked(&mut connection, as_of_us).await?);
            let mut take = |chunk: &[LetterPlace]| ids.extend(chunk.iter().map(|found| MessageId(found.id)));
            if let Some(letters) = few(&mut connection, filter).await? {
                take(&letters);
            } else {
                let walk = Walk::of(&mut connection, filter, None).await?;
                for group in &walk.groups {
                    walk.each(&mut connection, group, &mut take).await?;
                }
            }
            transaction.commit().await?;
            ids
        }
    };
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

pub(super) async fn groups(database: &Database, filter: &DeadLetterFilter) -> sqlx::Result<Vec<DeadGroup>> {
    let mut transaction = AnyTransaction::to_read(database).await?;
    let mut connection = transaction.connection();
    if let Some(letters) = few(&mut connection, filter).await? {
        transaction.commit().await?;
        let ids: Vec<_> = letters.iter().map(|letter| MessageId(letter.id)).collect();
        return groups_of(database, &ids).await;
    }
    let walk = Walk::of(&mut connection, filter, None).await?;
    let mut groups = Vec::new();
    for group in walk.groups.iter().take(GROUPS) {
        groups.extend(counted(&mut connection, &walk, group).await?);
    }
    transaction.commit().await?;
    Ok(most_first(groups))
}

async fn counted(
    connection: &mut AnyConnection<'_>,
    walk: &Walk<'_>,
    group: &Fingerprint,
) -> sqlx::Result<Option<DeadGroup>> {
    let mut values = vec![
        Value::from(&group.fingerprint),
        walk.filter.destination.as_deref().into(),
        walk.span.since_us.into(),
        walk.span.until_us.into(),
    ];
    let rest = Rest::of(walk.filter);
    let mut counted: Vec<Counted> = if rest.is_nothing() {
        connection.rows_from_index(&DEAD_GROUP, &values).await?
    } else {
        values.extend(rest.values());
        connection.rows(&DEAD_GROUP_MATCHING, &values).await?
    };
    let Some(Counted { letters: count, first_seen: Some(first), last_seen: Some(last), example: Some(example) }) =
        counted.pop()
    else {
        return Ok(None);
    };
    let example = letters(connection, &[MessageId(example)]).await?.pop();
    Ok(example.map(|example| DeadGroup {
        count: count.try_into().unwrap_or(0),
        first_seen: first,
        last_seen: last,
        ..DeadGroup::begun_by(example)
    }))
}

/// The groups of those among `ids` that are dead letters.
pub(super) async fn groups_of(database: &Database, ids: &[MessageId]) -> sqlx::Result<Vec<DeadGroup>> {
    let mut groups: BTreeMap<String, DeadGroup> = BTreeMap::new();
    for some in ids.chunks(CHUNK as usize) {
        let letters: Vec<DeadLetter> = read(database, &DEAD_LETTERS, &[(&ids_as_json(some)).into()]).await?;
        for letter in letters {
            match groups.get_mut(&letter.fingerprint) {
                Some(group) => group.add(letter),
                None => drop(groups.insert(letter.fingerprint.clone(), DeadGroup::begun_by(letter))),
            }
        }
    }
    Ok(most_first(groups.into_values().collect()))
}

fn most_first(mut groups: Vec<DeadGroup>) -> Vec<DeadGroup> {
    groups.sort_by(|one, other| other.count.cmp(&one.count).then_with(|| one.fingerprint.cmp(&other.fingerprint)));
    groups
}

impl DeadGroup {
    fn begun_by(letter: DeadLetter) -> Self {
        // Without a hash no error was recorded for this death: the error in the row is that of an earlier attempt.
        let error = letter.last_error.filter(|_| !letter.fingerprint.ends_with("/-"));
        Self {
            fingerprint: letter.fingerprint,
            channel: letter.channel,
            dead_reason: letter.dead_reason,
            status_code: letter.last_status_code,
            error: error.map(|error| pattern(&error)),
            count: 1,
            first_seen: letter.dead_at.clone(),
            last_seen: letter.dead_at,
            example: MessageId(letter.id),
        }
    }

    /// Counts a letter. The most recently dead letter comes first.
    fn add(&mut self, letter: DeadLetter) {
        self.count += 1;
        self.first_seen = letter.dead_at;
        self.example = self.example.max(MessageId(letter.id));
    }
}
