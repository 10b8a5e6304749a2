//! Claims.

use std::collections::BTreeMap;
use std::time::Duration;

use outbox_schema::destination::DestinationRoom;
use outbox_schema::{ChannelTerms, ClaimRequest, StoreError, TermId, Verdict};
use sqlx::{AssertSqlSafe, Connection};

use crate::eventually;

use super::{Dialect, Outbox, delivered, http, ids, mark, once, request};

/// Its COMMIT may go unanswered; the answer to the repetition is the answer to the first.
pub async fn a_claim_repeated_under_its_id_is_made_once(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    for _ in 0..3 {
        outbox.insert(&[]).await;
    }
    let ask = ClaimRequest { limit: 2, ..request(&channels) };
    let first = outbox.store.claim(&term, &ask).await.unwrap();
    let again = outbox.store.claim(&term, &ask).await.unwrap();
    assert_eq!(first.messages.len(), 2);
    assert_eq!(ids(&again.messages), ids(&first.messages));
    assert_eq!(outbox.count("outbox_claim").await, 1);

    // A row that was marked meanwhile may not be sent again under it.
    outbox.store.mark(&[delivered(&term, ask.claim, &first.messages[0])], &[]).await.unwrap();
    let again = outbox.store.claim(&term, &ask).await.unwrap();
    assert_eq!(ids(&again.messages), ids(&first.messages[1..]));
}

/// They are in flight, here or under a claim that is not settled.
pub async fn excluded_rows_are_left_out(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let plain = [outbox.insert(&[]).await, outbox.insert(&[]).await, outbox.insert(&[]).await];
    let keyed = outbox.insert(&[("ordering_key", "'k'")]).await;
    let urgent = outbox.insert(&[("priority", "3")]).await;
    let excluded = [plain[0], plain[2], keyed, urgent];
    let ask = ClaimRequest { excluded: &excluded, ..request(&channels) };
    let claimed = outbox.store.claim(&term, &ask).await.unwrap();
    assert_eq!(ids(&claimed.messages), [plain[1].0]);
}

/// The limit is on rows, the bytes on their bodies together.
pub async fn a_claim_keeps_to_its_rows_and_bytes(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let body = format!("'\"{}\"'", "x".repeat(98));
    let mut inserted = Vec::new();
    for _ in 0..4 {
        inserted.push(outbox.insert(&[("payload", &body)]).await.0);
    }
    let few = ClaimRequest { limit: 3, ..request(&channels) };
    assert_eq!(ids(&outbox.store.claim(&term, &few).await.unwrap().messages), inserted[..3]);
    let narrow = ClaimRequest { max_bytes: 300, ..request(&channels) };
    assert_eq!(ids(&outbox.store.claim(&term, &narrow).await.unwrap().messages), inserted[..2]);
    let tiny = ClaimRequest { max_bytes: 50, ..request(&channels) };
    assert!(outbox.store.claim(&term, &tiny).await.unwrap().messages.is_empty());
}

/// It counts no bytes, so those behind it do not wait for it.
pub async fn a_message_that_is_too_large_for_its_channel_is_claimed_unread(outbox: &Outbox) {
    let channels = [ChannelTerms { max_message_bytes: 200, ..http() }];
    let term = outbox.term(&channels).await;
    let body = format!("'\"{}\"'", "x".repeat(300));
    let large = [
        outbox.insert(&[("payload", &body)]).await,
        outbox.insert(&[("headers", &format!("'{{\"x-y\": \"{}\"}}'", random_text(300)))]).await,
        outbox.insert(&[("target", &format!("'https://shop.example/{}'", "x".repeat(300)))]).await,
    ];
    let small = outbox.insert(&[]).await;
    let ask = ClaimRequest { max_bytes: 250, ..request(&channels) };
    let claimed = outbox.store.claim(&term, &ask).await.unwrap().messages;
    assert_eq!(ids(&claimed), [large[0].0, large[1].0, large[2].0, small.0]);
    for message in &claimed[..3] {
        assert!(message.too_large && message.bytes > 300, "{message:?}: {} bytes", message.bytes);
        assert!(message.payload.is_empty() && message.headers.is_none());
    }
    assert!(!claimed[3].too_large && !claimed[3].payload.is_empty());
}

/// A text that no database can compress.
fn random_text(length: usize) -> String {
    (0..length).map(|_| char::from(rand::random_range(b'a'..=b'z'))).collect()
}

/// They stay `PENDING`, count as late from when they were first due, and stand in nobody's way.
pub async fn rows_of_an_unknown_channel_wait_until_it_is_configured(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let due = outbox.moment(-90_000);
    // Names are compared byte for byte.
    let mut unknown = Vec::new();
    for name in ["'once'", "'Http'", "' http'"] {
        unknown.push(outbox.insert(&[("channel", name), ("available_at", &due)]).await);
    }
    let known = outbox.insert(&[]).await;
    let claimed = outbox.store.claim(&term, &request(&channels)).await.unwrap();
    assert_eq!(ids(&claimed.messages), [known.0]);
    assert_eq!(claimed.deferred, BTreeMap::from([" http", "Http", "once"].map(|name| (name.to_owned(), 1))));

    let row = outbox.message(unknown[0]).await;
    assert_eq!((row.status.as_str(), row.revision, row.attempts), ("PENDING", 0, 0));
    assert!((50_000..=60_000).contains(&row.available_in), "{row:?}");
    assert!(row.deferred_from.is_some_and(|from| from < -85_000), "{row:?}");

    let channels = [http(), once()];
    let term = outbox.term(&channels).await;
    let row = outbox.message(unknown[0]).await;
    assert!(row.available_in < -85_000 && row.deferred_from.is_none(), "{row:?}");
    assert!(outbox.message(unknown[1]).await.available_in > 0);
    let ask = ClaimRequest { excluded: &[known], ..request(&channels) };
    assert_eq!(ids(&outbox.store.claim(&term, &ask).await.unwrap().messages), [unknown[0].0]);
}

/// However many of its rows come first; and so are those of a channel that is closed as a whole.
pub async fn rows_of_a_closed_destination_are_passed_over(outbox: &Outbox) {
    let channels = [http(), once()];
    let term = outbox.term(&channels).await;
    for key in ["NULL", "'a'", "'b'"] {
        outbox.insert(&[("target", "'https://down.example/x'"), ("ordering_key", key), ("priority", "1")]).await;
    }
    outbox.insert(&[("channel", "'once'"), ("priority", "2")]).await;
    let free = outbox.insert(&[]).await;
    let closed = ["https://down.example:443".to_owned()];
    let closed_channels = ["once".to_owned()];
    let ask = ClaimRequest { limit: 2, closed: &closed, closed_channels: &closed_channels, ..request(&channels) };
    let claimed = outbox.store.claim(&term, &ask).await.unwrap();
    assert_eq!((ids(&claimed.messages), claimed.deferred), (vec![free.0], BTreeMap::new()));
    assert_eq!(outbox.count("outbox WHERE deferred_from IS NOT NULL").await, 0);
}

/// What names no URL goes to the destination that bears the channel's name: it may be closed without the channel.
pub async fn rows_that_go_elsewhere_are_claimed_where_a_destination_that_bears_their_channels_name_is_closed(
    outbox: &Outbox,
) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    for key in ["NULL", "'a'"] {
        outbox.insert(&[("target", "'/path'"), ("ordering_key", key)]).await;
    }
    let mut elsewhere = Vec::new();
    for key in ["NULL", "'b'"] {
        elsewhere.push(outbox.insert(&[("target", "'https://shop.example/'"), ("ordering_key", key)]).await.0);
    }
    let closed = ["http".to_owned()];
    let ask = ClaimRequest { closed: &closed, ..request(&channels) };
    let mut claimed = ids(&outbox.store.claim(&term, &ask).await.unwrap().messages);
    claimed.sort_unstable();
    assert_eq!(claimed, elsewhere);
}

/// Of a destination that is named as many as are said, else as many as its channel says; ordered rows count as well.
pub async fn no_more_rows_of_a_destination_are_claimed_than_there_is_room_for(outbox: &Outbox) {
    let channels = [ChannelTerms { room: 2, ..http() }, once()];
    let term = outbox.term(&channels).await;
    let mut expected = Vec::new();
    for (target, room) in
        [("'https://full.example/'", 0), ("'https://some.example/'", 3), ("'https://new.example/'", 2)]
    {
        let mut rows = Vec::new();
        rows.push(outbox.insert(&[("target", target), ("ordering_key", target), ("priority", "1")]).await.0);
        for _ in 0..4 {
            rows.push(outbox.insert(&[("target", target)]).await.0);
        }
        expected.extend(rows.into_iter().take(room));
    }
    let elsewhere = outbox.insert(&[("target", "'https://new.example/'"), ("channel", "'once'")]).await;
    let room = |destination: &str, room| DestinationRoom { destination: destination.to_owned(), room };
    let rooms = [room("https://full.example:443", 0), room("https://some.example:443", 3)];
    let ask = ClaimRequest { rooms: &rooms, ..request(&channels) };
    let mut claimed = ids(&outbox.store.claim(&term, &ask).await.unwrap().messages);
    claimed.sort_unstable();
    // The fifth of its destination, and its own channel has room for it.
    expected.push(elsewhere.0);
    expected.sort_unstable();
    assert_eq!(claimed, expected);
}

/// A channel that is new there, with a limit of its own, is not sent what others have been found to be good for.
pub async fn no_channel_takes_more_of_a_destination_than_it_may_whatever_others_may_take_there(outbox: &Outbox) {
    let channels = [http(), ChannelTerms { most: 2, ..once() }];
    let term = outbox.term(&channels).await;
    let mut of_each = [Vec::new(), Vec::new()];
    for (channel, rows) in ["'once'", "'http'"].into_iter().zip(&mut of_each) {
        for _ in 0..4 {
            rows.push(outbox.insert(&[("target", "'https://shared.example/'"), ("channel", channel)]).await.0);
        }
    }
    let rooms = [DestinationRoom { destination: "https://shared.example:443".to_owned(), room: 100 }];
    let ask = ClaimRequest { rooms: &rooms, ..request(&channels) };
    let mut claimed = ids(&outbox.store.claim(&term, &ask).await.unwrap().messages);
    claimed.sort_unstable();
    assert_eq!(claimed, [&of_each[0][..2], &of_each[1][..]].concat());
}

/// And within one priority, what has been due for longest.
pub async fn higher_priorities_go_first(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let mut by_priority = Vec::new();
    for priority in ["0", "1", "2", "3"] {
        by_priority.push(outbox.insert(&[("priority", priority)]).await.0);
    }
    let past = outbox.moment(-60_000);
    let late = outbox.insert(&[("available_at", &past)]).await.0;
    let claimed = outbox.store.claim(&term, &request(&channels)).await.unwrap();
    let expected = [by_priority[3], by_priority[2], by_priority[1], late, by_priority[0]];
    assert_eq!(ids(&claimed.messages), expected);
    let ask = ClaimRequest { limit: 2, ..request(&channels) };
    assert_eq!(ids(&outbox.store.claim(&term, &ask).await.unwrap().messages), expected[..2]);
}

/// Also while the first waits for its retry. Keys are of their channel, and compared byte for byte.
pub async fn messages_of_an_ordering_key_go_out_one_at_a_time(outbox: &Outbox) {
    let channels = [http(), once()];
    let term = outbox.term(&channels).await;
    let first = outbox.insert(&[("ordering_key", "'a'")]).await;
    let second = outbox.insert(&[("ordering_key", "'a'"), ("priority", "3")]).await;
    let capital = outbox.insert(&[("ordering_key", "'A'")]).await;
    let elsewhere = outbox.insert(&[("ordering_key", "'a'"), ("channel", "'once'")]).await;
    let other = outbox.insert(&[("ordering_key", "'b'")]).await;
    let ask = request(&channels);
    let claimed = outbox.store.claim(&term, &ask).await.unwrap();
    let mut heads = ids(&claimed.messages);
    heads.sort_unstable();
    assert_eq!(heads, [first.0, capital.0, elsewhere.0, other.0]);

    let head = claimed.messages.iter().find(|message| message.id() == first).unwrap();
    let retry = Verdict::Retry { after: Duration::from_mins(1) };
    outbox.store.mark(&[mark(&term, ask.claim, head, retry, "retry")], &[]).await.unwrap();
    let rest = [capital, elsewhere, other];
    let ask = ClaimRequest { excluded: &rest, ..request(&channels) };
    assert!(outbox.store.claim(&term, &ask).await.unwrap().messages.is_empty());

    outbox.execute(&format!("UPDATE outbox SET status = 'SUCCESS' WHERE id = {first}")).await;
    let ask = ClaimRequest { excluded: &rest, ..request(&channels) };
    assert_eq!(ids(&outbox.store.claim(&term, &ask).await.unwrap().messages), [second.0]);
}

/// Delayed, done, dead, of another shard, or never due at all.
pub async fn rows_that_are_not_due_are_not_claimed(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let future = outbox.moment(60_000);
    outbox.insert(&[("available_at", &future)]).await;
    outbox.insert(&[("available_at", &future), ("ordering_key", "'k'")]).await;
    outbox.insert(&[("status", "'SUCCESS'")]).await;
    outbox.insert(&[("status", "'DEAD'"), ("dead_reason", "'permanent'")]).await;
    outbox.insert(&[("shard", "1")]).await;
    if outbox.dialect == Dialect::Postgres {
        outbox.insert(&[("available_at", "'infinity'")]).await;
    }
    let claimed = outbox.store.claim(&term, &request(&channels)).await.unwrap();
    assert!(claimed.messages.is_empty());
    assert_eq!(outbox.count("outbox_claim").await, 0);
}

/// Byte for byte; times as the database's clock sees them.
pub async fn a_claimed_row_carries_what_its_application_wrote(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let expires = outbox.moment(120_000);
    let begun = outbox.moment(-30_000);
    let id = outbox
        .insert(&[
            ("idempotency_key", "'order-1'"),
            ("target", "'https://example.com/hook'"),
            ("payload", "'{\"text\": \"grüße 😀\"}'"),
            ("headers", "'{\"x-a\": \"b\"}'"),
            ("attempts", "2"),
            ("max_attempts", "-5"),
            ("revision", "9"),
            ("expires_at", &expires),
            ("created_at", &begun),
            ("first_attempt_at", &begun),
            ("traceparent", "'00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'"),
            ("tracestate", "'vendor=1'"),
        ])
        .await;
    let message = outbox.store.claim(&term, &request(&channels)).await.unwrap().messages.remove(0);
    assert_eq!((message.id(), message.revision().0), (id, 9));
    assert_eq!(message.idempotency_key, "order-1");
    assert_eq!(message.channel, "http");
    assert_eq!(message.target, "https://example.com/hook");
    assert_eq!(message.destination, "https://example.com:443");
    assert_eq!(message.payload, "{\"text\": \"grüße 😀\"}");
    assert_eq!(message.headers.as_deref(), Some("{\"x-a\": \"b\"}"));
    assert_eq!((message.attempts, message.max_attempts), (2, Some(-5)));
    assert!((110_000..=120_000).contains(&message.expires_in_ms.unwrap()), "{message:?}");
    assert!((30_000..40_000).contains(&message.retrying_for_ms.unwrap()), "{message:?}");
    assert!((30_000..40_000).contains(&message.waited_ms), "{message:?}");
    assert_eq!(message.traceparent.as_deref(), Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"));
    assert_eq!(message.tracestate.as_deref(), Some("vendor=1"));
}

/// Two tries of one claim at the same moment: one is made, and nobody is told that it cannot be.
pub async fn tries_of_one_claim_that_overlap_make_it_once(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    outbox.insert(&[]).await;
    let ask = request(&channels);
    let attempt = async |term: &TermId| loop {
        match outbox.store.claim(term, &ask).await {
            Ok(claimed) => return ids(&claimed.messages),
            Err(StoreError::Unavailable { .. }) if outbox.dialect != Dialect::Sqlite => {}
            Err(error) => panic!("{error}"),
        }
    };
    let (one, other, third) = tokio::join!(attempt(&term), attempt(&term), attempt(&term));
    assert!(one.len() == 1 && one == other && other == third);
    assert_eq!(outbox.count("outbox_claim").await, 1);
}

/// A caller that gives up in the middle leaves no transaction behind that would hold up the next term.
pub async fn a_cancelled_claim_leaves_no_lock_behind(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    outbox.insert(&[]).await;
    for patience in (0..4_000).step_by(200) {
        let ask = request(&channels);
        let claim = outbox.store.claim(&term, &ask);
        let _ = tokio::time::timeout(Duration::from_micros(patience), claim).await;
    }
    tokio::time::timeout(Duration::from_secs(4), outbox.term(&channels)).await.unwrap();
}

/// PostgreSQL: from 2 kB on it would compress the ids of a batch, which took a quarter of the time of a claim. Beside the row
/// are only those of more than the default of slots.
pub async fn the_ids_of_a_large_claim_are_not_compressed(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    outbox
        .execute(
            "INSERT INTO outbox (channel, target, payload) SELECT 'http', '/a', '{}' FROM generate_series(1, 1000)",
        )
        .await;
    let beside = "pg_relation_size((SELECT reltoastrelid FROM pg_class WHERE oid = 'outbox_claim'::regclass)) > 0";
    for (rows, kept_beside) in [(512, false), (1000, true)] {
        let ask = ClaimRequest { limit: rows, ..request(&channels) };
        assert_eq!(outbox.store.claim(&term, &ask).await.unwrap().messages.len(), rows as usize);
        let whole = format!("pg_column_size(message_ids) >= 8 * {rows} AND pg_column_size(revisions) >= 4 * {rows}");
        let this = format!("outbox_claim WHERE id = '{}'", ask.claim.0);
        let stored = outbox.strings(&[&whole, beside], &this).await.remove(0);
        assert_eq!(stored, ["true".to_owned(), kept_beside.to_string()].map(Some), "{rows} rows");
    }
}

/// PostgreSQL: however many messages wait behind each. Counted for each connection, until it reports to the server: a new one
/// has counted nothing.
pub async fn a_walk_reads_one_index_entry_of_each_ordering_key(outbox: &Outbox) {
    let rows = "INSERT INTO outbox (channel, target, payload, ordering_key) \
                SELECT c, '/a', '{}', 'key-' || k FROM unnest('{http,hook}'::text[]) c, generate_series(1, 50) k, \
                       generate_series(1, 20)";
    outbox.execute(rows).await;
    let mut connection = sqlx::PgConnection::connect(outbox.url()).await.unwrap();
    let mut tx = connection.begin().await.unwrap();
    let walk = "SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; \
                SELECT FROM outbox_ordered_heads(0::smallint, '{}', NULL, NULL)";
    sqlx::raw_sql(walk).execute(&mut *tx).await.unwrap();
    let read = "SELECT count(*), sum(pg_stat_get_xact_tuples_returned(indexrelid))::bigint FROM pg_index \
                WHERE indrelid = 'outbox'::regclass AND pg_stat_get_xact_numscans(indexrelid) > 0";
    let (indexes, entries): (i64, i64) = sqlx::query_as(read).fetch_one(&mut *tx).await.unwrap();
    assert_eq!((indexes, entries), (1, 100));
    tx.rollback().await.unwrap();
}

/// As after a restart: PostgreSQL's store keeps one connection for its claims.
pub async fn a_claim_outlasts_the_connection_of_the_last_one(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    assert!(outbox.store.claim(&term, &request(&channels)).await.unwrap().messages.is_empty());
    let id = outbox.insert(&[]).await;
    // Not through the outbox's own pool: it may hand out one of those that are closed here.
    let mut connection = sqlx::PgConnection::connect(outbox.url()).await.unwrap();
    let others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
    let closed = format!("SELECT coalesce(bool_and(pg_terminate_backend(pid)), false) {others}");
    assert!(sqlx::query_scalar::<_, bool>(AssertSqlSafe(closed)).fetch_one(&mut connection).await.unwrap());
    connection.close().await.unwrap();
    // PostgreSQL 13 does not wait for their ends.
    let url = outbox.url();
    eventually("their ends", Duration::from_secs(10), async || {
        let mut connection = sqlx::PgConnection::connect(url).await.unwrap();
        let left = AssertSqlSafe(format!("SELECT count(*) {others} AND backend_type = 'client backend'"));
        let left: i64 = sqlx::query_scalar(left).fetch_one(&mut connection).await.unwrap();
        (left == 0).then_some(())
    })
    .await;
    assert_eq!(ids(&outbox.store.claim(&term, &request(&channels)).await.unwrap().messages), [id.0]);
}
