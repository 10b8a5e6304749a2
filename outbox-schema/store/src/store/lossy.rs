//! Texts that an application wrote and whose encoding the database did not check.

use sqlx::error::BoxDynError;
use sqlx::mysql::MySqlTypeInfo;
use sqlx::postgres::PgTypeInfo;
use sqlx::sqlite::SqliteTypeInfo;
use sqlx::{Database, Decode, MySql, Postgres, Sqlite, Type};

/// A text, or one that may be NULL. SQLite takes any bytes for a text. Its SQL cannot tell UTF-8 from other bytes, so
/// no CHECK can refuse such a row. Bytes that are not UTF-8 become U+FFFD here. So the row gets an outcome of its own,
/// and does not fail the rows that are read with it. The other databases check the encoding themselves.
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
