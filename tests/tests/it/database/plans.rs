//! What PostgreSQL plans for a step. A session keeps a plan until somebody analyses the table. So one that was made while the
//! table was small must also do where it has grown since, as in the first minutes of an outbox.

use std::time::Duration;

use outbox_store::destination::{Aside, DestinationStore as _, Look};
use outbox_store::store::TermCounts;
use outbox_store::{DeadReason, Epoch, Holder, Shard, TermEnd, TermId, Verdict};
use outbox_tests::conformance::store::{Ask, Dialect, Outbox, http, mark, on};
use outbox_tests::queries::query;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _, raw_sql};
use uuid::Uuid;

/// What an application wrote since the table was small.
const MANY: i64 = 30_000;

const HOUR: Duration = Duration::from_hours(1);

/// Rows of the outbox that were read since it was made. Only a session that has ended has said for sure what it read.
async fn rows_read(outbox: &Outbox) -> i64 {
    let mut connection = PgConnection::connect(outbox.url()).await.unwrap();
    let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
               WHERE datname = current_database() AND pid <> pg_backend_pid()";
    while sqlx::query_scalar::<_, i64>(end).fetch_one(&mut connection).await.unwrap() > 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let read = "SELECT (seq_tup_read + idx_tup_fetch)::bigint FROM pg_stat_user_tables WHERE relname = 'outbox'";
    sqlx::query_scalar(read).fetch_one(&mut connection).await.unwrap()
}

async fn begin_term(outbox: &Outbox) -> TermId {
    let holder = Holder::new("test", &Uuid::new_v4().to_string());
    let opened = outbox.store.begin_term(Shard(0), &holder, Epoch(0)).await.unwrap();
    TermId { shard: Shard(0), epoch: opened.epoch, holder }
}

/// Inserts ten messages, and takes each step with some of them.
async fn take_each_step(outbox: &Outbox) {
    let (channels, store) = ([http()], &outbox.store);
    for _ in 0..10 {
        outbox.insert(&[]).await;
    }
    let term = begin_term(outbox).await;
    let retry = Verdict::Retry { after: HOUR };
    let dead = Verdict::Dead { reason: DeadReason::Permanent, attempted: true, invalid_target: false };
    for verdict in [Verdict::Success { receipt: None }, retry, dead] {
        let ask = Ask { limit: 2, ..Ask::of(&channels) };
        let claimed = outbox.claim(&term, &ask).await;
        assert!(!claimed.is_empty());
        let marks: Vec<_> =
            claimed.iter().map(|message| mark(&term, ask.claim, message, verdict.clone(), "a test")).collect();
        assert!(store.mark(&marks, &[ask.claim]).await.unwrap().fenced.is_empty());
    }
    let in_doubt = outbox.claim(&term, &Ask { limit: 2, ..Ask::of(&channels) }).await;
    store.end_term(&term, TermEnd::Interval, TermCounts::default()).await.unwrap();
    let next = begin_term(outbox).await;
    outbox.age_claims(HOUR).await;
    assert_eq!(store.settle(&next, &channels, &[]).await.unwrap().decided.len(), in_doubt.len());
    let aside = Aside {
        destination: "http".to_owned(),
        whole_channel: true,
        from: HOUR,
        step: Duration::ZERO,
        most: HOUR,
        reason: None,
    };
    outbox.database().put_aside(&next, &[aside], &[], &mut Look::of(10)).await.unwrap();
}

#[tokio::test]
async fn a_step_that_was_planned_while_the_table_was_small_looks_rows_up_by_their_ids() {
    on(Dialect::Postgres, async |outbox: &Outbox| {
        outbox.execute("ALTER TABLE outbox SET (autovacuum_enabled = off)").await;
        // From the sixth time on a session may keep a plan.
        for _ in 0..8 {
            take_each_step(outbox).await;
        }
        let insert =
            "INSERT INTO outbox (channel, target, payload) SELECT 'http', '/hook', '{}' FROM generate_series(1, ";
        outbox.execute(&format!("{insert}{MANY})")).await;
        take_each_step(outbox).await;
        let read = rows_read(outbox).await;
        assert!(read < MANY, "the steps read {read} rows of a table of {MANY}");
    })
    .await;
}

/// A look at due rows: its name, its statements, the types and values of their parameters, and the only indexes that it may use.
type LookCase = (&'static str, &'static [&'static str], &'static str, &'static str, &'static [&'static str]);

/// The looks. Each shows at most 400 rows, of 10 lanes or keys.
const LOOKS: [LookCase; 5] = [
    (
        "look",
        &["shown", "look"],
        "smallint, timestamptz[], bigint[], bigint",
        "0, '{-infinity,-infinity,-infinity,-infinity}', '{0,0,0,0}', 100",
        &["outbox_due"],
    ),
    ("newest", &["shown", "newest"], "smallint, bigint", "0, 10", &["outbox_due"]),
    (
        "look_at_lanes",
        &["shown", "look_at_lanes"],
        "smallint, varchar[], varchar[], smallint[], timestamptz[], bigint[], bigint",
        "0, '{http,http,http,http}', '{t5,t5,t6,t6}', '{3,0,3,0}', '{-infinity,-infinity,-infinity,-infinity}', '{0,0,0,0}', 100",
        &["outbox_turns", "outbox_due"],
    ),
    (
        "next_lanes",
        &["next_lanes"],
        "smallint, bigint, bigint, bigint",
        "0, -9223372036854775808, 10, 10",
        &["outbox_turns", "outbox_due"],
    ),
    (
        "next_keys",
        &["next_keys"],
        "smallint, bigint, bigint, bigint, varchar[]",
        "0, -9223372036854775808, 10, 10, '{http}'",
        &["outbox_ordered", "outbox_halting"],
    ),
];

/// When a table was analysed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Analysed {
    Never,
    WhileEmpty,
    WhileFull,
}

/// An outbox of its own whose table was analysed then, and a session that has made its plans: while the table was empty, unless it was
/// analysed while it was full.
async fn planned(outbox: &Outbox, analysed: Analysed, statements: &[String]) -> PgConnection {
    let mut connection = PgConnection::connect(outbox.url()).await.unwrap();
    let rows = std::env::var("OUTBOX_TEST_ROWS").map_or(20_000, |rows| rows.parse::<i64>().unwrap());
    let fill = format!(
        "INSERT INTO outbox (channel, target, payload, tenant, available_at)
         SELECT 'http', 'https://h' || i % 50 || '.example/', '{{}}', 't' || i % 20, now() - interval '1 h' FROM generate_series(1, {rows}) i;
         INSERT INTO outbox (channel, target, payload, ordering_key, available_at)
         SELECT 'http', '/hook', '{{}}', 'k' || i % 100, now() - interval '1 h' FROM generate_series(1, {rows} / 4) i;
         INSERT INTO outbox (channel, target, payload, ordering_key, status, revision, dead_reason)
         SELECT 'http', '/hook', '{{}}', 'x' || i % 100, 'DEAD', 1, 'permanent' FROM generate_series(1, {rows} / 8) i"
    );
    let mut run =
        async |sql: &str| raw_sql(AssertSqlSafe(sql.to_owned())).execute(&mut connection).await.map(drop).unwrap();
    run("ALTER TABLE outbox SET (autovacuum_enabled = off)").await;
    if analysed == Analysed::WhileEmpty {
        run("ANALYZE outbox").await;
    }
    for statement in statements {
        run(statement).await;
    }
    run(&fill).await;
    if analysed == Analysed::WhileFull {
        run("ANALYZE outbox").await;
    }
    connection
}

#[tokio::test]
async fn each_look_at_due_rows_reads_a_stretch_of_one_index_and_sorts_nothing() {
    for analysed in [Analysed::Never, Analysed::WhileEmpty, Analysed::WhileFull] {
        on(Dialect::Postgres, async |outbox: &Outbox| {
            let session = query("postgres/due/session");
            let prepared = LOOKS.map(|(name, parts, types, values, _)| {
                let look: String = parts.iter().map(|part| query(&format!("postgres/due/{part}"))).collect();
                format!("PREPARE {name} ({types}) AS {look}; EXECUTE {name} ({values})")
            });
            let mut connection = planned(outbox, analysed, &[&[session][..], &prepared].concat()).await;
            for (name, _, _, values, indexes) in LOOKS {
                let explain = format!("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) EXECUTE {name} ({values})");
                let plan = raw_sql(AssertSqlSafe(explain)).fetch_all(&mut connection).await.unwrap();
                let plan: Vec<String> = plan.iter().map(|line| line.get(0)).collect();
                let shown = format!("{name}, {analysed:?}:\n{}", plan.join("\n"));
                assert!(
                    !plan.iter().any(|line| ["Sort", "Seq Scan", "Bitmap"].iter().any(|bad| line.contains(bad))),
                    "{shown}"
                );
                let scans: Vec<&String> = plan.iter().filter(|line| line.contains(" on outbox ")).collect();
                let allowed =
                    |line: &str| indexes.iter().any(|index| line.contains(&format!(" using {index} on outbox ")));
                assert!(!scans.is_empty() && scans.iter().all(|line| allowed(line)), "{shown}");
                let read: f64 = scans.iter().map(|line| number(line, "rows=") * number(line, "loops=")).sum();
                assert!(read > 0.0 && read < 500.0, "{read} rows are read: {shown}");
                let mut of_outbox = false;
                for line in &plan {
                    of_outbox = if line.contains("->") { line.contains(" on outbox ") } else { of_outbox };
                    assert!(!of_outbox || !line.contains("Rows Removed by Filter"), "{shown}");
                }
            }
        })
        .await;
    }
}

/// The number behind the last such word of a line.
fn number(line: &str, word: &str) -> f64 {
    let behind = line.rsplit(word).next().unwrap();
    behind[..behind.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(behind.len())].parse().unwrap_or(0.0)
}

/// The rows of the outbox that this session has read, as far as it has not told the server yet: one after the other, and by an index.
async fn read_here(connection: &mut PgConnection) -> (i64, i64) {
    let read = "SELECT seq_tup_read, idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = 'outbox'";
    sqlx::query_as(read).fetch_one(connection).await.unwrap()
}

#[tokio::test]
async fn a_claim_of_rows_reads_no_others() {
    let claim = |ids: &str| {
        format!(
            "SELECT outbox_claim_rows(0::smallint, epoch, holder, gen_random_uuid(), ids, ids_revisions, '{{http}}', '{{1000}}', '{{http}}',
                                      '{{}}', 1000, 1000, 1000)
             FROM outbox_term, (SELECT array_agg(id) AS ids, array_agg(0) AS ids_revisions FROM ({ids}) AS listed (id)) AS asked"
        )
    };
    let look_and_claim =
        "SELECT outbox_look_and_claim(0::smallint, epoch, holder, gen_random_uuid(), '{-infinity,-infinity,-infinity,-infinity}',
                                      '{0,0,0,0}', 100, '{}', '{}', '{}', 1000, '{http}', '{1000}', '{http}', '{}', 1000, 1000, 1000)
         FROM outbox_term";
    for analysed in [Analysed::Never, Analysed::WhileEmpty, Analysed::WhileFull] {
        on(Dialect::Postgres, async |outbox: &Outbox| {
            begin_term(outbox).await;
            let mut connection = planned(outbox, analysed, &[claim("SELECT 1 AS id"), look_and_claim.to_owned()]).await;
            // 100 rows without a key, and 100 of as many keys.
            let ids = "SELECT id FROM generate_series(1, 100) id UNION ALL
                       SELECT (SELECT max(id) FROM outbox WHERE ordering_key LIKE 'k%') - 100 + n FROM generate_series(1, 100) n";
            let ids: Vec<i64> = sqlx::query_scalar(ids).fetch_all(&mut connection).await.unwrap();
            let values: Vec<String> = ids.iter().map(|id| format!("({id})")).collect();
            let claim = claim(&format!("VALUES {}", values.join(", ")));
            for claim in [&claim, look_and_claim] {
                raw_sql("BEGIN").execute(&mut connection).await.unwrap();
                let before = read_here(&mut connection).await;
                raw_sql(AssertSqlSafe(claim.to_owned())).execute(&mut connection).await.unwrap();
                let after = read_here(&mut connection).await;
                let (in_sequence, by_index) = (after.0 - before.0, after.1 - before.1);
                let shown = format!("{analysed:?}: {in_sequence} and {by_index} rows: {claim}");
                assert!(in_sequence == 0 && (100..=500).contains(&by_index), "{shown}");
                raw_sql("ROLLBACK").execute(&mut connection).await.unwrap();
            }
        })
        .await;
    }
}
