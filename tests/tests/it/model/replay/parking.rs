//! Claims that stand still before their commit: a trigger on `outbox_claim` waits for a lock that a
//! connection of the test's own holds.

use std::time::Duration;

use outbox_tests::conformance::store::{Dialect, Outbox};
use outbox_tests::eventually;
use sqlx::{Connection, Executor, MySqlConnection, PgConnection};

const PATIENCE: Duration = Duration::from_secs(20);

/// Where claims are parked. On SQLite nowhere: it has one writer at a time, so that nothing can come between.
pub(super) enum Parking {
    Postgres(PgConnection),
    MySql(MySqlConnection),
    Sqlite,
}

impl Parking {
    pub(super) async fn of(outbox: &Outbox) -> Self {
        match outbox.dialect {
            Dialect::Postgres => {
                outbox
                    .execute(
                        "CREATE FUNCTION park() RETURNS trigger LANGUAGE plpgsql AS $$
                         BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NEW; END $$;
                         CREATE TRIGGER park BEFORE INSERT ON outbox_claim FOR EACH ROW EXECUTE FUNCTION park()",
                    )
                    .await;
                Self::Postgres(PgConnection::connect(outbox.url()).await.unwrap())
            }
            Dialect::MySql => {
                outbox
                    .execute(
                        "CREATE TRIGGER park BEFORE INSERT ON outbox_claim FOR EACH ROW
                         SET @parked = GET_LOCK(DATABASE(), 60), @gone_on = RELEASE_LOCK(DATABASE())",
                    )
                    .await;
                Self::MySql(MySqlConnection::connect(outbox.url()).await.unwrap())
            }
            Dialect::Sqlite => Self::Sqlite,
        }
    }

    /// Whether a claim can be parked at all.
    pub(super) fn is_possible(&self) -> bool {
        !matches!(self, Self::Sqlite)
    }

    /// Claims stand still from here on.
    pub(super) async fn close(&mut self) {
        match self {
            Self::Postgres(connection) => drop(connection.execute("SELECT pg_advisory_lock(1)").await.unwrap()),
            Self::MySql(connection) => drop(connection.execute("DO GET_LOCK(DATABASE(), 60)").await.unwrap()),
            Self::Sqlite => {}
        }
    }

    /// Lets them go on.
    pub(super) async fn open(&mut self) {
        match self {
            Self::Postgres(connection) => drop(connection.execute("SELECT pg_advisory_unlock_all()").await.unwrap()),
            Self::MySql(connection) => drop(connection.execute("DO RELEASE_ALL_LOCKS()").await.unwrap()),
            Self::Sqlite => {}
        }
    }
}

/// Waits until a claim stands still or `done` says that there is none.
pub(super) async fn until_parked(outbox: &Outbox, done: impl Fn() -> bool) {
    let parked = match outbox.dialect {
        Dialect::Postgres => "pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'",
        Dialect::MySql => "information_schema.processlist WHERE db = DATABASE() AND state = 'User lock'",
        Dialect::Sqlite => return,
    };
    until(outbox, "a claim is parked", parked, done).await;
}

/// Waits until a statement waits for the lock of a row, or `done` says that it does not.
pub(super) async fn until_blocked(outbox: &Outbox, done: impl Fn() -> bool) {
    let blocked = match outbox.dialect {
        Dialect::Postgres => {
            "pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
             AND wait_event <> 'advisory'"
        }
        Dialect::MySql => {
            "information_schema.innodb_trx t JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id
             WHERE p.db = DATABASE() AND t.trx_state = 'LOCK WAIT'"
        }
        Dialect::Sqlite => return,
    };
    until(outbox, "a statement waits for a row", blocked, done).await;
}

async fn until(outbox: &Outbox, what: &str, seen: &str, done: impl Fn() -> bool) {
    let done = &done;
    eventually(what, PATIENCE, async || {
        if outbox.dialect == Dialect::MySql {
            // What it shows of transactions is refreshed only when nobody has looked for a tenth of a second.
            tokio::time::sleep(Duration::from_millis(150)).await;
        }
        (done() || outbox.count(seen).await > 0).then_some(())
    })
    .await;
}
