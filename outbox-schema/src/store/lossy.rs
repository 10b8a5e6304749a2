//! Texts that an application wrote and whose encoding a database did not check.

use sqlx::error::BoxDynError;
use sqlx::mysql::MySqlTypeInfo;
use sqlx::postgres::PgTypeInfo;
use sqlx::sqlite::SqliteTypeInfo;
use sqlx::{Database, Decode, MySql, Postgres, Sqlite, Type};

/// A text, or one that may be NULL. SQLite takes any bytes for a text, and nothing in its SQL tells UTF-8 from the rest,
/// so no CHECK can refuse such a row. Where they are no UTF-8, U+FFFD stands in their place: the row has its own outcome
/// then, and does not fail all that are read with it. The other databases see to it themselves.
#[derive(Debug)]
pub struct Lossy<T>(T);

impl From<Lossy<Self>> for String {
    fn from(text: Lossy<Self>) -> Self {
        text.0
    }
}

impl From<Lossy<Self>> for Option<String> {
    fn from(text: Lossy<Self>) -> Self {
        text.0
    }
}

impl<T: Type<Postgres>> Type<Postgres> for Lossy<T> {
    fn type_info() -> PgTypeInfo {
        T::type_info()
    }

    fn compatible(found: &PgTypeInfo) -> bool {
        T::compatible(found)
    }
}

impl<T: Type<MySql>> Type<MySql> for Lossy<T> {
    fn type_info() -> MySqlTypeInfo {
        T::type_info()
    }

    fn compatible(found: &MySqlTypeInfo) -> bool {
        T::compatible(found)
    }
}

impl<T: Type<Sqlite>> Type<Sqlite> for Lossy<T> {
    fn type_info() -> SqliteTypeInfo {
        T::type_info()
    }

    fn compatible(found: &SqliteTypeInfo) -> bool {
        T::compatible(found)
    }
}

impl<'r, T: Decode<'r, Postgres>> Decode<'r, Postgres> for Lossy<T> {
    fn decode(value: <Postgres as Database>::ValueRef<'r>) -> Result<Self, BoxDynError> {
        T::decode(value).map(Self)
    }
}

impl<'r, T: Decode<'r, MySql>> Decode<'r, MySql> for Lossy<T> {
    fn decode(value: <MySql as Database>::ValueRef<'r>) -> Result<Self, BoxDynError> {
        T::decode(value).map(Self)
    }
}

impl<'r> Decode<'r, Sqlite> for Lossy<String> {
    fn decode(value: <Sqlite as Database>::ValueRef<'r>) -> Result<Self, BoxDynError> {
        <&[u8] as Decode<Sqlite>>::decode(value).map(|bytes| Self(text(bytes)))
    }
}

impl<'r> Decode<'r, Sqlite> for Lossy<Option<String>> {
    fn decode(value: <Sqlite as Database>::ValueRef<'r>) -> Result<Self, BoxDynError> {
        <Option<&[u8]> as Decode<Sqlite>>::decode(value).map(|bytes| Self(bytes.map(text)))
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
