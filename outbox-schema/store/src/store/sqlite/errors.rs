//! Which errors are about the values of a statement.

use sqlx::error::DatabaseError;
use sqlx::sqlite::SqliteError;

use crate::StoreError;

/// Primary result codes `TOOBIG`, `CONSTRAINT`, `MISMATCH`. Any other error (busy, read-only, full, I/O) may pass.
/// <https://www.sqlite.org/rescode.html>
const ABOUT_DATA: [u32; 3] = [18, 19, 20];

/// An extended result code holds its primary one in the lowest byte.
const PRIMARY: u32 = 0xff;

pub(super) fn failed(doing: &'static str, error: sqlx::Error) -> StoreError {
    StoreError::of(doing, error, is_about_data)
}

pub(in crate::store) fn is_about_data(error: &dyn DatabaseError) -> bool {
    let code = error.try_downcast_ref::<SqliteError>().and_then(DatabaseError::code);
    let code = code.and_then(|code| code.parse::<u32>().ok());
    code.is_some_and(|code| ABOUT_DATA.contains(&(code & PRIMARY)))
}
