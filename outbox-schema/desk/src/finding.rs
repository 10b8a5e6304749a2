//! Finding messages by what a customer knows of them: the target, the beginning of the key, tags, the tenant. Keys and tags are
//! found by an index, as long as few messages have them.

use outbox_schema::{MessageId, Tags};
use outbox_store::sql::{AnyConnection, Value};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::statements::{IDS_BY_KEY, IDS_BY_TAG, TAGS_ARE_LISTED};

/// Up to this many messages of a key or a tag count as few: they are read one by one.
const FEW: i64 = 10_000;

/// What a filter says that a customer knows.
#[derive(Debug)]
pub(super) struct Known<'a> {
    target: Option<&'a str>,
    key_prefix: Option<&'a str>,
    tenant: Option<&'a str>,
    /// `name=value`, as the index of tags has them.
    tags: Vec<String>,
    /// The tags as a JSON object.
    object: Option<String>,
}

impl<'a> Known<'a> {
    pub(super) fn new(
        target: Option<&'a String>,
        key_prefix: Option<&'a String>,
        tags: &Tags,
        tenant: Option<&'a String>,
    ) -> Self {
        Self {
            target: target.map(String::as_str),
            key_prefix: key_prefix.map(String::as_str),
            tenant: tenant.map(String::as_str),
            tags: tags.iter().map(|(name, value)| format!("{name}={value}")).collect(),
            object: tags.column(),
        }
    }

    /// Whether nothing is known.
    pub(super) fn is_nothing(&self) -> bool {
        let Self { target, key_prefix, tenant, tags, object: _ } = self;
        target.is_none() && key_prefix.is_none() && tenant.is_none() && tags.is_empty()
    }

    /// The values of the conditions of a statement, in the order in which every statement has them.
    pub(super) fn values(&self) -> [Value<'_>; 4] {
        [self.target.into(), self.key_prefix.into(), self.object.as_deref().into(), self.tenant.into()]
    }

    /// The messages that may meet the conditions, in no order, where an index finds them and they are few. The conditions are
    /// still to be looked at.
    pub(super) async fn few(&self, connection: &mut AnyConnection<'_>) -> sqlx::Result<Option<Vec<MessageId>>> {
        if let Some(prefix) = self.key_prefix {
            let end = end_of(prefix);
            let values = [prefix.into(), end.as_str().into(), (FEW + 1).into()];
            if let Some(found) = few(connection.rows(&IDS_BY_KEY, &values).await?, FEW) {
                return Ok(Some(found));
            }
        }
        if self.tags.is_empty() || !tags_are_listed(connection).await? {
            return Ok(None);
        }
        // PostgreSQL looks for all of them at once. Elsewhere no more is read of a tag than of the rarest before it.
        let at_once = matches!(connection, AnyConnection::Postgres(_));
        let (mut fewest, mut most) = (None, FEW);
        for tag in self.tags.iter().take(if at_once { 1 } else { usize::MAX }) {
            let values = [tag.into(), self.object.as_deref().into(), (most + 1).into()];
            if let Some(found) = few(connection.rows(&IDS_BY_TAG, &values).await?, most) {
                most = i64::try_from(found.len()).unwrap_or(most);
                fewest = Some(found);
            }
        }
        Ok(fewest)
    }
}

/// The ids that a statement found, where they are no more than `most`. It looked for one more.
pub(super) fn few(found: Vec<(i64,)>, most: i64) -> Option<Vec<MessageId>> {
    let few = i64::try_from(found.len()).is_ok_and(|number| number <= most);
    few.then(|| found.into_iter().map(|(id,)| MessageId(id)).collect())
}

/// Whether the database lists tags. MySQL and MariaDB do where `mysql_tags.sql` was run.
async fn tags_are_listed(connection: &mut AnyConnection<'_>) -> sqlx::Result<bool> {
    let listed: Vec<(bool,)> = connection.rows(&TAGS_ARE_LISTED, &[]).await?;
    Ok(listed.first().is_some_and(|(listed,)| *listed))
}

/// The first text after all that begin so.
fn end_of(prefix: &str) -> String {
    let mut end = prefix.to_owned();
    while let Some(last) = end.pop() {
        if let Some(next) = (last..=char::MAX).nth(1) {
            end.push(next);
            return end;
        }
    }
    // Longer than any key.
    char::MAX.to_string().repeat(256)
}

/// Reads a condition that must say something: where a variable of a script is empty, it would be met by all.
pub(super) fn said<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default + PartialEq>(
    deserializer: D,
) -> Result<T, D::Error> {
    let value = T::deserialize(deserializer)?;
    if value == T::default() { Err(D::Error::custom("it is empty, and all messages would meet it")) } else { Ok(value) }
}

/// The same of one that may be left out.
pub(super) fn said_if<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default + PartialEq>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    said(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_so_ends_before_the_next_text() {
        for (prefix, end) in [("order-1", "order-2"), ("a\u{10ffff}", "b"), ("\u{d7ff}", "\u{e000}")] {
            assert_eq!(end_of(prefix), end);
            assert!(prefix < end && format!("{prefix}\u{10ffff}x").as_str() < end);
        }
        assert!(end_of("\u{10ffff}").as_str() > "\u{10ffff}\u{10ffff}");
    }
}
