//! A lease that a session of the outbox database holds: a lock, which ends with its session.
//!
//! The server ends the session at once where its process is gone. Where the host is gone, or the process stands still, it does so once
//! nothing was asked on the session for the time to live. So a crash costs a candidate's next look, and no time to live. The row in
//! `outbox_lease` only says who holds the lock.
//!
//! The lock may go before its time: somebody ends the session, or something between cuts it. Then another replica may begin a term
//! before this one hears of it, as where Redis forgets its keys. The epoch in the database keeps the two apart.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use outbox_store::session::Session;
use outbox_store::{ConnectError, Database, Holder, Seat};
use sqlx::{Executor, MySql, PgPool, Postgres};
use tokio::sync::Mutex;

use super::calls::{LIMIT, held, limit, microseconds, milliseconds, on, question, released, statement, to_its_end};
use super::{Held, Lease, LeaseError};

/// How often a holder looks whether its session has the lock still.
const LOOK: Duration = Duration::from_millis(250);

/// How long the sessions of a trial live at most: see [`SessionLease::new`].
const TRIAL: Duration = Duration::from_mins(1);

/// The lease of one outbox, held by a session of its database: PostgreSQL, MySQL or MariaDB. The pool of the database is its own.
#[derive(Debug, Clone)]
pub struct SessionLease {
    database: Database,
    outbox_id: String,
    /// The leases that this process holds, by their seats.
    seats: Arc<Mutex<HashMap<Seat, HeldSeat>>>,
}

/// A lease that this process holds, until its session turns out to be gone.
#[derive(Debug)]
struct HeldSeat {
    holder: Holder,
    session: LockSession,
}

/// The seat of a holder, taken out: where a call fails or is given up, its session is closed.
fn seat_of(seats: &mut HashMap<Seat, HeldSeat>, seat: &Seat, holder: &Holder) -> Option<HeldSeat> {
    if seats.get(seat)?.holder == *holder { seats.remove(seat) } else { None }
}

/// Why no lease can be held by a session there.
#[derive(Debug, thiserror::Error)]
pub enum SessionSetupError {
    /// Each node has locks of its own.
    #[error(
        "lease.provider = \"session\" is refused on a node of Galera (Percona XtraDB Cluster): each node has locks of its own, and two \
         replicas could poll at once. Set lease.provider = \"table\", or keep the lease in Redis (lease.url)"
    )]
    Nodes,
    /// A proxy lends one session to several connections, or another one to each statement; or it drops what is set in it.
    #[error(
        "lease.provider = \"session\" is refused: a proxy stands before the database, and shares its sessions or drops what is set in \
         them (wait_timeout). A lock of a session keeps nobody away there. Lead database.url to the server itself, or set \
         lease.provider = \"table\""
    )]
    Pooler,
    /// The database is away, or refuses.
    #[error(transparent)]
    Database(ConnectError),
}

impl From<sqlx::Error> for SessionSetupError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(ConnectError::Connect(error))
    }
}

impl SessionLease {
    /// The lease of the outbox with this id. A trial shows first that a session there keeps a lock to itself.
    pub async fn new(database: Database, outbox_id: &str) -> Result<Self, SessionSetupError> {
        if database.replication().await?.has_locks_by_node() {
            return Err(SessionSetupError::Nodes);
        }
        let (mut one, mut other) = (LockSession::open(&database).await?, LockSession::open(&database).await?);
        let lock = format!("{outbox_id} trial {}", RandomState::new().build_hasher().finish());
        let (had, also) = (one.take(&lock, TRIAL).await?, other.take(&lock, TRIAL).await?);
        // Both sessions are closed: nothing is left of the trial.
        if !had || also || !one.holds(&lock, TRIAL).await? {
            return Err(SessionSetupError::Pooler);
        }
        Ok(Self { database, outbox_id: outbox_id.to_owned(), seats: Arc::default() })
    }

    fn lock(&self, seat: &Seat) -> String {
        match seat {
            Seat::Shard(shard) => format!("outbox {} {shard}", self.outbox_id),
            Seat::Job(name) => format!("outbox {} job {name}", self.outbox_id),
        }
    }

    async fn take(&self, seat: &Seat, holder: &Holder, ttl: Duration) -> sqlx::Result<bool> {
        let (mut seats, lock) = (self.seats.lock().await, self.lock(seat));
        // Who asks again, after an answer that was lost, has it. The session of another holder is not asked: that would keep it alive.
        if let Some(mut held) = seat_of(&mut seats, seat, holder)
            && held.session.holds(&lock, ttl).await?
        {
            seats.insert(seat.clone(), held);
            return Ok(true);
        }
        let mut session = LockSession::open(&self.database).await?;
        if !session.take(&lock, ttl).await? {
            session.leave().await?;
            return Ok(false);
        }
        session.note(seat, holder, ttl).await?;
        seats.insert(seat.clone(), HeldSeat { holder: holder.clone(), session });
        Ok(true)
    }

    /// Whether the session of this holder has the lock still, which then lives for so long. A renewal writes that down. A session that
    /// has it no more, or fails, is closed, and the lock is gone with it.
    async fn has(&self, seat: &Seat, holder: &Holder, ttl: Duration, renews: bool) -> bool {
        let mut seats = self.seats.lock().await;
        let Some(mut held) = seat_of(&mut seats, seat, holder) else { return false };
        let asking = async {
            let holds = held.session.holds(&self.lock(seat), ttl).await?;
            if holds && renews {
                held.session.note(seat, holder, ttl).await?;
            }
            Ok::<_, sqlx::Error>(holds)
        };
        let holds = asking.await.unwrap_or_else(|error| {
            let error = outbox_schema::words::words(&error);
            tracing::warn!(%holder, error, "lease.session_lost");
            false
        });
        if holds {
            seats.insert(seat.clone(), held);
        }
        holds
    }

    async fn give_up(&self, seat: &Seat, holder: &Holder) -> sqlx::Result<bool> {
        let Some(HeldSeat { mut session, .. }) = seat_of(&mut *self.seats.lock().await, seat, holder) else {
            return Ok(false);
        };
        session.note(seat, holder, Duration::ZERO).await?;
        let had = session.release(&self.lock(seat)).await?;
        session.leave().await?;
        Ok(had)
    }

    async fn read(&self, seat: &Seat) -> sqlx::Result<Option<(String, i64)>> {
        let lock = self.lock(seat);
        match &self.database {
            Database::Postgres(pool) => {
                let current = question::<Postgres>(seat, include_str!("sql/postgres/session_current.sql"))?.bind(lock);
                on(pool, async |connection| current.fetch_optional(connection).await).await
            }
            Database::MySql(pool) => {
                let current = question::<MySql>(seat, include_str!("sql/mysql/session_current.sql"))?.bind(lock);
                on(pool, async |connection| current.fetch_optional(connection).await).await
            }
            Database::Sqlite(_) => Err(no_sessions()),
        }
    }
}

#[async_trait]
impl Lease for SessionLease {
    async fn acquire(&self, seat: &Seat, holder: &Holder, ttl: Duration) -> Result<bool, LeaseError> {
        let (lease, seat, holder) = (self.clone(), seat.clone(), holder.clone());
        let database = self.database.clone();
        let acquired = to_its_end(database, limit(ttl), async move { lease.take(&seat, &holder, ttl).await });
        acquired.await.map_err(failed("campaigning for the lease"))
    }

    /// A renewal has so long for its answer that the session of a slow server is not closed before trust in it ends.
    async fn renew(&self, seat: &Seat, holder: &Holder, ttl: Duration) -> Result<bool, LeaseError> {
        let (lease, seat, holder) = (self.clone(), seat.clone(), holder.clone());
        let database = self.database.clone();
        let renewed =
            to_its_end(database, LIMIT.max(ttl * 2 / 3), async move { Ok(lease.has(&seat, &holder, ttl, true).await) });
        renewed.await.map_err(failed("renewing the lease"))
    }

    async fn release(&self, seat: &Seat, holder: &Holder) -> Result<bool, LeaseError> {
        let (lease, seat, holder) = (self.clone(), seat.clone(), holder.clone());
        let released = to_its_end(self.database.clone(), LIMIT, async move { lease.give_up(&seat, &holder).await });
        released.await.map_err(failed("releasing the lease"))
    }

    async fn released(&self, seat: &Seat) {
        released(self, seat).await;
    }

    /// Nothing tells of the end of a session but a statement that fails in it.
    async fn lost(&self, seat: &Seat, holder: &Holder, ttl: Duration) {
        loop {
            tokio::time::sleep(LOOK).await;
            let (lease, seat, holder) = (self.clone(), seat.clone(), holder.clone());
            // Not before trust in it ends is the session of a server closed that says nothing.
            let has = async move { Ok(lease.has(&seat, &holder, ttl, false).await) };
            let has = to_its_end(self.database.clone(), LIMIT.max(ttl), has);
            if !has.await.unwrap_or_default() {
                return;
            }
        }
    }

    async fn current(&self, seat: &Seat) -> Result<Option<Held>, LeaseError> {
        let (lease, seat) = (self.clone(), seat.clone());
        let found = to_its_end(self.database.clone(), LIMIT, async move { lease.read(&seat).await });
        Ok(found.await.map_err(failed("asking who holds the lease"))?.map(held))
    }
}

/// A session that may hold locks. Where it fails, or is given up, it is closed, and its locks go.
#[derive(Debug)]
enum LockSession {
    Postgres {
        session: Session<Postgres>,
        /// PostgreSQL 13 ends no idle session, but an idle transaction. There the lock is one of a transaction, which stays open, and
        /// the row is written beside it.
        beside: Option<PgPool>,
    },
    MySql(Session<MySql>),
}

/// The first version of PostgreSQL with `idle_session_timeout`.
const ENDS_IDLE_SESSIONS: u32 = 14_00_00;

impl LockSession {
    async fn open(database: &Database) -> sqlx::Result<Self> {
        match database {
            Database::Postgres(pool) => {
                let mut session = Session::open(pool).await?;
                let is_old = session.server_version_num().is_some_and(|version| version < ENDS_IDLE_SESSIONS);
                if is_old {
                    session.execute("BEGIN").await?;
                }
                Ok(Self::Postgres { session, beside: is_old.then(|| pool.clone()) })
            }
            Database::MySql(pool) => Ok(Self::MySql(Session::open(pool).await?)),
            Database::Sqlite(_) => Err(no_sessions()),
        }
    }

    /// Takes the lock where no session has it. True also where this one has.
    async fn take(&mut self, lock: &str, ttl: Duration) -> sqlx::Result<bool> {
        let [on_postgres, on_mysql] =
            [include_str!("sql/postgres/session_take.sql"), include_str!("sql/mysql/session_take.sql")];
        self.ask(on_postgres, on_mysql, lock, ttl).await
    }

    /// Whether this session has the lock. If so, it lives for so long from now.
    async fn holds(&mut self, lock: &str, ttl: Duration) -> sqlx::Result<bool> {
        let [on_postgres, on_mysql] =
            [include_str!("sql/postgres/session_holds.sql"), include_str!("sql/mysql/session_holds.sql")];
        self.ask(on_postgres, on_mysql, lock, ttl).await
    }

    /// Sets how long the session lives, never after the lock is had, and asks something of the lock.
    async fn ask(
        &mut self,
        on_postgres: &'static str,
        on_mysql: &'static str,
        lock: &str,
        ttl: Duration,
    ) -> sqlx::Result<bool> {
        match self {
            Self::Postgres { session, beside } => {
                let ask = sqlx::query_as(on_postgres).bind(lock).bind(beside.is_some());
                let (_, had): (String, bool) =
                    ask.bind(format!("{}ms", milliseconds(ttl))).fetch_one(&mut **session).await?;
                Ok(had)
            }
            Self::MySql(session) => {
                // Whole seconds, and not sooner than the lease is trusted.
                let seconds = milliseconds(ttl).saturating_add(999) / 1000;
                sqlx::query("SET SESSION wait_timeout = ?").bind(seconds).execute(&mut **session).await?;
                sqlx::query_scalar(on_mysql).bind(seconds).bind(lock).fetch_one(&mut **session).await
            }
        }
    }

    /// Writes down who has the lock.
    async fn note(&mut self, seat: &Seat, holder: &Holder, ttl: Duration) -> sqlx::Result<()> {
        let (holder, ttl) = (holder.as_str(), milliseconds(ttl));
        match self {
            Self::Postgres { session, beside } => {
                let note = statement::<Postgres>(seat, include_str!("sql/postgres/session_note.sql"), None)?;
                let note = note.bind(holder).bind(ttl);
                match beside {
                    Some(pool) => on(pool, async |connection| note.execute(connection).await).await?,
                    None => note.execute(&mut **session).await?,
                };
            }
            Self::MySql(session) => {
                let ttl = microseconds(ttl);
                let note = statement::<MySql>(seat, include_str!("sql/mysql/session_note.sql"), None)?;
                let note = note.bind(holder).bind(ttl).bind(holder).bind(ttl);
                note.execute(&mut **session).await?;
            }
        }
        Ok(())
    }

    /// Gives the lock up; that of a transaction goes with it, in [`Self::leave`]. Whether this session had it.
    async fn release(&mut self, lock: &str) -> sqlx::Result<bool> {
        match self {
            Self::Postgres { beside: Some(_), .. } => Ok(true),
            Self::Postgres { session, beside: None } => {
                let release = sqlx::query_scalar("SELECT pg_advisory_unlock(hashtextextended($1, 0))");
                release.bind(lock).fetch_one(&mut **session).await
            }
            Self::MySql(session) => {
                let release = sqlx::query_scalar(include_str!("sql/mysql/session_release.sql"));
                release.bind(lock).fetch_one(&mut **session).await
            }
        }
    }

    /// Gives the session, which has no lock any more, back to its pool.
    async fn leave(self) -> sqlx::Result<()> {
        match self {
            Self::Postgres { session, beside: Some(_) } => session.roll_back().await,
            Self::Postgres { session, beside: None } => {
                session.finish();
                Ok(())
            }
            Self::MySql(session) => {
                session.finish();
                Ok(())
            }
        }
    }
}

fn no_sessions() -> sqlx::Error {
    sqlx::Error::Configuration("a file of SQLite has no sessions".into())
}

fn failed(doing: &'static str) -> impl FnOnce(sqlx::Error) -> LeaseError {
    move |source| LeaseError { at: "a session of the outbox database".to_owned(), doing, source: source.into() }
}
