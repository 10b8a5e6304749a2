//! How far PostgreSQL is with an index that a migration makes: on a large table it takes minutes.

use crate::Database;

/// The work of PostgreSQL on an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexBuild {
    /// The server reads the table.
    Reading {
        /// The part of the table that was read.
        percent: u8,
    },
    /// The server sorts what it read, and does not say how far it is.
    Sorting,
    /// The server writes the index.
    Writing {
        /// The part of the index that was written.
        percent: u8,
    },
}

/// A row of `pg_stat_progress_create_index`.
#[derive(Debug, Default, sqlx::FromRow)]
struct Row {
    phase: Option<String>,
    blocks_done: Option<i64>,
    blocks_total: Option<i64>,
    tuples_done: Option<i64>,
    tuples_total: Option<i64>,
}

impl Database {
    /// How far an index is that another connection makes on the table `outbox`. None where there is none, and where the database
    /// does not say.
    pub async fn index_build(&self) -> sqlx::Result<Option<IndexBuild>> {
        let Self::Postgres(pool) = self else { return Ok(None) };
        let row: Option<Row> = sqlx::query_as(query!("postgres/migrate/index_build")).fetch_optional(pool).await?;
        Ok(row.as_ref().and_then(build))
    }
}

/// The phases are those of <https://www.postgresql.org/docs/current/progress-reporting.html#CREATE-INDEX-PHASES>. An index of tags
/// has one for all its work, `building index`.
fn build(row: &Row) -> Option<IndexBuild> {
    match row.phase.as_deref()? {
        "building index: sorting live tuples" => Some(IndexBuild::Sorting),
        "building index: loading tuples in tree" => {
            percent(row.tuples_done, row.tuples_total).map(|percent| IndexBuild::Writing { percent })
        }
        phase if phase.starts_with("building index") => {
            percent(row.blocks_done, row.blocks_total).map(|percent| IndexBuild::Reading { percent })
        }
        _ => None,
    }
}

/// None where the total is not known.
fn percent(done: Option<i64>, total: Option<i64>) -> Option<u8> {
    let (done, total) = (i128::from(done?), i128::from(total?));
    if total <= 0 { None } else { u8::try_from((done * 100 / total).clamp(0, 100)).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_read_sorted_and_written() {
        let row = |phase: &str| Row {
            phase: Some(phase.to_owned()),
            blocks_done: Some(50),
            blocks_total: Some(200),
            tuples_done: Some(9),
            tuples_total: Some(10),
        };
        assert_eq!(build(&row("building index: scanning table")), Some(IndexBuild::Reading { percent: 25 }));
        assert_eq!(build(&row("building index: sorting live tuples")), Some(IndexBuild::Sorting));
        assert_eq!(build(&row("building index: loading tuples in tree")), Some(IndexBuild::Writing { percent: 90 }));
        assert_eq!(build(&row("building index")), Some(IndexBuild::Reading { percent: 25 }));
        assert_eq!(build(&row("initializing")), None);
    }

    #[test]
    fn a_total_that_is_not_known_is_no_share_of_anything() {
        let row = |total| Row {
            phase: Some("building index".to_owned()),
            blocks_done: Some(1),
            blocks_total: total,
            ..Row::default()
        };
        assert_eq!([build(&row(None)), build(&row(Some(0)))], [None, None]);
        assert_eq!(build(&Row::default()), None);
    }
}
