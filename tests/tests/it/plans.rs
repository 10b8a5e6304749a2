//! What PostgreSQL plans for a step. A session keeps a plan until somebody analyses the table. So one that was made while the
//! table was small must also do where it has grown since, as in the first minutes of an outbox.

use std::time::Duration;

use outbox_schema::destination::{Aside, DestinationStore as _, Look};
use outbox_schema::look::Place;
use outbox_schema::store::{HiddenLook, TermCounts};
use outbox_schema::{ClaimId, ClaimRequest, DeadReason, Holder, Shard, Strangers, TermEnd, TermId, Turns, Verdict};
use outbox_tests::conformance::store::{Dialect, Outbox, http, mark, on, request};
use sqlx::{Connection as _, PgConnection};
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
    let opened = outbox.store.begin_term(Shard(0), &holder).await.unwrap();
    TermId { shard: Shard(0), epoch: opened.epoch, holder }
}

/// Inserts ten messages, and takes each step with some of them.
async fn take_each_step(outbox: &Outbox) {
    let (channels, store) = ([http()], &outbox.store);
    for _ in 0..10 {
        outbox.insert(&[]).await;
    }
    let term = begin_term(outbox).await;
    let take = |claim| ClaimRequest { claim, limit: 2, ..request(&channels) };
    let strangers = Strangers { rows: 1, bytes: 1 << 20, ask: true };
    let asks = ClaimRequest { strangers, ..take(ClaimId::mint()) };
    let asked = store.claim(&term, &asks).await.unwrap();
    let goes_on = ClaimRequest {
        strangers: Strangers { ask: false, ..strangers },
        found: (!asked.asked.is_empty()).then_some(&asked.found),
        ..take(asks.claim)
    };
    let in_turns = Turns { from: 0, tenants: 8, served: &[], glance: false };
    let retry = Verdict::Retry { after: HOUR };
    let dead = Verdict::Dead { reason: DeadReason::Permanent, attempted: true, invalid_target: false };
    for (ask, verdict) in [
        (goes_on, Verdict::Success { receipt: None }),
        (take(ClaimId::mint()), retry),
        (ClaimRequest { turns: Some(in_turns), ..take(ClaimId::mint()) }, dead),
    ] {
        let claimed = store.claim(&term, &ask).await.unwrap();
        assert!(!claimed.messages.is_empty(), "{claimed:?}");
        let marks: Vec<_> =
            claimed.messages.iter().map(|message| mark(&term, ask.claim, message, verdict.clone(), "a test")).collect();
        assert!(store.mark(&marks, &[ask.claim]).await.unwrap().fenced.is_empty());
    }
    let in_doubt = store.claim(&term, &take(ClaimId::mint())).await.unwrap();
    store.end_term(&term, TermEnd::Interval, TermCounts::default()).await.unwrap();
    let next = begin_term(outbox).await;
    outbox.age_claims(HOUR).await;
    assert_eq!(store.settle(&next, &channels, &[]).await.unwrap().decided.len(), in_doubt.messages.len());
    let aside = Aside {
        destination: "http".to_owned(),
        whole_channel: true,
        from: HOUR,
        step: Duration::ZERO,
        most: HOUR,
        reason: None,
    };
    outbox.database().put_aside(&next, &[aside], &[], &mut Look::of(10)).await.unwrap();
    let open = ["http".to_owned()];
    let hidden = HiddenLook { from: Place::FIRST, rows: 10, limit: 10, open: &open, excluded: &[] };
    assert!(
        store.hidden(Shard(0), &hidden).await.unwrap().found.is_empty(),
        "the first of each is for an open destination"
    );
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
