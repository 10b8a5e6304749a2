//! Connections to a database server that a caller may give up in the middle of a statement.

use std::ops::{Deref, DerefMut};

use sqlx::pool::PoolConnection;
use sqlx::{Database, Executor, MySql, Pool, Postgres};

use crate::silence::acquire;

/// A connection to a database server for one piece of work. It goes back to its pool only where that work came to its end. After
/// an error, or where the caller gives the work up, it is closed, and the server rolls back what was not committed.
///
/// What is done on a session may be given up at any moment. That is not so of a connection or a transaction of sqlx 0.9, which
/// goes back to the pool however its work ended:
///
/// - On MySQL a call that is given up can leave a part of its answer unread (<https://github.com/transact-rs/sqlx/issues/563>).
///   Where it was preparing a statement, that part is taken for the answer to the ping with which the pool takes the connection
///   back. The pool then waits for the rest for ever, and has lost a place.
/// - On PostgreSQL the pool takes a connection back by a ping that has no time limit. Where the server is gone without a
///   word, the pool has lost a place.
/// - On PostgreSQL a transaction that is given up while it begins stays open (<https://github.com/transact-rs/sqlx/issues/4393>).
///   The pool does not know of it, and what the next caller writes there is never committed.
///
/// SQLite has no server, and needs no session: sqlx rolls back there what was begun and given up.
#[derive(Debug)]
pub struct Session<DB: Database> {
    connection: PoolConnection<DB>,
    finished: bool,
}

impl<DB: Database> Session<DB> {
    /// A session in which each statement commits by itself. It ends with [`Self::finish`].
    pub async fn open(pool: &Pool<DB>) -> sqlx::Result<Self> {
        Ok(Self { connection: acquire(pool).await?, finished: false })
    }

    /// Returns the connection to the pool. Not before the end of its transaction, where there is one.
    pub fn finish(mut self) {
        self.finished = true;
    }
}

/// How a transaction ends.
pub trait Transactional: Database {
    /// The statement that commits.
    const COMMIT: &'static str = "COMMIT";
    /// The statement that undoes all.
    const ROLL_BACK: &'static str = "ROLLBACK";
}

impl Transactional for Postgres {}

/// On MySQL a transaction begins with `mysql/poller/begin`, which has the server end a session that stands still within it.
impl Transactional for MySql {
    const COMMIT: &'static str = query!("mysql/poller/commit");
    const ROLL_BACK: &'static str = query!("mysql/poller/roll_back");
}

impl<DB: Transactional> Session<DB>
where
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
{
    /// A session in a transaction that `statement` begins. It ends with [`Self::commit`] or [`Self::roll_back`].
    pub async fn begin(pool: &Pool<DB>, statement: &'static str) -> sqlx::Result<Self> {
        let mut session = Self::open(pool).await?;
        session.execute(statement).await?;
        Ok(session)
    }

    /// Commits the transaction, and returns the connection to the pool.
    pub async fn commit(mut self) -> sqlx::Result<()> {
        self.execute(DB::COMMIT).await?;
        self.finish();
        Ok(())
    }

    /// Rolls the transaction back, and returns the connection to the pool.
    pub async fn roll_back(mut self) -> sqlx::Result<()> {
        self.execute(DB::ROLL_BACK).await?;
        self.finish();
        Ok(())
    }
}

impl<DB: Database> Drop for Session<DB> {
    fn drop(&mut self) {
        if !self.finished {
            self.connection.close_on_drop();
        }
    }
}

impl<DB: Database> Deref for Session<DB> {
    type Target = DB::Connection;

    fn deref(&self) -> &DB::Connection {
        &self.connection
    }
}

impl<DB: Database> DerefMut for Session<DB> {
    fn deref_mut(&mut self) -> &mut DB::Connection {
        &mut self.connection
    }
}
