//! Who waits for whom: nobody for a transaction that an application keeps open, and no two for each other. (Not on SQLite: there
//! whoever writes holds the whole file.)

use std::any::Any;
use std::collections::BTreeMap;
use std::time::Duration;

use crate::changes::Unfollowed;
use outbox_desk::{Author, ByHand as _, Pace, Revised, Selection};
use outbox_schema::MessageId;
use outbox_store::destination::{Aside, DestinationStore as _, Look};
use outbox_store::mark::MarkReport;
use outbox_store::store::TermCounts;
use outbox_store::store::due::LookAndClaim;
use outbox_store::{
    DeadReason, Epoch, Holder, Mark, Message, OutcomeTarget, Shard, StoreError, TargetTemplate, TermEnd, TermId,
    Verdict, WalkStart,
};
use sqlx::{AssertSqlSafe, Connection, Executor, MySqlConnection, PgConnection, raw_sql};

use super::claiming::{claim, held};
use super::claims::idle;
use super::due::{all_due, behind, shown, write};
use super::{Ask, Dialect, Outbox, delivered, http, ids, mark, terms};

/// Longer than a statement waits for a lock before it is refused: whoever waits for one fails by that.
const PROMPTLY: Duration = Duration::from_secs(30);

const INSERT: &str = "INSERT INTO outbox (channel, target, payload) VALUES ('http', 'https://slow.example/', '{}')";

/// An application that has inserted a message, and not committed. Its transaction ends when this is dropped.
async fn application(outbox: &Outbox) -> Box<dyn Any> {
    if outbox.dialect == Dialect::Postgres {
        let mut connection = PgConnection::connect(outbox.url()).await.unwrap();
        connection.execute("BEGIN").await.unwrap();
        connection.execute(INSERT).await.unwrap();
        Box::new(connection)
    } else {
        let mut connection = MySqlConnection::connect(outbox.url()).await.unwrap();
        connection.execute("START TRANSACTION").await.unwrap();
        connection.execute(INSERT).await.unwrap();
        Box::new(connection)
    }
}

/// A transaction that locks rows.
enum Locker {
    Postgres(PgConnection),
    MySql(MySqlConnection),
}

impl Locker {
    async fn begin(outbox: &Outbox) -> Self {
        let mut locker = if outbox.dialect == Dialect::Postgres {
            Self::Postgres(PgConnection::connect(outbox.url()).await.unwrap())
        } else {
            Self::MySql(MySqlConnection::connect(outbox.url()).await.unwrap())
        };
        locker.run("BEGIN").await.unwrap();
        locker
    }

    /// Locks a row. MySQL and MariaDB let everybody do this who may read its id.
    async fn share(&mut self, id: MessageId) {
        let mode = if matches!(self, Self::Postgres(_)) { "FOR SHARE" } else { "LOCK IN SHARE MODE" };
        self.run(&format!("SELECT id FROM outbox WHERE id = {} {mode}", id.0)).await.unwrap();
    }

    async fn run(&mut self, sql: &str) -> sqlx::Result<()> {
        let sql = raw_sql(AssertSqlSafe(sql.to_owned()));
        match self {
            Self::Postgres(connection) => connection.execute(sql).await.map(drop),
            Self::MySql(connection) => connection.execute(sql).await.map(drop),
        }
    }
}

async fn promptly<T>(what: &str, step: impl Future<Output = T>) -> T {
    tokio::time::timeout(PROMPTLY, step).await.unwrap_or_else(|_| panic!("{what} waits for the application"))
}

/// In a table so small that a database would sooner read all of it than look a row up by its id.
pub async fn an_open_transaction_of_an_application_holds_up_nobody(outbox: &Outbox) {
    let (channels, database, store) = ([http()], outbox.database(), &outbox.store);
    for _ in 0..4 {
        outbox.insert(&[]).await;
    }
    outbox.insert(&[("channel", "'unknown'")]).await;
    outbox.execute(if outbox.dialect == Dialect::Postgres { "ANALYZE" } else { "ANALYZE TABLE outbox" }).await;
    let _open = application(outbox).await;

    let term = promptly("a term that begins", outbox.term(&channels)).await;
    let deferred = promptly("a deferral", outbox.defer_unknown(&term, &channels)).await;
    assert_eq!(deferred["unknown"], 1);
    let (claim, claimed) = promptly("a claim", outbox.claim_all(&term, &channels)).await;
    let [success, retried, dead, _in_doubt] = &claimed[..] else { panic!("{claimed:?}") };
    let retry = Verdict::Retry { after: Duration::from_hours(1) };
    let no = Verdict::Dead { reason: DeadReason::Permanent, attempted: true, invalid_target: false };
    let marks = [
        vec![delivered(&term, claim, success)],
        vec![mark(&term, claim, retried, retry, "retry")],
        vec![mark(&term, claim, dead, no, "dead")],
    ];
    for group in &marks {
        let report = promptly("a mark", store.mark(group, &[])).await.unwrap();
        assert!(report.fenced.is_empty());
    }
    promptly("the end of a term", store.end_term(&term, TermEnd::Interval, TermCounts::default())).await.unwrap();
    let next = promptly("the next term", outbox.term(&channels)).await;
    promptly("its claims", outbox.age_claims(Duration::from_hours(1))).await;
    let settled = promptly("whoever settles", store.settle(&next, &channels, &[])).await.unwrap();
    assert_eq!(settled.decided.len(), 1);

    let ada = Author { who: "ada".to_owned(), why: "a test".to_owned() };
    let revised = Revised::new("http", "/mended", "{}", BTreeMap::new()).unwrap();
    promptly("an edit", database.edit(dead.id(), 1, &revised, &ada)).await.unwrap();
    let one = |message: &Message| Selection::Ids(vec![message.id()]);
    promptly("a redrive", database.redrive(&one(dead), Pace::default(), &ada)).await.unwrap();
    promptly("a cancellation", database.cancel(retried.id(), &ada)).await.unwrap();
    promptly("a purge", database.purge(&one(retried), &ada)).await.unwrap();
    let hour = Duration::from_hours(1);
    let (destination, step) = ("http".to_owned(), Duration::ZERO);
    let aside = Aside { destination, whole_channel: true, from: hour, step, most: hour, reason: None };
    let moved = promptly("a row that is put aside", database.put_aside(&next, &[aside], &[], &mut Look::of(100)))
        .await
        .unwrap();
    assert_eq!(moved, [2]);
    promptly("the trial of a replica that starts", database.trial()).await.unwrap();
}

/// An application may lock rows of MySQL and MariaDB for as long as it likes, and whoever has the right to change one those of
/// PostgreSQL. Plain deliveries have a statement of their own there, retries go with the statement for all marks.
pub async fn a_mark_of_a_row_that_an_application_has_locked_holds_up_no_other_mark(outbox: &Outbox) {
    let (channels, store) = ([http()], &outbox.store);
    let term = outbox.term(&channels).await;
    let (locked, free, retried) = (outbox.insert(&[]).await, outbox.insert(&[]).await, outbox.insert(&[]).await);
    let (claim, claimed) = outbox.claim_all(&term, &channels).await;
    let [one, two, three] = &claimed[..] else { panic!("{claimed:?}") };
    let plain = [delivered(&term, claim, one), delivered(&term, claim, two)];
    let retry = Verdict::Retry { after: Duration::from_hours(1) };
    let mixed = [plain[0].clone(), mark(&term, claim, three, retry, "retry")];
    let mut application = Locker::begin(outbox).await;
    application.share(locked).await;
    if let Locker::Postgres(connection) = &mut application {
        let pid: i32 = sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(connection).await.unwrap();
        let named = outbox_desk::lock_holders(outbox.database(), &[locked, free]).await.unwrap();
        assert!(named.len() == 1 && named[0].contains(&format!("pg_terminate_backend({pid})")), "{named:?}");
        let others = outbox_desk::lock_holders(outbox.database(), &[free, retried]).await.unwrap();
        assert!(others.is_empty(), "{others:?}");
    }
    for marks in [&plain, &plain, &mixed, &mixed] {
        let report = promptly("a mark", store.mark(marks, &[claim])).await.unwrap();
        assert_eq!(report, MarkReport { held: vec![locked], fenced: Vec::new() });
    }
    assert_eq!(outbox.message(free).await.status, "SUCCESS");
    assert_eq!(outbox.message(retried).await.attempts, 1);
    assert_eq!(outbox.message(locked).await.status, "PENDING");
    application.run("COMMIT").await.unwrap();
    assert_eq!(store.mark(&plain[..1], &[claim]).await.unwrap(), MarkReport::default());
    assert_eq!(outbox.message(locked).await.status, "SUCCESS");
    assert_eq!(outbox.count("outbox_claim").await, 0);
}

/// An insert of a duplicate that is not committed locks the gap below the key that is there, which may be that of an outcome.
pub async fn a_mark_whose_outcome_has_a_locked_key_holds_up_no_other_mark(outbox: &Outbox) {
    let (channels, store) = ([http()], &outbox.store);
    let term = outbox.term(&channels).await;
    let (silent, telling) = (outbox.insert(&[]).await, outbox.insert(&[]).await);
    let (claim, claimed) = outbox.claim_all(&term, &channels).await;
    outbox.insert(&[("idempotency_key", "'z'"), ("available_at", "'2999-01-01'")]).await;
    let told = Some(OutcomeTarget { channel: "ops".to_owned(), target: TargetTemplate::parse("/").unwrap() });
    let plain = delivered(&term, claim, &claimed[0]);
    let marks = [plain, Mark { told, ..delivered(&term, claim, &claimed[1]) }];
    let mut application = Locker::begin(outbox).await;
    application.run("SELECT id FROM outbox WHERE idempotency_key >= 'o' FOR UPDATE").await.unwrap();
    for _ in 0..2 {
        let report = promptly("a mark", store.mark(&marks, &[claim])).await.unwrap();
        assert_eq!(report, MarkReport { held: vec![telling], fenced: Vec::new() });
    }
    assert_eq!(outbox.message(silent).await.status, "SUCCESS");
    assert_eq!(outbox.message(telling).await.status, "PENDING");
    application.run("COMMIT").await.unwrap();
    assert_eq!(store.mark(&marks[1..], &[claim]).await.unwrap(), MarkReport::default());
    assert_eq!(outbox.count("outbox WHERE channel = 'ops'").await, 1);
    assert_eq!(outbox.count("outbox_claim").await, 0);
}

/// The decision about a row that is locked waits by itself.
pub async fn a_row_in_doubt_that_an_application_has_locked_holds_up_no_other_decision(outbox: &Outbox) {
    let (channels, store) = ([http()], &outbox.store);
    let term = outbox.term(&channels).await;
    let (locked, free) = (outbox.insert(&[]).await, outbox.insert(&[]).await);
    outbox.claim_all(&term, &channels).await;
    let later = outbox.term(&channels).await;
    outbox.age_claims(Duration::from_hours(1)).await;
    let mut application = Locker::begin(outbox).await;
    application.share(locked).await;
    let settled = promptly("whoever settles", store.settle(&later, &channels, &[])).await.unwrap();
    assert_eq!((settled.decided[0].id, settled.decided.len(), &settled.unsettled), (free, 1, &vec![locked]));
    application.run("COMMIT").await.unwrap();
    let settled = store.settle(&later, &channels, &[]).await.unwrap();
    assert_eq!((settled.decided[0].id, settled.decided.len(), settled.unsettled.len()), (locked, 1, 0));
    assert_eq!(outbox.count("outbox_claim").await, 0);
}

/// Whoever is chosen to give way in a deadlock does its work a second time, later: a mark by then holds up its slots.
pub async fn replicas_that_start_lead_and_hand_over_meet_no_deadlock(outbox: &Outbox) {
    const ROUNDS: usize = 30;
    let channels = [http()];
    for _ in 0..5 * ROUNDS {
        outbox.insert(&[]).await;
    }
    let starts = async || {
        for _ in 0..ROUNDS {
            outbox.database().trial().await.unwrap();
        }
    };
    // A term may have ended meanwhile. Nothing else may go wrong.
    let lead = async |name: &str| {
        for round in 0..ROUNDS {
            let holder = Holder::new(name, &round.to_string());
            let epoch = outbox.store.begin_term(Shard(0), &holder, Epoch(0)).await.unwrap().epoch;
            let term = TermId { shard: Shard(0), epoch, holder };
            let mut sent = Vec::new();
            for _ in 0..3 {
                let ask = Ask { limit: 1, ..Ask::of(&channels) };
                match outbox.try_claim(&term, &ask).await {
                    Ok(claimed) => sent.extend(claimed.iter().map(|row| delivered(&term, ask.claim, row))),
                    Err(StoreError::Fenced { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            let finished: Vec<_> = sent.iter().map(|mark| mark.claim).collect();
            outbox.store.mark(&sent, &finished).await.unwrap();
            match outbox.store.settle(&term, &channels, &[]).await {
                Ok(_) | Err(StoreError::Fenced { .. }) => {}
                Err(error) => panic!("{error}"),
            }
            outbox.store.end_term(&term, TermEnd::Interval, TermCounts::default()).await.unwrap();
        }
    };
    tokio::join!(starts(), starts(), starts(), lead("one"), lead("two"));
}

/// On MySQL an open cancellation has locked its message. Claims pass that over, and wait for nobody.
pub async fn a_row_that_somebody_has_locked_is_left_and_the_others_are_claimed(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let rows = write(outbox, 3, &[]).await;
    let headers = all_due(outbox).await;
    let mut application = MySqlConnection::connect(outbox.url()).await.unwrap();
    // As the procedure does, which is made by a script of its own.
    let lock = format!(
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; BEGIN; \
         SELECT shard FROM outbox_cancelling LOCK IN SHARE MODE; SELECT id FROM outbox WHERE id = {} FOR UPDATE",
        rows[1]
    );
    raw_sql(AssertSqlSafe(lock)).execute(&mut application).await.unwrap();
    let promptly = Duration::from_secs(3);
    let claimed = tokio::time::timeout(promptly, claim(outbox, &term, &channels, &headers)).await.unwrap();
    assert_eq!(ids(&claimed), [rows[0], rows[2]]);
    assert_eq!(held(outbox).await, [rows[0], rows[2]]);
    raw_sql("ROLLBACK").execute(&mut application).await.unwrap();
    assert_eq!(ids(&claim(outbox, &term, &channels, &headers[1..2]).await), [rows[1]]);
}

/// An open transaction takes a message back: claims pass it over, and wait for nobody. What is claimed is not taken back any
/// more.
pub async fn a_row_that_is_being_taken_back_is_left_and_the_others_are_claimed(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let mut rows = Vec::new();
    for key in ["'a'", "'b'", "'c'"] {
        rows.push(outbox.insert(&[("idempotency_key", key)]).await.0);
    }
    let mut application = PgConnection::connect(outbox.url()).await.unwrap();
    let mut cancel = async |statement: &str, key: &str| -> bool {
        raw_sql(AssertSqlSafe(statement.to_owned())).execute(&mut application).await.unwrap();
        sqlx::query_scalar("SELECT outbox_cancel($1)").bind(key).fetch_one(&mut application).await.unwrap()
    };
    let headers = all_due(outbox).await;
    let promptly = Duration::from_secs(3);
    assert!(cancel("BEGIN", "b").await);
    let claimed = tokio::time::timeout(promptly, claim(outbox, &term, &channels, &headers)).await.unwrap();
    assert_eq!(ids(&claimed), [rows[0], rows[2]]);
    assert_eq!(held(outbox).await, [rows[0], rows[2]]);
    assert!(!cancel("ROLLBACK", "a").await, "it is claimed");
    assert_eq!(ids(&claim(outbox, &term, &channels, &headers[1..2]).await), [rows[1]]);

    for key in ["'d'", "'e'"] {
        rows.push(outbox.insert(&[("idempotency_key", key)]).await.0);
    }
    assert!(cancel("BEGIN", "d").await);
    let terms = terms(&channels);
    let ask = LookAndClaim { behind: behind(WalkStart::default(), &headers), ..idle(&terms) };
    let looked = tokio::time::timeout(promptly, outbox.due().look_and_claim(&term, &ask)).await.unwrap().unwrap();
    assert_eq!((shown(&looked.headers), ids(&looked.messages)), (rows[3..].to_vec(), vec![rows[4]]));
}
